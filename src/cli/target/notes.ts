import { dirname } from "node:path";
import { isSameServer } from "../../core/loopback.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import { cut, printable, printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { isTyped } from "../option-rules.ts";
import { attempt } from "../problem.ts";

/**
 * Says in one line which sandbox a command is about, where the environment names another one than that of the folder
 * (decision 64). `about` is a URL of it, or the folder whether its sandbox runs or not. What is typed leaves no doubt.
 */
export function noteTarget(
  { world, printer, around }: Context,
  about: { readonly url: string } | "folder",
): void {
  const named = namedByEnvironment(world);
  if (named === undefined || !attempt(around.folder).ok) return;
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
 * Says where a start found its state folder, where that is in a folder above and nobody named it. JSON has it as
 * `data_dir`.
 */
export function noteFolderAbove({ world, printer, around }: Context): void {
  const folder = around.folder();
  if (around.options.dir !== undefined || dirname(folder) === world.cwd) return;
  printer.talk(
    `note: the state folder is that of a folder above, ${printable(folder)}; --dir .checkout makes one here`,
  );
}

/** What a variable names in place of the sandbox of the folder; undefined where none does, or a flag wins over it. */
function namedByEnvironment(
  world: Pick<World, "argv" | "env">,
): { readonly variable: string; readonly shown: string; readonly url?: string } | undefined {
  const { env } = world;
  if (isTyped(world, "base-url") || isTyped(world, "target")) return undefined;
  const url = parseBaseUrl(env["CHECKOUT_BASE_URL"] ?? "");
  if (url !== undefined) return { variable: "CHECKOUT_BASE_URL", shown: printable(url), url };
  const target = env["CHECKOUT_TARGET"] ?? "";
  return target === "" ? undefined : { variable: "CHECKOUT_TARGET", shown: printableLiteral(target) };
}

/** Says once that the sandbox is of another version; `other` is undefined where it tells none. */
export function noteVersion(
  { printer, version }: Pick<Context, "printer" | "version">,
  other: string | undefined,
): void {
  const theirs = other === undefined ? "of an older version" : shownVersion(other);
  printer.traceOnce(
    `note: the sandbox is ${theirs}, this command is ${version}; restart the sandbox to have one version`,
  );
}

/** A version as another program tells it. */
export function shownVersion(text: string): string {
  return printable(cut(text, MAX_VERSION));
}

const MAX_VERSION = 40;
