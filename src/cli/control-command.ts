import { callControl, type ControlCall, type ControlResult, type ControlTarget } from "../client/control.ts";
import type { AnswerOf, MoveWire, OperationName } from "../core/control-api.ts";
import type { ErrorCode } from "../core/errors.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { printableLiteral } from "../core/text.ts";
import type { CommonOptions, Context } from "./command.ts";
import { idOf } from "./parsers.ts";
import { table } from "./printer.ts";
import { EXIT, exitCodeOfStatus, usageProblem, type Problem } from "./problem.ts";
import { isLoopback } from "./settings.ts";
import { liveRun, locateStateFolder, trustFolder } from "./state-folder.ts";

/** The sandbox that a command acts on: the live one of the folder, or the one that the environment names. */
export function controlTarget(
  { world, printer }: Context,
  options: CommonOptions,
): Outcome<ControlTarget, Problem> {
  const named = world.env["CHECKOUT_ADMIN_TOKEN"] ?? "";
  const baseUrl = world.env["CHECKOUT_BASE_URL"] ?? "";
  if (named !== "" && URL.canParse(baseUrl)) {
    if (!isLoopback(baseUrl)) return { ok: false, refusal: notHere() };
    printer.hide(named);
    return accept({ origin: new URL(baseUrl).origin, adminToken: named });
  }
  const folder = locateStateFolder(world, options.dir);
  const trusted = trustFolder(world, folder);
  if (!trusted.ok) return trusted;
  const run = liveRun(world, folder);
  if (!run.ok) return run;
  const { port = null, admin_token: adminToken = "" } = run.value ?? {};
  if (port === null) return { ok: false, refusal: noSandbox(folder) };
  printer.hide(adminToken);
  return accept({ origin: `http://127.0.0.1:${port}`, adminToken });
}

/** What to do after a code. */
export type NextAfter = Readonly<Partial<Record<ErrorCode, string>>>;

/** Calls one operation of the sandbox that a command acts on. */
export async function callSandbox<Name extends OperationName>(
  context: Context,
  options: CommonOptions,
  call: ControlCall<Name> & { readonly nextAfter?: NextAfter },
): Promise<Outcome<AnswerOf<Name>, Problem>> {
  const target = controlTarget(context, options);
  if (!target.ok) return target;
  return controlOutcome(await callControl(context.world, target.value, call), call.nextAfter);
}

/** An id that was typed. What cannot be one is a usage error, sandbox or no sandbox. */
export function parseIdOf(what: "endpoint" | "event", text: string): Outcome<string, Problem> {
  const id = idOf(text);
  if (id !== undefined) return accept(id);
  const example = "0199a3c4-5d00-7000-8000-000000000001";
  const message = `expected the id of an ${what}, such as ${example}; got ${printableLiteral(text)}`;
  return { ok: false, refusal: usageProblem(message, `checkout ${what}s list shows them`) };
}

/** What a call brought, or why it brought nothing; `nextAfter` says what to do after a code. */
export function controlOutcome<Value>(
  result: ControlResult<Value>,
  nextAfter: NextAfter = {},
): Outcome<Value, Problem> {
  if (result.end === "success") return accept(result.value);
  if (result.end === "interrupted") {
    const interrupted = { exitCode: EXIT.interrupted, code: "interrupted", message: "interrupted" };
    return { ok: false, refusal: { ...interrupted, next: "run the command again" } };
  }
  if (result.end === "unreachable") {
    const { message } = result;
    const next = "check that the sandbox runs: checkout whoami";
    return { ok: false, refusal: { exitCode: EXIT.unreachable, code: "unreachable", message, next } };
  }
  const { code, message } = result.error;
  const [, next = "correct it and run it again"] =
    Object.entries(nextAfter).find(([known]) => known === code) ?? [];
  return { ok: false, refusal: { exitCode: exitCodeOfStatus(result.status), code, message, next } };
}

/** The moves of checkouts, one a line, in their order. */
export function moveLines(moves: readonly MoveWire[]): string {
  const rows = moves.map(({ at, order_id, from, to, checkout_id }) => [
    at,
    order_id,
    `${from} → ${to}`,
    checkout_id,
  ]);
  return table(["AT", "ORDER ID", "STATUS", "CHECKOUT"], rows);
}

/** A real service has no control API, and shall not get the token of one. */
function notHere(): Problem {
  const message = "CHECKOUT_BASE_URL names another machine, and only a sandbox on this one can be controlled";
  return usageProblem(message, "unset it, or point it at the sandbox: http://127.0.0.1:<port>/v1");
}

function noSandbox(folder: string): Problem {
  return {
    exitCode: EXIT.unreachable,
    code: "no_sandbox",
    message: `no sandbox serves ${folder}`,
    next: "start one: checkout sandbox start (for an ephemeral one set CHECKOUT_ADMIN_TOKEN and CHECKOUT_BASE_URL)",
  };
}
