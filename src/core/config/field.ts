import { printable } from "../text.ts";

/** Where a field stands in the file, by the file's own names. */
export type FieldPath = readonly (string | number)[];

/** Something wrong with a field of the file. */
export type FieldFault = { readonly path: FieldPath; readonly message: string };

/** A path as people write it: `stores[0].prices[1].amount_minor`. */
export function fieldText(path: FieldPath): string {
  return path
    .map((step, at) => (typeof step === "number" ? `[${step}]` : `${at === 0 ? "" : "."}${printable(step)}`))
    .join("");
}

/** The path that a sandbox names before a colon at the beginning of its refusal; undefined where it names none. */
export function namedField(message: string): FieldFault | undefined {
  const [, field = "", rest = ""] = /^(stores(?:\[\d+\]|\.[a-z_]+)*): (.*)$/s.exec(message) ?? [];
  if (field === "") return undefined;
  const path = Array.from(field.matchAll(/\[(\d+)\]|([a-z_]+)/g), ([, index, name = ""]) =>
    index === undefined ? name : Number(index),
  );
  return { path, message: rest };
}
