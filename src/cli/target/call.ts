import {
  callControl,
  type ControlCall,
  type ControlResult,
  type ControlTarget,
} from "../../client/control/control.ts";
import { NO_STORE } from "../../core/control/protocol.ts";
import type { AnswerOf, OperationName } from "../../core/control/operations.ts";
import { errorRow, type ErrorCode } from "../../core/errors.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Context } from "../command.ts";
import { EXIT, exitCodeOfStatus, fail, interruptedProblem, type Problem } from "../problem.ts";
import { STORES } from "./named-store.ts";
import { shownVersion } from "./notes.ts";
import { TOKEN_VARIABLES } from "./surroundings.ts";

/** What to do after a code. */
export type NextAfter = Readonly<Partial<Record<ErrorCode, string>>>;

/** Calls one operation of a sandbox that was found before. */
export async function callAt<Name extends OperationName>(
  { world, around }: Pick<Context, "world" | "around">,
  target: ControlTarget,
  call: Call<Name>,
): Promise<Outcome<AnswerOf<Name>, Problem>> {
  const result = await callControl(world, target, call);
  const outcome = controlOutcome(result, call.nextAfter);
  if (result.end !== "unreachable" || outcome.ok) return outcome;
  const named = around.address();
  const source = named.ok && named.value !== undefined ? named.value.source : "run.json";
  const message = `${outcome.refusal.message}; the address is from ${source}`;
  return fail({ ...outcome.refusal, message });
}

/** A call, with what to do after its refusals. */
export type Call<Name extends OperationName> = ControlCall<Name> & { readonly nextAfter?: NextAfter };

/** What a call brought, or why it brought nothing; `nextAfter` says what to do after a code. */
export function controlOutcome<Value>(
  result: ControlResult<Value>,
  nextAfter: NextAfter = {},
): Outcome<Value, Problem> {
  if (result.end === "success") return accept(result.value);
  if (result.end === "interrupted") return fail(interruptedProblem());
  if (result.end === "other_version") return fail(otherVersion(result));
  if (result.end === "unreachable") {
    const message = `the sandbox cannot be reached: ${result.message}`;
    const next = "start it: checkout sandbox start; checkout whoami shows where its address comes from";
    return fail({ exitCode: EXIT.unreachable, code: "unreachable", message, next });
  }
  return fail(refusedProblem(result.error, nextAfter, result.status));
}

const CHECK_TOKEN = `check ${TOKEN_VARIABLES.control}: checkout env --control in the sandbox's folder prints the right one`;
/** What to do after a token of the control API was refused. */
const NEXT_AFTER_TOKEN: NextAfter = {
  credential_missing: CHECK_TOKEN,
  credential_invalid: CHECK_TOKEN,
  scope_missing: CHECK_TOKEN,
};

/** A refusal of the sandbox. */
function refusedProblem(
  { code, message }: { readonly code: string; readonly message: string },
  nextAfter: NextAfter = {},
  status = errorRow(code)?.status,
): Problem {
  const hints = new Map(Object.entries({ ...NEXT_AFTER_TOKEN, ...nextAfter }));
  const hint = message.startsWith(NO_STORE) ? STORES : hints.get(code);
  const next = hint ?? "correct it and run it again";
  return { exitCode: exitCodeOfStatus(status), code, message, next };
}

/** What this command needs of the sandbox is in another version. */
function otherVersion(met: Extract<ControlResult<never>, { end: "other_version" }>): Problem {
  const theirs = shownVersion(met.sandboxVersion);
  return {
    exitCode: EXIT.failed,
    code: "other_version",
    message: `the sandbox is ${theirs}, this command needs ${met.neededVersion}: restart it`,
    next: "stop the sandbox; checkout sandbox start",
    details: { sandbox_version: theirs, version: met.neededVersion },
  };
}
