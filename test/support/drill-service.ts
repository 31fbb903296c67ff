import {
  CONTROL_OPERATIONS,
  decodeRequest,
  encodeAnswer,
  inputKind,
  type AnswerOf,
  type OperationName,
  type RequestOf,
} from "../../src/core/control/operations.ts";
import type { OutboundRequest, OutboundResult, World } from "../../src/world.ts";

/** What a sandbox answers to a drill, in the code's own terms. */
export type ControlAnswers = {
  readonly [Name in OperationName]?: (
    body: RequestOf<Name>,
    id: string,
  ) => AnswerOf<Name> | Promise<AnswerOf<Name>>;
};

/** A call of the control API: its operation, and which of its calls it is, from 1. */
export type ControlCallPoint = { readonly name: OperationName; readonly nth: number };

/** The address of the sandbox. */
export const ORIGIN = "http://127.0.0.1:4242";
/** Where each drill finds the sandbox. */
export const CONTROL = { origin: ORIGIN, token: "a-token", version: "0.1.0" } as const;
/** The message of a refusal in the midst of a drill. */
export const REFUSED = "refused in the midst of a drill";

const REQUEST_ID = idOf(0);

const INTERRUPTED: OutboundResult = { ok: false, failure: "aborted", message: "interrupted" };

/** An id by its number. */
export function idOf(number: number): string {
  return `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

/**
 * A sandbox's control API without a sandbox: answers each call as the table says, and refuses the one that is named. The
 * answer that holds a lease stays open until the lease ends.
 */
export function serveControl(answers: ControlAnswers, refused?: ControlCallPoint) {
  const calls: ControlCallPoint[] = [];
  const rows = (Object.keys(answers) as OperationName[]).map((name) => {
    const path = CONTROL_OPERATIONS[name].path.replace("{store_id}", "default").replace("{id}", "([^/]+)");
    return { name, method: CONTROL_OPERATIONS[name].method, path: new RegExp(`${path}$`) };
  });
  let endLease = (): void => undefined;

  const send = async (request: OutboundRequest): Promise<OutboundResult> => {
    const { pathname, searchParams } = new URL(request.url);
    const row = rows.find(({ method, path }) => method === request.method && path.test(pathname));
    if (row === undefined) throw new Error(`no drill calls ${request.method} ${pathname}`);
    const { name } = row;
    if (isInterrupted(request)) return INTERRUPTED;
    const nth = calls.filter((call) => call.name === name).length + 1;
    calls.push({ name, nth });
    if (refused?.name === name && refused.nth === nth) return refusal();
    const input = inputKind(name) === "body" ? (JSON.parse(String(request.body)) as unknown) : undefined;
    const asked = inputKind(name) === "query" ? Object.fromEntries(searchParams) : input;
    const body = decodeRequest(name, asked);
    if (!body.ok) throw new Error(body.refusal.message);
    const answer = answers[name] as (
      body: unknown,
      id: string,
    ) => AnswerOf<OperationName> | Promise<AnswerOf<OperationName>>;
    const data = encodeAnswer(name, await answer(body.value, row.path.exec(pathname)?.[1] ?? ""));
    if (isInterrupted(request)) return INTERRUPTED;
    const text = JSON.stringify({ ok: true, request_id: REQUEST_ID, data });
    const { onPart } = request;
    if (onPart !== undefined) {
      await new Promise<void>((resolve) => {
        endLease = resolve;
        onPart(Buffer.from(`${text}\n`));
      });
    }
    if (name === "endLease") endLease();
    return { ok: true, status: 200, headers: {}, body: text };
  };
  return { send, calls: calls as readonly ControlCallPoint[] };
}

function isInterrupted({ signal }: OutboundRequest): boolean {
  return signal?.aborted === true;
}

/** An answer that refuses a call, or a request of v1. */
export function refusal(): OutboundResult {
  const error = { code: "state_conflict", message: REFUSED };
  const body = JSON.stringify({ ok: false, request_id: REQUEST_ID, error });
  return { ok: true, status: 409, headers: {}, body };
}

/** Time that passes when all that runs is waiting; waits at the same moment pass together. */
export function createDrillClock() {
  let now = 0;
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  let isPumping = false;
  const pump = (): void => {
    const at = Math.min(...timers.map((timer) => timer.at));
    isPumping = timers.length > 0;
    if (!isPumping) return;
    now = at;
    const due = timers.filter((timer) => timer.at === at);
    timers = timers.filter((timer) => timer.at !== at);
    for (const { run } of due) run();
    setImmediate(pump);
  };
  const after = (milliseconds: number, run: () => void): void => {
    timers.push({ at: now + milliseconds, run });
    if (!isPumping) setImmediate(pump);
    isPumping = true;
  };
  const sleep: World["sleep"] = (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      after(milliseconds, resolve);
      return signal?.addEventListener("abort", () => resolve());
    });
  return { now: () => now, monotonic: () => now, after, sleep };
}
