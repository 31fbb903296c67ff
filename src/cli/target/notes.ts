import { dirname } from "node:path";
import { isSameServer } from "../../core/loopback.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import { cutText, printable, printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { isTyped } from "../option-rules.ts";
import { catchRefusal } from "../problem.ts";

/**
 * Prints a note with the sandbox of the command if the environment names another sandbox than the folder's (decision
 * 64). `about` is a URL of the sandbox, or the folder. Prints nothing if a flag names the sandbox.
 */
export function noteTarget(
  { world, printer, around }: Context,
  about: { readonly url: string } | "folder",
): void {
  const named = findEnvironmentSandbox(world);
  if (named === undefined || !catchRefusal(around.folder).ok) return;
  const own = around.ownUrl();
  const isOwn = (url: string | undefined): boolean =>
    own !== undefined && url !== undefined && isSameServer(url, own);
  if (isOwn(named.url)) return;
  const folder = printable(around.shownFolder());
  const { variable, shown } = named;
  if (about === "folder" || isOwn(about.url)) {
    const where = own === undefined ? "" : ` (${own})`;
    printer.traceOnce(
      `note: ${variable} names ${shown}; this command is about the sandbox of ${folder}${where}`,
    );
  } else if (own !== undefined)
    printer.traceOnce(
      `note: this command is about ${shown} (${variable}); the sandbox of ${folder} is ${own}`,
    );
}

/**
 * Prints a note if a start uses the state folder of a parent folder without being told to. JSON output contains the
 * folder as `data_dir`.
 */
export function noteFolderAbove({ world, printer, around }: Context): void {
  const folder = around.folder();
  if (around.options.dir !== undefined || dirname(folder) === world.cwd) return;
  printer.talk(
    `note: the state folder belongs to a parent folder, ${printable(folder)}; --dir .checkout creates a new one here`,
  );
}

/** The sandbox that a variable names instead of the folder's; undefined if there is none, or if a flag names one. */
function findEnvironmentSandbox(
  world: Pick<World, "argv" | "env">,
): { readonly variable: string; readonly shown: string; readonly url?: string } | undefined {
  const { env } = world;
  if (isTyped(world, "base-url") || isTyped(world, "target")) return undefined;
  const url = parseBaseUrl(env["CHECKOUT_BASE_URL"] ?? "");
  if (url !== undefined) return { variable: "CHECKOUT_BASE_URL", shown: printable(url), url };
  const target = env["CHECKOUT_TARGET"] ?? "";
  return target === "" ? undefined : { variable: "CHECKOUT_TARGET", shown: printableLiteral(target) };
}

/**
 * Prints a note, once, that the sandbox has another version; `other` is undefined if the sandbox does not report its
 * version.
 */
export function noteVersion(
  { printer, version }: Pick<Context, "printer" | "version">,
  other: string | undefined,
): void {
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
