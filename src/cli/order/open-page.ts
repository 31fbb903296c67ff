import { printable, printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { Printer } from "../printer.ts";

/** Opens only http: and https: addresses, because another scheme could start a program. A failure is only a warning. */
export async function openPage(
  { world, printer }: { readonly world: Pick<World, "openBrowser">; readonly printer: Printer },
  address: string,
): Promise<void> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const shownAddress = printableLiteral(address);
    printer.trace(`warning: ${shownAddress} was not opened, because it is not an http: or https: address`);
    return;
  }
  // `href` is normalized: ASCII, without the spaces and line breaks that the parser ignores.
  const outcome = await world.openBrowser(url.href);
  if (outcome.ok) return;
  printer.trace(
    `warning: no browser was opened (${printable(outcome.message)}); open ${printable(url.href)} by hand`,
  );
}
