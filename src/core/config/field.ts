import { printable } from "../text.ts";

export type FieldPath = readonly (string | number)[];

export type FieldFault = {
  readonly path: FieldPath;
  readonly message: string;
  /** Whether the file's form has no such field: then the fault is at its name, otherwise at its value. */
  readonly isUnknown?: true;
};

/** A path as text: `stores[0].prices[1].amount_minor`. */
export function fieldText(path: FieldPath): string {
  return path
    .map((step, at) => (typeof step === "number" ? `[${step}]` : `${at === 0 ? "" : "."}${printable(step)}`))
    .join("");
}
