import type { Refusal, Refused } from "../outcome.ts";
import { printable } from "../text.ts";

export type FieldPath = readonly (string | number)[];

export type FieldFault = {
  readonly path: FieldPath;
  /** Begins with the path, unless the path is empty. */
  readonly message: string;
  readonly why?: string;
  /** Set if the schema has no such field: then the fault is in the field's name, not in its value. */
  readonly isUnknown?: true;
};

export function faultOfField(path: FieldPath, reason: string): FieldFault {
  return { path, why: reason, message: path.length === 0 ? reason : `${fieldPathText(path)}: ${reason}` };
}
export type PathRefusal = Refused & { readonly refusal: Refusal & FieldFault };

export function atPath(path: FieldPath, { refusal }: Refused): PathRefusal {
  return { ok: false, refusal: { ...refusal, chinese: undefined, ...faultOfField(path, refusal.message) } };
}

export function fieldPathText(path: FieldPath): string {
  return path
    .map((step, index) =>
      typeof step === "number" ? `[${step}]` : `${index === 0 ? "" : "."}${printable(step)}`,
    )
    .join("");
}
