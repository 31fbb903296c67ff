import { toDiagnosis, type Diagnosis } from "../../core/webhook/diagnosis/causes.ts";
import { compareWithEvent, idsIn } from "../../core/webhook/diagnosis/event-comparison.ts";
import type { Context } from "../command.ts";
import { catchRefusal } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { findControlTarget } from "../target/control.ts";

export async function compareWithNamedEvent(
  context: Context,
  rawBody: Uint8Array,
): Promise<Diagnosis | undefined> {
  return (await catchRefusal(findAndCompare(context, rawBody))).value;
}

async function findAndCompare(context: Context, rawBody: Uint8Array): Promise<Diagnosis | undefined> {
  const ids = idsIn(rawBody);
  const target = ids.length === 0 ? undefined : await findControlTarget(context);
  if (target === undefined) return undefined;
  for (const id of ids) {
    const showCall = { name: "showEvent", id, body: undefined } as const;
    const { value: event } = await catchRefusal(callAt(context, target, showCall));
    if (event === undefined) continue;
    const diagnosis = compareWithEvent(rawBody, { ...event, body: event.sentBody ?? event.body });
    return diagnosis && toDiagnosis(diagnosis, true);
  }
  return undefined;
}
