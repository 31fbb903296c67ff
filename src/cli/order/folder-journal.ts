import type { Journal } from "../../core/checkout/journal.ts";
import { fileFailure, movedLogWarning } from "../../host/failure.ts";
import { stateFile } from "../../host/folder/files.ts";
import { openJournal } from "../../store/journal/journal.ts";
import type { Context } from "../command.ts";
import { problemOf, Refused } from "../problem.ts";

export function openFolderJournal(
  { world, printer }: Pick<Context, "world" | "printer">,
  folder: string,
): Journal & Disposable {
  const path = stateFile(folder, "journal");
  const outcome = openJournal(path, {
    nativeBinding: world.sqliteAddon(),
    pid: world.pid,
    onLogMoved: (log) => printer.trace(movedLogWarning(path, log)),
  });
  if (!outcome.ok) throw new Refused(problemOf(fileFailure("journal", outcome.refusal)));
  return { ...outcome.value, [Symbol.dispose]: outcome.value.close };
}
