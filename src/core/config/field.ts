import { printable } from "../text.ts";

/** The path of a field, in the names of the file. */
export type FieldPath = readonly (string | number)[];

/** A fault of a field in the file. */
export type FieldFault = { readonly path: FieldPath; readonly message: string };

/** A path as text: `stores[0].prices[1].amount_minor`. */
export function fieldText(path: FieldPath): string {
  return path
    .map((step, at) => (typeof step === "number" ? `[${step}]` : `${at === 0 ? "" : "."}${printable(step)}`))
    .join("");
}
