import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import type { KINDS, KindName } from "./kinds.ts";
import type { Output } from "./output.ts";

/** The operations whose answers commands print as results. */
export type ResultName = Extract<
  (typeof KINDS)[KindName],
  { readonly operations: unknown }
>["operations"][number];

/** A result that is the answer of an operation, encoded by the schema of its kind. */
export function answerOutput<Name extends ResultName>(name: Name, answer: AnswerOf<Name>): Output {
  return encodeAnswer(name, answer) as unknown as Output;
}
