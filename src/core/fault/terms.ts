import { accept, mapValue, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import type { FaultsRequest } from "./shapes.ts";
import { PROFILE_FAULTS } from "./profiles.ts";
import { parseFaultTerms, type FaultTerms } from "./request.ts";

/** A single fault, or all faults of a profile. Refuses with `invalid_parameter` and the expected value. */
export function parseFaults({ profile, action, ...rest }: FaultsRequest): Outcome<readonly FaultTerms[]> {
  if (profile === undefined && action !== undefined) {
    return mapValue(parseFaultTerms({ ...rest, action }), (terms) => [terms]);
  }
  const fields = Object.entries(rest).filter(([name, value]) => value !== undefined && name !== "seed");
  if (profile === undefined || action !== undefined || fields.length > 0) return refuseFact("fault_form", {});
  const allTerms: FaultTerms[] = [];
  for (const profileFault of PROFILE_FAULTS[profile]) {
    const terms = parseFaultTerms({ ...profileFault, seed: rest.seed });
    if (!terms.ok) return terms;
    allTerms.push(terms.value);
  }
  return accept(allTerms);
}
