import { cutText, printable, printableLiteral } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { isOptionTyped } from "../option-rules.ts";
import { catchRefusal } from "../problem.ts";
import { isOwnSandbox } from "./surroundings.ts";

/**
 * Prints which sandbox the command uses if a variable names another one than the folder's (decision 64). `url`: the used
 * sandbox; default: the folder's.
 */
export function noteTarget({ world, printer, around }: Context, url?: string): void {
  if (isOptionTyped(world, "base-url") || isOptionTyped(world, "target")) return;
  const address = catchRefusal(around.addressOfKey).value;
  const { source = "CHECKOUT_TARGET", value = world.env["CHECKOUT_TARGET"] ?? "" } = address ?? {};
  if (value === "" || !catchRefusal(around.folder).ok) return;
  if (address !== undefined && isOwnSandbox(around, value)) return;
  const ownUrl = around.ownUrl();
  const subject = `the sandbox of ${printable(around.shownFolder())}`;
  const shownValue = address === undefined ? printableLiteral(value) : printable(value);
  const ownUrlText = ownUrl === undefined ? "" : ` (${ownUrl})`;
  if (url === undefined || isOwnSandbox(around, url))
    printer.traceOnce(`note: ${source} names ${shownValue}; this command is about ${subject}${ownUrlText}`);
  else if (ownUrl !== undefined)
    printer.traceOnce(`note: this command is about ${shownValue} (${source}); ${subject} is ${ownUrl}`);
}

/** Prints once (decision 65). `otherVersion` is undefined for a sandbox that is too old to report it. */
export function noteVersion(
  { printer, version }: Pick<Context, "printer" | "version">,
  otherVersion: string | undefined,
): void {
  if (otherVersion === version) return;
  const versionText = otherVersion === undefined ? "of an older version" : printableVersion(otherVersion);
  printer.traceOnce(
    `note: the sandbox is ${versionText}, this command is ${version}; restart the sandbox, so that both have the same version`,
  );
}

export function printableVersion(text: string): string {
  return printable(cutText(text, MAX_VERSION_LENGTH));
}

const MAX_VERSION_LENGTH = 40;
