import { printable, printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { Printer } from "../printer.ts";

/**
 * Opens a page in the browser. Only http: and https: addresses go there: any other would make the system run a program
 * of the service's choice. What was not opened is a warning, never a failure: what the page belongs to is made already.
 */
export async function openPage(
  { world, printer }: { readonly world: Pick<World, "openBrowser">; readonly printer: Printer },
  address: string,
): Promise<void> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const shown = printableLiteral(address);
    printer.trace(`warning: ${shown} was not opened, because it is not an http: or https: address`);
    return;
  }
  // As the parser spells it: ASCII, without the blanks and line breaks that it passes over.
  const opened = await world.openBrowser(url.href);
  if (opened.ok) return;
  printer.trace(
    `warning: no browser was opened (${printable(opened.message)}); open ${printable(url.href)} by hand`,
  );
}
