import type { AnswerOf, OperationName } from "../../core/control/operations.ts";
import { iso } from "../../core/clock.ts";
import {
  requestLines,
  seenRequests,
  type MadeCheckout,
  type PurchaseResult,
  type RunFacts,
} from "../../core/explore/facts.ts";
import { brokenOf, judge } from "../../core/explore/judge.ts";
import { faultAt, KILL, type Schedule, type ScheduledFault } from "../../core/explore/schedule.ts";
import { printable } from "../../core/text.ts";
import type { ShellResult, World } from "../../world.ts";
import type { ControlCall } from "../control/control.ts";
import { WITHOUT_TOKENS } from "../drills/merchant-command.ts";
import type { ExploreRun } from "./exploration.ts";

/** A merchant's command that makes one purchase, and the sandbox in which it runs. */
export type CommandBench = {
  readonly world: Pick<World, "run" | "sleep">;
  readonly commandLine: string;
  readonly timeoutMs: number;
  readonly baseUrl: string;
  /** Returns an order_id that is not in the merchant's own records, which outlive the store of a run. */
  readonly newOrderId: () => string;
  /** Calls an operation of the control API on a store; throws as the command line does. */
  readonly call: <Name extends OperationName>(
    call: ControlCall<Name> & { readonly storeId?: string },
  ) => Promise<AnswerOf<Name>>;
  /** Ends the command when the exploration is asked to stop. */
  readonly signal: AbortSignal;
};

/** The store of a run, and its purchase. */
type Purchase = AnswerOf<"createStore"> & { readonly orderId: string };

/** How long the answer to a command that will be killed is held back, in milliseconds: it is killed before that. */
const HELD_BACK_MS = 10_000;
/** Pause between two checks whether the request has arrived, in milliseconds. */
const LOOK_MS = 10;
/** Time for the request of a killed command to be processed after its fault was applied, in milliseconds. */
const CARRIED_OUT_MS = 50;
const MAX_OUTPUT_BYTES = 4096;
/** Maximum length of the output quoted with a failure, in characters: the end of the output. */
const MAX_QUOTED_OUTPUT = 200;
const MAX_LISTED = 1000;

/** Runs the command in a new store, under the faults of a schedule; after a failure, once more without them. */
export async function runCommand(bench: CommandBench, schedule: Schedule): Promise<ExploreRun> {
  const store = await bench.call({ name: "createStore", body: { name: "checkout explore" } });
  try {
    return await runIn(bench, { ...store, orderId: bench.newOrderId() }, schedule);
  } finally {
    await bench.call({ name: "deleteStore", storeId: store.storeId, body: {} });
  }
}

async function runIn(bench: CommandBench, store: Purchase, schedule: Schedule): Promise<ExploreRun> {
  const { storeId } = store;
  const kills: string[] = [];
  for (const fault of schedule.faults) {
    const { fault: added } = await bench.call({ name: "addFault", storeId, body: bodyOf(fault) });
    if (fault.action === KILL) kills.push(added.id);
  }
  const first = await attempt(bench, store, kills);
  let again: ShellResult | null = null;
  if (first.ending !== "timeout" && first.exitCode !== 0) {
    await bench.call({ name: "clearFaults", storeId, body: undefined });
    again = await attempt(bench, store, []);
  }
  const checkouts = await checkoutsOf(bench, store);
  const logged = await bench.call({ name: "listRequests", storeId, body: { limit: MAX_LISTED } });
  const facts: RunFacts = {
    schedule,
    checkouts,
    purchase: endOf(first, checkouts),
    again: again && endOf(again, checkouts),
    requests: seenRequests(logged),
    deliveries: [],
    before: null,
    soon: null,
    last: null,
  };
  const judgement = judge(facts);
  const isBroken = brokenOf(judgement).length > 0;
  return {
    facts,
    judgement,
    story: isBroken ? await storyOf(bench, store, facts) : "",
    viewError: undefined,
  };
}

