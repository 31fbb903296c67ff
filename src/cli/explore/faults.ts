import { decodeRequest, encodeRequest } from "../../core/control/operations.ts";
import {
  isKill,
  KILLS,
  type PayerOutcome,
  type Schedule,
  type ScheduledFault,
} from "../../core/judge/schedule.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { optionToCopy, quote, shellOf } from "../../core/shell/quote.ts";
import type { Context } from "../command.ts";
import { refuseUsage, type Refused } from "../problem.ts";
import { rerunLine } from "../judge/options.ts";

export function faultJson({ action, ...parameters }: ScheduledFault) {
  if (!isKill(action)) return encodeRequest("addFault", { ...parameters, action }) ?? {};
  const { match = {} } = parameters;
  return { action, match: encodeRequest("addFault", { ...KILL_PLACEHOLDER, match })?.["match"] ?? {} };
}

export function parseExploreSchedule(text: string, payer: PayerOutcome): Schedule {
  const refuse = (reason: string): Refused =>
    refuseUsage(`--only ${reason}`, `such as --only '[{"action":"lose_answer"}]'`);
  const json = parseJson(text);
  if (!Array.isArray(json)) throw refuse("must be a JSON array of faults");
  const faults = json.map((row: unknown): ScheduledFault => {
    const kill = KILLS.find((action) => isRecord(row) && row["action"] === action);
    const faultRow = kill === undefined ? row : Object.assign(row as object, KILL_PLACEHOLDER);
    const outcome = decodeRequest("addFault", faultRow);
    if (!outcome.ok) throw refuse(`cannot be used: ${outcome.refusal.message}`);
    // Every fault that the API accepts is also valid in a schedule.
    const fault = outcome.value as ScheduledFault;
    return kill === undefined ? fault : { action: kill, match: fault.match ?? {} };
  });
  return { faults, payer };
}

/** Stands in for a kill while its `match` is validated or encoded, because `latency` permits the same matches. */
const KILL_PLACEHOLDER = { action: "latency" } as const;

export function rerunCommand(
  { world }: Pick<Context, "world">,
  { faults, payer }: Schedule,
  words: readonly string[],
): string {
  const shell = shellOf(world.env);
  const option = optionToCopy("--only", JSON.stringify(faults.map(faultJson)), shell) ?? "--only <faults>";
  const parts = [
    option,
    ...(payer === "succeeded" ? [] : [`--payer ${payer}`]),
    ...(words.length === 0 ? [] : ["--", ...words.map((word) => quote(word, shell))]),
  ];
  return rerunLine(world, parts.join(" "));
}
