import { parseRun } from "../../core/state-files.ts";
import { printable } from "../../core/text.ts";
import { hasLostLog } from "../../store/connection/database.ts";
import type { World } from "../../world.ts";
import { stateFile } from "./files.ts";
import { serves } from "./owner-file.ts";

/**
 * Says that the log of a sandbox that was killed was removed or emptied; undefined if it was not. To be asked before the
 * folder is claimed and the database opened: both remove the traces.
 */
export function lostLog(world: Pick<World, "files" | "processStart">, folder: string): string | undefined {
  const run = parseRun(world.files.read(stateFile(folder, "run")) ?? "");
  // A sandbox tells its version when it is ready; before that it may have written nothing yet.
  if (run?.version === undefined) return undefined;
  const database = stateFile(folder, "database");
  if (serves(world, run, world.files.look(folder)?.id) || !hasLostLog(database)) return undefined;
  return `warning: the last sandbox of ${printable(folder)} was killed, and ${printable(database)}-wal is missing or empty: changes that were only in that log are lost, unless another program has written them into the database`;
}
