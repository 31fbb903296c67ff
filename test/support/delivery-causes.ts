import { DELIVERY_CAUSES, type CauseCode } from "../../src/core/explain/delivery-sentences.ts";
import type { Words } from "../../src/core/language.ts";

/** The sentence of the likely cause of a failed attempt. */
export function deliveryCause(code: CauseCode): Words {
  const cause = DELIVERY_CAUSES.get(code);
  if (cause === undefined) throw new Error(`no sentence for the cause ${code}`);
  return cause.text;
}
