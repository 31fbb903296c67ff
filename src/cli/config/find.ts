import { dirname, join, resolve } from "node:path";
import { CONFIG_FILE } from "../../core/config/file-name.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import { EXIT, fail, failUsage, type Problem } from "../problem.ts";

/** Which configuration a command reads. */
export type ConfigOptions = { readonly config?: string; readonly trustFolder?: boolean };

/** The path of the nearest `checkout.config.json`, here or in a folder above; undefined where there is none. */
export function nearestConfig({ cwd, files }: Pick<World, "cwd" | "files">): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, CONFIG_FILE);
    if (files.exists(candidate)) return candidate;
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * The path of the configuration of a command: as named, or the nearest one. Refuses one that was found and is another
 * user's: it says where keys and events are sent.
 */
export function findConfig(
  world: Pick<World, "cwd" | "files">,
  { config, trustFolder }: ConfigOptions,
): Outcome<string | undefined, Problem> {
  if (config !== undefined) {
    const path = resolve(world.cwd, config);
    if (world.files.exists(path)) return accept(path);
    return failUsage(`there is no file ${path}`, "name the configuration, or leave it out to look for one");
  }
  const path = nearestConfig(world);
  if (path === undefined || trustFolder === true || isOwn(world, path)) return accept(path);
  return fail({
    exitCode: EXIT.failed,
    code: "config_refused",
    message: `${path} belongs to another user, and a configuration says where keys and events are sent`,
    next: "name it (--config, CHECKOUT_SANDBOX_CONFIG, or --file), or --trust-folder",
  });
}

/** A link counts as what it leads to: who can write beside the reader could also write the file. */
function isOwn({ files }: Pick<World, "files">, path: string): boolean {
  const found = files.look(path);
  return found === undefined || found.isOwn;
}
