import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import type { OUTPUT_KINDS, OutputKindName } from "./kinds.ts";
import type { Output } from "./output.ts";

export type OperationWithOutput = Extract<
  (typeof OUTPUT_KINDS)[OutputKindName],
  { readonly operations: unknown }
>["operations"][number];

export function answerOutput<Name extends OperationWithOutput>(name: Name, answer: AnswerOf<Name>): Output {
  return encodeAnswer(name, answer) as unknown as Output;
}
