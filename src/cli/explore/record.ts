import type { ExplorationResult } from "../../client/judge/search/search.ts";
import type { Context } from "../command.ts";
import { catchRefusal } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { findTarget } from "../target/control.ts";

/** Records a search for the launch checklist, in the command's store, if the folder's sandbox is running. */
export async function recordExploration(
  context: Context,
  { schedules, broken, table: places }: ExplorationResult,
): Promise<void> {
  const record = async (): Promise<boolean> => {
    const target = await findTarget(context);
    if (target === undefined) return false;
    const body = { schedules, broken: broken.length, places };
    await callAt(context, target, { name: "recordExploration", body });
    return true;
  };
  const recorded = await catchRefusal(record());
  // A failure is ignored: the sandbox may have stopped, or have another version.
  if (recorded.value === true) context.printer.talk("explore: recorded for checkout checklist");
}
