import { dirname, join, resolve } from "node:path";
import { CONFIG_FILE } from "../../core/config/file-name.ts";
import type { World } from "../../world.ts";

export const FOLDER_NAME = ".checkout";

/**
 * Searches upwards, but stops at a folder with a configuration, because a state folder above it belongs to another
 * project.
 */
export function locateStateFolder(world: Pick<World, "cwd" | "files">, namedFolder?: string): string {
  if (namedFolder !== undefined) return resolve(world.cwd, namedFolder);
  for (let folder = world.cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, FOLDER_NAME);
    if (world.files.exists(candidate) || world.files.exists(join(folder, CONFIG_FILE))) return candidate;
    if (dirname(folder) === folder) return join(world.cwd, FOLDER_NAME);
  }
}
