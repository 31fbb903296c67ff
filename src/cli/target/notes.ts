import { cutText, printable, printableLiteral } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { isTyped } from "../option-rules.ts";
import { catchRefusal } from "../problem.ts";
import { isOwnSandbox } from "./surroundings.ts";

/** Says which sandbox is meant, unless a flag names it (decision 64). `about` is a URL of the sandbox, or the folder. */
export function noteTarget(
  { world, printer, around }: Context,
  about: { readonly url: string } | "folder",
): void {
  if (isTyped(world, "base-url") || isTyped(world, "target")) return;
  const url = catchRefusal(around.addressOfKey).value?.value;
  const target = world.env["CHECKOUT_TARGET"] || undefined;
  if ((url ?? target) === undefined || !catchRefusal(around.folder).ok) return;
  const own = around.ownUrl();
  const isOwn = (one: string | undefined): boolean => one !== undefined && isOwnSandbox(around, one);
  if (isOwn(url)) return;
  const folder = printable(around.shownFolder());
  const isFolders = about === "folder" || isOwn(about.url);
  const variable = url === undefined ? "CHECKOUT_TARGET" : "CHECKOUT_BASE_URL";
  const shown = url === undefined ? printableLiteral(target) : printable(url);
  const where = own === undefined ? "" : ` (${own})`;
  if (isFolders)
    printer.traceOnce(
      `note: ${variable} names ${shown}; this command is about the sandbox of ${folder}${where}`,
    );
  else if (own !== undefined)
    printer.traceOnce(
      `note: this command is about ${shown} (${variable}); the sandbox of ${folder} is ${own}`,
    );
}

/** Once, if a sandbox has another version (decision 65); undefined if it does not report its version. */
export function noteVersion(
  { printer, version }: Pick<Context, "printer" | "version">,
  other: string | undefined,
): void {
  if (other === version) return;
  const theirs = other === undefined ? "of an older version" : printableVersion(other);
  printer.traceOnce(
    `note: the sandbox is ${theirs}, this command is ${version}; restart the sandbox, so that both have the same version`,
  );
}

/** A version that another program reports, safe to print. */
export function printableVersion(text: string): string {
  return printable(cutText(text, MAX_VERSION));
}

const MAX_VERSION = 40;
