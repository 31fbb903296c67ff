// Where a command looks for its state folder. In its own file, so that `--version` does not load state-folder.ts.
import { dirname, join, resolve } from "node:path";
import { CONFIG_FILE } from "../../core/config/file-name.ts";
import type { World } from "../../world.ts";

/** The folder's name in a project (decision 54). */
export const FOLDER_NAME = ".checkout";

/**
 * The path of the state folder: the named folder, or `.checkout` in this folder or a parent, otherwise the folder to be
 * created here. A configuration marks a project: a state folder above it belongs to another project, and a new one is
 * created next to the configuration.
 */
export function locateStateFolder(world: Pick<World, "cwd" | "files">, namedFolder?: string): string {
  if (namedFolder !== undefined) return resolve(world.cwd, namedFolder);
  for (let folder = world.cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, FOLDER_NAME);
    if (world.files.exists(candidate) || world.files.exists(join(folder, CONFIG_FILE))) return candidate;
    if (dirname(folder) === folder) return join(world.cwd, FOLDER_NAME);
  }
}
