import type { WireOf } from "../../core/shape/wire-names.ts";
import type { OUTPUT_KINDS, OutputKindName } from "./kinds.ts";

declare const outputMark: unique symbol;

/** Only `output` and `answerOutput` create a value of this type. */
export type Output = { readonly [outputMark]: true };

type ShapedKind = {
  [Name in OutputKindName]: (typeof OUTPUT_KINDS)[Name] extends { readonly shape: unknown } ? Name : never;
}[OutputKindName];

export type ResultOf<Name extends ShapedKind> = WireOf<(typeof OUTPUT_KINDS)[Name]["shape"]>;

/** The kind exists only at compile time, so that a command does not load the shapes of all kinds. */
export function output<Name extends ShapedKind>(_kind: Name, value: ResultOf<Name>): Output {
  return value as unknown as Output;
}
