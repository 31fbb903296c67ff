import type { ControlTarget } from "../../client/control/control.ts";
import { decodeRequest, type RequestOf } from "../../core/control/operations.ts";
import { FAULT_PROFILES } from "../../core/fault/actions.ts";
import { termsOf } from "../../core/fault/terms.ts";
import { parseJson } from "../../core/json.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { printableLiteral } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { failUsage, type Problem } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { readNamedText } from "../../host/named-file.ts";

/** Faults that a command line asks for, as the control API takes them. */
type WantedFaults = readonly RequestOf<"addFault">[];

/** A file of faults is written by hand. */
const LARGEST_FILE_BYTES = 1024 * 1024;

const NEXT = `profiles: ${FAULT_PROFILES.join(", ")}; a file holds JSON: [{"action": "lose_answer"}]`;

/** Reads profiles and files of faults, in their order. A file holds what the control API takes, once or in an array. */
export function readFaults({ world }: Context, names: readonly string[]): Outcome<WantedFaults, Problem> {
  const wanted: RequestOf<"addFault">[] = [];
  for (const name of names) {
    const profile = FAULT_PROFILES.find((known) => known === name);
    const read = profile === undefined ? faultsIn(world, name) : accept([{ profile }]);
    if (!read.ok) return failUsage(`${printableLiteral(name)} ${read.refusal}`, NEXT);
    wanted.push(...read.value);
  }
  return accept(wanted);
}

/** The faults in a file, or why there are none. */
function faultsIn(world: Context["world"], name: string): Outcome<WantedFaults, string> {
  const text = readNamedText(world, name, { maxBytes: LARGEST_FILE_BYTES });
  if (!text.ok) {
    const { isMissing, why } = text.refusal;
    return { ok: false, refusal: isMissing ? "is neither a profile of faults nor a file" : why };
  }
  const read = readAll(text.value);
  return read.ok ? read : { ok: false, refusal: `cannot be used: ${read.refusal.message}` };
}

function readAll(text: string): Outcome<WantedFaults> {
  const json = parseJson(text);
  if (json === undefined) return refuse("invalid_json", "it is no JSON");
  const wanted: RequestOf<"addFault">[] = [];
  for (const [at, one] of [json].flat().entries()) {
    const read = decodeRequest("addFault", one);
    const terms = read.ok ? termsOf(read.value) : read;
    if (!terms.ok) return refuse(terms.refusal.code, `fault ${at + 1}: ${terms.refusal.message}`);
    if (read.ok) wanted.push(read.value);
  }
  return accept(wanted);
}

/** Adds faults to the store of a sandbox. */
export async function addWanted(
  context: Context,
  target: ControlTarget,
  wanted: WantedFaults,
): Promise<Outcome<void, Problem>> {
  for (const body of wanted) {
    const added = await callAt(context, target, { name: "addFault", body });
    if (!added.ok) return added;
  }
  return accept(undefined);
}
