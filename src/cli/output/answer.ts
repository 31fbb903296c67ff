import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import type { KINDS, KindName } from "./kinds.ts";
import type { Output } from "./output.ts";

export type ResultName = Extract<
  (typeof KINDS)[KindName],
  { readonly operations: unknown }
>["operations"][number];

export function answerOutput<Name extends ResultName>(name: Name, answer: AnswerOf<Name>): Output {
  return encodeAnswer(name, answer) as unknown as Output;
}
