import {
  callControl,
  type ControlCall,
  type ControlResult,
  type ControlTarget,
} from "../../client/control/control.ts";
import { nextWithoutPart } from "../../core/control/hosted-missing-parts.ts";
import { NO_STORE } from "../../core/control/protocol.ts";
import type { AnswerOf, OperationName } from "../../core/control/operations.ts";
import { errorRow, type ErrorCode } from "../../core/errors.ts";
import type { Context } from "../command.ts";
import {
  EXIT,
  exitCodeOfStatus,
  interruptedProblem,
  Refused,
  undefinedIfRefused,
  type Problem,
} from "../problem.ts";
import { STORES_HINT } from "./named-store.ts";
import { printableVersion } from "./notes.ts";
import { TOKEN_VARIABLES } from "./surroundings.ts";

/** The remedy for each error code. */
export type Remedies = Readonly<Partial<Record<ErrorCode, string>>>;

/** Calls an operation of a given sandbox. */
export async function callAt<Name extends OperationName>(
  { world, around }: Pick<Context, "world" | "around">,
  target: ControlTarget,
  call: CallWithRemedies<Name>,
): Promise<AnswerOf<Name>> {
  const result = await callControl(world, target, call);
  if (result.end !== "unreachable") return unwrapAnswer(result, call.nextAfter);
  const source = undefinedIfRefused(around.address)?.source ?? "run.json";
  throw unreachableProblem(`${result.message}; the address is from ${source}`);
}

/** A call of an operation, with the remedies for its refusals. */
export type CallWithRemedies<Name extends OperationName> = ControlCall<Name> & {
  readonly nextAfter?: Remedies;
};

/** The value of a call. Throws a refusal or failure; `nextAfter` contains the remedy for each code. */
export function unwrapAnswer<Value>(result: ControlResult<Value>, nextAfter: Remedies = {}): Value {
  switch (result.end) {
    case "success":
      return result.value;
    case "interrupted":
      throw new Refused(interruptedProblem());
    case "other_version":
      throw new Refused(otherVersionProblem(result));
    case "unreachable":
      throw unreachableProblem(result.message);
    case "refusal":
      throw new Refused(refusedProblem(result.error, nextAfter, result.status));
  }
}

function unreachableProblem(why: string): Refused {
  const message = `the sandbox cannot be reached: ${why}`;
  const next = "start it: checkout sandbox start; checkout whoami shows the source of its address";
  return new Refused({ exitCode: EXIT.unreachable, code: "unreachable", message, next });
}

const CHECK_TOKEN = `check ${TOKEN_VARIABLES.control}: checkout env --control in the sandbox's folder prints the right token`;
/** The remedies for a refused token of the control API. */
const NEXT_AFTER_TOKEN: Remedies = {
  credential_missing: CHECK_TOKEN,
  credential_invalid: CHECK_TOKEN,
  scope_missing: CHECK_TOKEN,
};

/** The problem for a refusal by the sandbox. */
function refusedProblem(
  { code, message }: { readonly code: string; readonly message: string },
  nextAfter: Remedies = {},
  status = errorRow(code)?.status,
): Problem {
  const hints = new Map(Object.entries({ ...NEXT_AFTER_TOKEN, ...nextAfter }));
  const hint = message.startsWith(NO_STORE) ? STORES_HINT : (nextWithoutPart(message) ?? hints.get(code));
  const next = hint ?? "correct the error and run the command again";
  return { exitCode: exitCodeOfStatus(status), code, message, next };
}

/** The problem if the sandbox has an incompatible version of an operation. */
function otherVersionProblem(versions: Extract<ControlResult<never>, { end: "other_version" }>): Problem {
  const theirs = printableVersion(versions.sandboxVersion);
  return {
    exitCode: EXIT.failed,
    code: "other_version",
    message: `the sandbox is ${theirs}, this command needs ${versions.neededVersion}: restart it`,
    next: "stop the sandbox; checkout sandbox start",
    details: { sandbox_version: theirs, version: versions.neededVersion },
  };
}
