import type { World } from "../../world.ts";
import { createPrinter } from "../printer.ts";
import { Refused, storageProblem } from "../problem.ts";
import { noteVersion } from "../target/notes.ts";
import { surroundingsOf } from "../target/surroundings.ts";

/** Prints a note even for an unreadable folder, because `--version` itself has succeeded. */
export async function noteSandboxVersion(
  world: World,
  version: string,
  dir: string | undefined,
): Promise<void> {
  const printer = await createPrinter(world, { json: false });
  try {
    const run = surroundingsOf(world, dir === undefined ? {} : { dir }).run();
    if (run !== undefined) noteVersion({ printer, version }, run.version);
  } catch (error) {
    const problem = error instanceof Refused ? error.problem : storageProblem(error);
    if (problem === undefined) throw error;
    printer.trace(`note: ${problem.message}; ${problem.next}`);
  }
}
