import { decodeRequest } from "../../core/control/operations.ts";
import { FAULT_PROFILES } from "../../core/fault/actions.ts";
import { parseFaults } from "../../core/fault/request.ts";
import { parseJson } from "../../core/json.ts";
import type { Refusal } from "../../core/outcome.ts";
import { printableLiteral } from "../../core/text.ts";
import type { Context } from "../command.ts";
import type { FaultBatch } from "./scoped-faults.ts";
import { refuseUsage, type Refused } from "../problem.ts";
import { readNamedText } from "../../host/named-file.ts";

const MAX_FILE_BYTES = 1024 * 1024;

const FAULTS_HINT = `profiles: ${FAULT_PROFILES.join(", ")}; a file holds JSON: [{"action": "lose_answer"}]`;

/** `seed`: the default seed of each fault. `isRandom`: whether any fault applies only with a probability. */
export function readFaults({ world }: Context, names: readonly string[], seed: string): RequestedFaults {
  const requests = names.flatMap((name) => {
    const profile = FAULT_PROFILES.find((candidate) => candidate === name);
    return profile === undefined ? faultsIn(world, name) : [{ profile }];
  });
  const faults = requests.map((fault) => Object.assign(fault, { seed: fault.seed ?? seed }));
  const isRandom = faults.some((fault) => {
    const terms = parseFaults(fault);
    return terms.ok && terms.value.some(({ match }) => match.probability !== null);
  });
  return { faults, isRandom };
}

export type RequestedFaults = { readonly faults: FaultBatch; readonly isRandom: boolean };

function faultsIn(world: Context["world"], name: string): FaultBatch {
  const refuse = (reason: string): Refused => refuseUsage(`${printableLiteral(name)} ${reason}`, FAULTS_HINT);
  const textOutcome = readNamedText(world, name, { maxBytes: MAX_FILE_BYTES });
  if (!textOutcome.ok) {
    const { isMissing, reason } = textOutcome.refusal;
    throw refuse(isMissing ? "is neither a fault profile nor a file" : reason);
  }
  const refuseItem = (index: number, { message }: Refusal): Refused =>
    refuse(`cannot be used: fault ${index + 1}: ${message}`);
  const json = parseJson(textOutcome.value);
  if (json === undefined) throw refuse("cannot be used: it is not JSON");
  return [json].flat().map((item, index) => {
    const outcome = decodeRequest("addFault", item);
    if (!outcome.ok) throw refuseItem(index, outcome.refusal);
    const terms = parseFaults(outcome.value);
    if (!terms.ok) throw refuseItem(index, terms.refusal);
    return outcome.value;
  });
}
