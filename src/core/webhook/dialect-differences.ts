import type { Dialect } from "../shape/dialect.ts";
import { DEFAULT_HEADER_NAMES, headerNamesIn } from "./signature.ts";

/** Stands for the name of something that the service does not send. */
export const NO_NAME = "–";

/** Where deliveries differ from ours, each as `our name → its name`. */
export function deliveryDifferences(dialect: Dialect): readonly string[] {
  const { signatureForm, times, eventFields, events } = dialect;
  const names = headerNamesIn(dialect);
  return [
    ...Object.entries(DEFAULT_HEADER_NAMES).map(([part, ours]) => [ours, names[part as keyof typeof names]]),
    ["hex", signatureForm ?? "hex"],
    ...Object.entries({ ...eventFields, ...events }),
    ["iso", times ?? "iso"],
  ].flatMap(([ours, theirs = null]) => (ours === theirs ? [] : [`${ours} → ${theirs ?? NO_NAME}`]));
}
