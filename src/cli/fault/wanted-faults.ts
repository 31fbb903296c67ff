import { resolve } from "node:path";
import type { ControlTarget } from "../../client/control/control.ts";
import { decodeRequest, type RequestOf } from "../../core/control/operations.ts";
import { FAULT_PROFILES } from "../../core/fault/profiles.ts";
import { termsOf } from "../../core/fault/terms.ts";
import { parseJson } from "../../core/json.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { printableLiteral } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { callSandbox } from "../control-command.ts";
import { failUsage, type Problem } from "../problem.ts";

/** Faults that a command line asks for, as the control API takes them. */
export type WantedFaults = readonly RequestOf<"addFault">[];

const NEXT = `profiles: ${FAULT_PROFILES.join(", ")}; a file holds JSON: [{"action": "lose_answer"}]`;

/** Reads profiles and files of faults, in their order. A file holds what the control API takes, once or in an array. */
export function readFaults({ world }: Context, names: readonly string[]): Outcome<WantedFaults, Problem> {
  const wanted: RequestOf<"addFault">[] = [];
  for (const name of names) {
    const profile = FAULT_PROFILES.find((known) => known === name);
    const text = profile === undefined ? world.files.read(resolve(world.cwd, name)) : "";
    if (text === undefined)
      return failUsage(`${printableLiteral(name)} is neither a profile of faults nor a file`, NEXT);
    const read = profile === undefined ? readAll(text) : accept([{ profile }]);
    if (!read.ok) return failUsage(`${printableLiteral(name)}: ${read.refusal.message}`, NEXT);
    wanted.push(...read.value);
  }
  return accept(wanted);
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
    const added = await callSandbox(context, target, { name: "addFault", body });
    if (!added.ok) return added;
  }
  return accept(undefined);
}
