import type { WireOf } from "../../core/shape/wire-names.ts";
import type { KINDS, KindName } from "./kinds.ts";

declare const outputMark: unique symbol;

/** The result of a command as `--json` prints it. Only `output` and `answerOutput` create it, of a kind in `KINDS`. */
export type Output = { readonly [outputMark]: true };

type ShapedKind = {
  [Name in KindName]: (typeof KINDS)[Name] extends { readonly shape: unknown } ? Name : never;
}[KindName];

export type ResultOf<Name extends ShapedKind> = WireOf<(typeof KINDS)[Name]["shape"]>;

/** A result of a kind. The kind is known to the compiler alone, so that no command loads the shapes of all kinds. */
export function output<Name extends ShapedKind>(_kind: Name, value: ResultOf<Name>): Output {
  return value as unknown as Output;
}