function bodyOf({ match = {}, ...fault }: ScheduledFault) {
  const { action, ...held } = fault.action === KILL ? faultAt(match, "latency") : fault;
  if (action === KILL) throw new Error("a kill is a fault that holds an answer back");
  return { ...held, action, match, ...(fault.action === KILL ? { latencyMs: HELD_BACK_MS } : {}) };
}

/** Runs the command once; kills it after a request has met one of these faults and was processed. */
async function attempt(
  bench: CommandBench,
  { storeId, apiKey, signingSecret, orderId }: Purchase,
  kills: readonly string[],
): Promise<ShellResult> {
  const { world, commandLine, timeoutMs, baseUrl, signal } = bench;
  const kill = new AbortController();
  const over = new AbortController();
  const env = {
    CHECKOUT_BASE_URL: baseUrl,
    CHECKOUT_API_KEY: apiKey,
    CHECKOUT_STORE_ID: storeId,
    CHECKOUT_SIGNING_SECRET: signingSecret,
    CHECKOUT_ORDER_ID: orderId,
    ...WITHOUT_TOKENS,
  };
  const watching =
    kills.length === 0 ? undefined : killWhenMet(bench, { storeId, kills, over: over.signal }, kill);
  try {
    return await world.run({
      commandLine,
      env,
      timeoutMs,
      maxOutputBytes: MAX_OUTPUT_BYTES,
      signal: AbortSignal.any([signal, kill.signal]),
    });
  } finally {
    over.abort();
    await watching;
  }
}

async function killWhenMet(
  { world, call }: CommandBench,
  {
    storeId,
    kills,
    over,
  }: { readonly storeId: string; readonly kills: readonly string[]; readonly over: AbortSignal },
  kill: AbortController,
): Promise<void> {
  while (!over.aborted) {
    const { faults } = await call({ name: "listFaults", storeId, body: undefined });
    const waiting = new Set(faults.map(({ id }) => id));
    if (kills.some((id) => !waiting.has(id))) {
      await world.sleep(CARRIED_OUT_MS);
      return kill.abort();
    }
    await world.sleep(LOOK_MS);
  }
}

async function checkoutsOf({ call }: CommandBench, { storeId }: Purchase): Promise<readonly MadeCheckout[]> {
  const { checkouts } = await call({ name: "listCheckouts", storeId, body: {} });
  return checkouts
    .map(({ id, orderId, amountMinor, status }) => ({ id, orderId, amountMinor, status, checkoutUrl: id }))
    .toReversed();
}

/**
 * The result of a command. After a success, the command is assumed to know the first order, because it does not say
 * which order it received.
 */
function endOf(
  { ending, exitCode, stdout, stderr }: ShellResult,
  [first]: readonly MadeCheckout[],
): PurchaseResult {
  if (ending === "timeout") return { end: "timeout" };
  if (exitCode === 0) return { end: "order", id: first?.id ?? "", checkoutUrl: first?.checkoutUrl ?? "" };
  const how = ending === "aborted" ? "killed" : `exit code ${exitCode ?? "none"}`;
  const said = printable((stderr.trim() === "" ? stdout : stderr).trim().slice(-MAX_QUOTED_OUTPUT));
  return { end: "failure", message: said === "" ? how : `${how}: ${said}` };
}

/** The timeline of the order as text, or the requests if there is none, and how the command exited. */
async function storyOf(
  { call }: CommandBench,
  { storeId }: Purchase,
  { checkouts, requests, purchase, again }: RunFacts,
): Promise<string> {
  const [first] = checkouts;
  const lines =
    first === undefined
      ? requestLines({ requests })
      : linesOf(await call({ name: "explain", storeId, body: { id: first.orderId } }));
  const ends = [purchase, again].flatMap((end) =>
    end === null ? [] : [`the command ended: ${end.end === "failure" ? end.message : END_TEXT[end.end]}`],
  );
  return [...lines, ...ends].join("\n");
}

const END_TEXT = { order: "exit code 0", timeout: "not in its time" } as const;

function linesOf({ summary, entries }: AnswerOf<"explain">): readonly string[] {
  return [printable(summary), ...entries.map(({ at, text }) => `${iso(at)}  ${printable(text)}`)];
}
