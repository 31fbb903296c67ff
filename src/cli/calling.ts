import {
  encodeAnswer,
  type WireAnswerOf,
  type AnswerOf,
  type OperationName,
  type RequestOf,
} from "../core/control/operations.ts";
import type { ControlTarget } from "../client/control/control.ts";
import type { SpanOrMoment } from "../core/duration.ts";
import type { CommandSpec, Context } from "./command.ts";
import type { Printer } from "./printer.ts";
import { callAt, type Remedies } from "./target/call.ts";
import { callSandbox, withSandbox } from "./target/control.ts";
import { findId, hintForIds, type IdKind } from "./target/ids.ts";
import type { CommonOptions } from "./target/surroundings.ts";
import { answerOutput, type OperationWithOutput } from "./output/answer.ts";
import type { Output } from "./output/output.ts";

type CallInput<Options> = {
  readonly context: Context;
  readonly options: Options;
  readonly argument: string;
  readonly typedArgument: string | undefined;
  readonly id: string;
  readonly target: ControlTarget | undefined;
};

type OperationCommand<Name extends OperationName, Options> = {
  readonly target?: (
    context: Context,
    options: Options,
    argument: string | undefined,
  ) => Promise<ControlTarget>;
  /** Uses the folder's state in this process if no sandbox is running. Default: the command refuses. */
  readonly usesStoppedFolder?: true;
  readonly idKind?: IdKind;
  readonly remedies?: Remedies | ((id: string) => Remedies);
  readonly text: (
    answer: AnswerOf<Name>,
    printer: Printer,
    input: CallInput<Options>,
  ) => string | Promise<string>;
};

type JsonBuilder<Name extends OperationName, Options> = (
  wireAnswer: WireAnswerOf<Name>,
  answer: AnswerOf<Name>,
  input: CallInput<Options>,
) => Output;

type JsonOption<Name extends OperationName, Options> = Name extends OperationWithOutput
  ? { readonly json?: JsonBuilder<Name, Options> }
  : { readonly json: JsonBuilder<Name, Options> };

type BodyBuilder<Name extends OperationName, Options> = (
  options: Options,
  input: CallInput<Options>,
) => RequestOf<Name> | Promise<RequestOf<Name>>;

type BodyOption<Name extends OperationName, Options> =
  undefined extends RequestOf<Name>
    ? { readonly body?: BodyBuilder<Name, Options> }
    : { readonly body: BodyBuilder<Name, Options> };

export function runnerFor<Name extends OperationName, Options extends CommonOptions = CommonOptions>(
  name: Name,
  {
    target: findTarget,
    usesStoppedFolder,
    idKind: kind,
    body,
    remedies,
    json,
    text,
  }: OperationCommand<Name, Options> & BodyOption<Name, Options> & JsonOption<Name, Options>,
): CommandSpec<Options>["run"] {
  return async (context, options, typedArgument) => {
    const argument = typedArgument ?? "";
    const target = await findTarget?.(context, options, typedArgument);
    const id = kind === undefined ? "" : await findId(context, kind, argument, target);
    const callInput = { context, options, argument, typedArgument, id, target };
    const call = {
      name,
      id,
      body: (await body?.(options, callInput)) as RequestOf<Name>,
      remedies: {
        ...(kind === undefined ? {} : { not_found: hintForIds(kind) }),
        ...(typeof remedies === "function" ? remedies(id) : remedies),
      },
    };
    const answer = await (usesStoppedFolder === true
      ? withSandbox(context, (sandbox) => callAt(context, sandbox, call))
      : callSandbox(context, call, target));
    const { printer } = context;
    const value =
      json === undefined
        ? answerOutput<OperationWithOutput>(
            name as OperationWithOutput,
            answer as AnswerOf<OperationWithOutput>,
          )
        : (json as JsonBuilder<Name, Options>)(encodeAnswer(name, answer), answer, callInput);
    return printer.result(value, () => text(answer, printer, callInput));
  };
}

/** Returns milliseconds by the store's clock. A duration is counted from the store's current time. */
export async function resolveMoment(
  context: Context,
  time: SpanOrMoment,
  { direction, target }: { readonly direction: "past" | "future"; readonly target?: ControlTarget },
): Promise<number> {
  if ("at" in time) return time.at;
  const { now } = await callSandbox(context, { name: "showClock", body: undefined }, target);
  return Math.max(0, now + (direction === "past" ? -time.spanMs : time.spanMs));
}
