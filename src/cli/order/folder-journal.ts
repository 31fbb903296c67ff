import type { Journal } from "../../core/checkout/journal.ts";
import { fileFailure } from "../../host/failure.ts";
import { stateFile } from "../../host/folder/files.ts";
import { openJournal } from "../../store/journal/journal.ts";
import type { World } from "../../world.ts";
import { problemOf, Refused } from "../problem.ts";

/** The journal of a state folder that is there, until the end of the block that holds it. */
export function openFolderJournal(world: World, folder: string): Journal & Disposable {
  const path = stateFile(folder, "journal");
  const journal = openJournal(path, { nativeBinding: world.sqliteAddon(), pid: world.pid });
  if (!journal.ok) throw new Refused(problemOf(fileFailure("journal", journal.refusal)));
  return { ...journal.value, [Symbol.dispose]: journal.value.close };
}
