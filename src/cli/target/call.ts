import {
  callControl,
  wrapAnswer,
  type CallOperation,
  type ControlCall,
  type ControlResult,
  type ControlTarget,
} from "../../client/control/control.ts";
import { withLease, type HeldLease, type LeaseRequest } from "../../client/control/lease.ts";
import type { AnswerOf, OperationName } from "../../core/control/operations.ts";
import type { ErrorCode } from "../../core/errors.ts";
import type { Context } from "../command.ts";
import {
  EXIT,
  exitCodeOfStatus,
  interruptedProblem,
  Refused,
  catchRefusal,
  type Problem,
} from "../problem.ts";
import { printableVersion } from "./notes.ts";
import { TOKEN_VARIABLES } from "./surroundings.ts";

export type Remedies = Readonly<Partial<Record<ErrorCode, string>>>;

export async function callAt<Name extends OperationName>(
  { world, around }: Pick<Context, "world" | "around">,
  target: ControlTarget,
  call: CallWithRemedies<Name>,
): Promise<AnswerOf<Name>> {
  const result = await callControl(world, target, call);
  if (result.end !== "unreachable") return unwrapAnswer(result, call.remedies);
  const source = catchRefusal(around.address).value?.source ?? "run.json";
  return unwrapAnswer({ ...result, message: `${result.message}; the address is from ${source}` });
}

export function createOperationCaller(
  context: Pick<Context, "world" | "around">,
  target: ControlTarget,
  remedies: Remedies = {},
): CallOperation {
  return ({ storeId = target.storeId, ...call }) =>
    callAt(context, { ...target, storeId }, { ...call, remedies });
}

export async function runUnderLease<Value>(
  { world }: Pick<Context, "world">,
  target: ControlTarget,
  { remedies, ...leaseInput }: LeaseRequest & { readonly remedies?: Remedies },
  act: (lease: HeldLease) => Promise<Value>,
): Promise<Value> {
  const outcome = await withLease(world, target, leaseInput, async (lease) => wrapAnswer(await act(lease)));
  return unwrapAnswer(outcome, remedies);
}

export type CallWithRemedies<Name extends OperationName> = ControlCall<Name> & {
  readonly remedies?: Remedies;
};

export function unwrapAnswer<Value>(result: ControlResult<Value>, remedies: Remedies = {}): Value {
  if (result.end === "success") return result.value;
  throw new Refused(problemOfCall(result, remedies));
}

function problemOfCall(
  result: Exclude<ControlResult<unknown>, { end: "success" }>,
  remedies: Remedies,
): Problem {
  switch (result.end) {
    case "interrupted":
      return interruptedProblem();
    case "unreachable":
      return {
        exitCode: EXIT.unreachable,
        code: "unreachable",
        message: `the sandbox cannot be reached: ${result.message}`,
        next: "start it: checkout sandbox start; checkout whoami shows the source of its address",
      };
    case "other_version": {
      const versionText = printableVersion(result.sandboxVersion);
      return {
        exitCode: EXIT.failed,
        code: "other_version",
        message: `the sandbox is ${versionText}, this command needs ${result.neededVersion}: restart it`,
        next: "stop the sandbox; checkout sandbox start",
        details: { sandbox_version: versionText, version: result.neededVersion },
      };
    }
    case "refusal": {
      const { code, message, next: hint } = result.error;
      const isTokenProblem = /^(credential_missing|credential_invalid|scope_missing)$/.test(code);
      const defaultHint = isTokenProblem ? CHECK_TOKEN_HINT : "correct the error and run the command again";
      const next = hint ?? new Map(Object.entries(remedies)).get(code) ?? defaultHint;
      const exitCode = code === "missing_parameter" ? EXIT.usage : exitCodeOfStatus(result.status);
      return { exitCode, code, message, next };
    }
  }
}

const CHECK_TOKEN_HINT = `check ${TOKEN_VARIABLES.control}: checkout env --control in the sandbox's folder prints the right token`;
