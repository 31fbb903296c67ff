import type { CallOperation, ControlTarget } from "../../client/control/control.ts";
import { judgeAgain, mergeRuns } from "../../client/judge/later.ts";
import { findEndReason, plainHistory, raceWithAbort, runHistories } from "../../client/judge/run.ts";
import { leftShopStuck, type JudgedHistory } from "../../client/judge/played.ts";
import type { ShopDescription } from "../../client/judge/shop/description.ts";
import { createBench, type Bench, type CreateMethod, type JudgedShop } from "../../client/judge/bench.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { runPlainPurchase, type PlainPurchase } from "../../client/judge/plain.ts";
import { refusesAgain } from "../../client/judge/tell.ts";
import { findHistory, historyOf } from "../../core/judge/histories/histories.ts";
import { mayBeLate } from "../../core/judge/judge.ts";
import type { MissingField } from "../../core/readiness/drills/judge-sentences.ts";
import type { History } from "../../core/judge/step.ts";
import { durationText } from "../../core/duration.ts";
import { english } from "../../core/language.ts";
import { register, registerAction, type Context, type Group } from "../command.ts";
import { DRILL_NAMES } from "../../core/readiness/names.ts";
import { EXIT, refuseUsage } from "../problem.ts";
import { poll } from "../../client/poll.ts";
import { createOperationCaller, runUnderLease } from "../target/call.ts";
import { requireControlTarget, withStoreKey } from "../target/control.ts";
import { runWithSpinner } from "../request/exchange.ts";
import { rerunLine, runOptions, SHOP_RULES, type RunOptions } from "./options.ts";
import { createOrderIdGenerator, createOrderSource } from "./orders.ts";
import { recordParts, recordPlainPurchase } from "./records.ts";
import {
  EXIT_OF_VERDICT,
  runJson,
  runText,
  verdictOfRun,
  worstVerdict,
  type PartRecord,
  type RunReport,
} from "./report.ts";
import { refuseUnknownHistory, refuseUnusableEndpoint } from "./refusals.ts";
import { describeShop } from "./section.ts";
import { bindShop, type BoundShop } from "./shop.ts";
import { findEndpointId, judgeReceivers } from "./webhooks.ts";
import { output } from "../output/output.ts";

const BUDGET_MS = 900_000;
const BUDGET_TEXT = durationText(BUDGET_MS);
const QUICK_ANSWER_MS = 100;
const MAX_LATE_WORK_MS = 31_000;
const LEASE_MARGIN_MS = 30 * 60_000;
const KEY_MARGIN_MS = 2 * LEASE_MARGIN_MS;

type Part = History["part"] | "webhook";

const ALL_PARTS: ReadonlySet<Part> = new Set(["duplicates", "browser_return", "idempotency", "webhook"]);

export function registerChecklistRun(group: Group): void {
  const command = group.command.command("run");
  registerAction<RunOptions>(
    { ...group, command },
    {
      ...judgeCommandSpec(ALL_PARTS),
      summary:
        "test your shop with a purchase without faults, customers who return, repeated and late events, second attempts, lost answers and forged webhooks",
      examples: [
        "checkout checklist run",
        `checkout checklist run --create "node create-order.js" --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"' --return-url http://localhost:3000/thanks`,
        "checkout checklist run --only return_same_moment --json",
      ],
    },
  );
}

export function registerChecklistParts(group: Group): void {
  const command = group.command.commands.find((child) => child.name() === "run") ?? group.command;
  for (const { part, ...spec } of PART_COMMANDS)
    register<RunOptions>(
      { ...group, command },
      { name: DRILL_NAMES[part], ...spec, ...judgeCommandSpec(new Set([part])) },
    );
}

function judgeCommandSpec(parts: ReadonlySet<Part>) {
  const isCreatesPart = parts !== ALL_PARTS && parts.has("idempotency");
  return {
    exitCodes: {
      0: "every invariant held",
      1: "an invariant is broken: each has a cause",
      3: "something that an item of the checklist needs was not judged",
    },
    options: runOptions(BUDGET_TEXT, isCreatesPart),
    ...SHOP_RULES,
    ...(isCreatesPart && { conflicts: [...SHOP_RULES.conflicts, ["clientCommand", "create"] as const] }),
    run: (context: Context, { clientCommand, ...options }: RunOptions) => {
      const create = clientCommand ?? options.create;
      return runParts(context, { ...options, ...(create && { create }) }, parts);
    },
  };
}

const PART_COMMANDS = [
  {
    part: "duplicates",
    summary:
      "run only the duplicates part: events that are repeated, late, out of order or simultaneous, also of other orders and attempts",
    examples: [
      `checkout checklist run duplicates --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"' --create "node create-order.js"`,
      `checkout checklist run duplicates --order-view-command 'bin/order-status "$CHECKOUT_ORDER_ID"' --paid-when '^paid' --checkout order-1001 --checkout order-1002 --quick`,
    ],
  },
  {
    part: "browser_return",
    summary:
      "run only the browser-return part: customers return before, during or after the webhook, with another order's session, or while the API fails",
    examples: [
      `checkout checklist run browser-return --return-url http://localhost:3000/thanks --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"' --create "node create-order.js"`,
    ],
  },
  {
    part: "idempotency",
    summary:
      "run only the idempotency part: lost answers, a client killed during a create, similar orders, and repeated purchases",
    examples: [
      'checkout checklist run idempotency --create "node create-order.js"',
      'checkout checklist run idempotency --create "npm run checkout-once" --command-timeout 5m',
    ],
  },
] as const;

async function runParts(context: Context, options: RunOptions, parts: ReadonlySet<Part>): Promise<number> {
  const unknownName = options.only?.find((name) => findHistory(name) === undefined);
  if (unknownName !== undefined) throw await refuseUnknownHistory(context, unknownName);
  const control = await requireControlTarget(context);
  const description = await describeShop(context, options);
  if (!readsOrders(parts) && description.create === undefined)
    throw refuseUsage(
      "the part on creates needs a command or a page of your shop that creates an order",
      'add --create "node create-order.js"; checkout checklist --item idempotency_replay shows the log',
    );
  const report = await runWithSpinner(
    context,
    ({ signal }) => {
      const timeoutMs = (options.budget ?? BUDGET_MS) + KEY_MARGIN_MS;
      const act = async (keyedContext: Context): Promise<RunReport> => {
        await using shop = await bindShop(keyedContext, {
          control,
          description,
          readsOrders: readsOrders(parts),
          signal,
        });
        const call = createOperationCaller(keyedContext, control);
        const run = { context: keyedContext, options, control, call, description, shop, parts, signal };
        const runReport = await runAll(run);
        if (shop.server !== undefined) await awaitHeldEvents(run);
        return runReport;
      };
      return withStoreKey(context, control, { timeoutMs, signal, act });
    },
    "Trying your shop",
  );
  await context.printer.result(output("run", runJson(report)), () =>
    runText(report, { ...context.printer, showsAll: options.all === true }),
  );
  return report.isInterrupted ? EXIT.interrupted : EXIT_OF_VERDICT[verdictOfRun(report)];
}

function readsOrders(parts: ReadonlySet<Part>): boolean {
  return parts.size > 1 || !parts.has("idempotency");
}

const MAX_HELD_EVENTS_WAIT_MS = 5000;
const CHECK_PAUSE_MS = 200;

/**
 * Waits up to `MAX_HELD_EVENTS_WAIT_MS` for due deliveries, so that they are not sent to the shop's port after the
 * shop has stopped.
 */
async function awaitHeldEvents({ context: { world }, call, signal }: Run): Promise<void> {
  await poll(world, () => call({ name: "listDeliveries", body: { state: "due", limit: 1 } }), {
    isEnough: ({ deliveries }) => deliveries.length === 0,
    waitMs: MAX_HELD_EVENTS_WAIT_MS,
    firstPauseMs: CHECK_PAUSE_MS,
    signal,
  });
}

type Run = {
  readonly context: Context;
  readonly options: RunOptions;
  readonly control: ControlTarget;
  readonly call: CallOperation;
  readonly description: ShopDescription;
  readonly shop: BoundShop;
  readonly parts: ReadonlySet<Part>;
  readonly signal: AbortSignal;
};

async function runAll(run: Run): Promise<RunReport> {
  const { context, options, control, call, shop, signal } = run;
  const { world, printer } = context;
  const seed = options.seed ?? world.freshId().slice(-8);
  const orders =
    shop.create === undefined
      ? await createOrderSource(context, options, control)
      : ({ setsIds: usesId(shop.create) ? true : undefined } as const);
  await refuseUnusableEndpoint(run, readsOrders(run.parts));
  shop.keepEndpoint();
  const { dialect, capabilities } = await call({ name: "storeSummary", body: undefined });
  const plainBench = createBench({
    world,
    target: control,
    call,
    shop: {
      ...shop,
      ...orders,
      otherMethod: otherMethodOf(shop.create, capabilities),
      commandTimeoutMs: options.commandTimeout,
    },
    ...(await createOrderIdGenerator(call, seed)),
    signal,
    dialect,
  });
  const startedAt = world.monotonic();
  const onJudged = createJudgedReporter(context, startedAt);
  printer.info("a purchase without faults: create, pay, all events as they are delivered");
  const purchase = runPlainPurchase(plainBench, () =>
    printer.info("? your shop has accepted the payment and does not show it yet; it has up to 60 s"),
  );
  const plainPurchase = await raceWithAbort(signal, purchase);
  const firstHistory = await plainHistory(plainBench, plainPurchase);
  if (plainPurchase !== undefined) onJudged(firstHistory);
  const baseReport = {
    seed,
    budgetMs: options.budget ?? BUDGET_MS,
    rerunLine: (addedOptions: string) => rerunLine(world, addedOptions),
    missingFields: plainPurchase === undefined ? [] : missingFields(run, plainPurchase),
    isInterrupted: plainPurchase === undefined,
    correctCreateHint:
      options.create === undefined
        ? "correct shop.create in checkout.config.json; checkout shop check tries only that section"
        : "correct --create, and run the command again",
  };
  if (plainPurchase?.verdict.state !== "held") {
    const isFullRun = options.only === undefined;
    const records = isFullRun
      ? await recordPlainPurchase({ ...run, ...baseReport, bench: plainBench }, firstHistory)
      : [];
    return { ...baseReport, histories: [firstHistory], records };
  }
  const lease = { drill: "duplicates", timeoutMs: baseReport.budgetMs + LEASE_MARGIN_MS, signal } as const;
  return runUnderLease(context, control, lease, ({ id: leaseId, storeId }) => {
    const leaseCall = createOperationCaller(context, { ...control, leaseId });
    const bench = { ...plainBench, call: leaseCall, recording: plainPurchase.recording, leaseId };
    const deadline = startedAt + baseReport.budgetMs;
    return judgeUnderLease({
      ...run,
      bench,
      storeId,
      plainPurchase,
      firstHistory,
      baseReport,
      onJudged,
      deadline,
    });
  });
}

function createJudgedReporter({ world, printer }: Context, startedAt: number): LeasedRun["onJudged"] {
  return ({ name, verdict, evidence }) => {
    if (verdict.state === "held") return;
    const mark = verdict.state === "broken" ? printer.style.red("✗") : printer.style.bold("?");
    const note =
      evidence !== undefined && mayBeLate(verdict) ? "; the run waits, because it may only be late" : "";
    const seconds = Math.round((world.monotonic() - startedAt) / 1000);
    printer.info(`${mark} ${english(historyOf(name).title)} (${seconds} s)${note}`);
  };
}

function usesId(create: CreateMethod): boolean {
  if (!("url" in create)) return true;
  return [create.url, ...Object.values(create.form)].some((text) => text.includes("{order_id}"));
}

function otherMethodOf(
  create: CreateMethod | undefined,
  capabilities: AnswerOf<"storeSummary">["capabilities"],
): JudgedShop["otherMethod"] {
  if (create === undefined || !("url" in create)) return undefined;
  const methods = capabilities.flatMap(({ kind, active, name }) =>
    kind === "payment_method" && active ? [name] : [],
  );
  const [field, value] = Object.entries(create.form).find(([, text]) => methods.includes(text)) ?? [];
  const otherMethod = methods.find((method) => method !== value);
  return field === undefined || otherMethod === undefined ? undefined : { [field]: otherMethod };
}

type LeasedRun = Run & {
  readonly bench: Bench;
  readonly storeId: string;
  readonly plainPurchase: PlainPurchase;
  readonly firstHistory: JudgedHistory;
  readonly baseReport: Omit<RunReport, "histories" | "records">;
  readonly onJudged: (history: JudgedHistory) => void;
  /** In milliseconds by the monotonic clock. No history starts later. */
  readonly deadline: number;
};

async function judgeUnderLease(run: LeasedRun): Promise<RunReport> {
  const { options, plainPurchase, parts, baseReport, onJudged, deadline, signal } = run;
  const { printer } = run.context;
  const mayRestart = run.bench.shop.restart !== undefined && parts.has("duplicates");
  const refusesRepeat =
    mayRestart && (await raceWithAbort(signal, refusesAgain(run.bench, plainPurchase.purchase))) === true;
  const bench = { ...run.bench, recording: { ...plainPurchase.recording, refusesAgain: refusesRepeat } };
  const names = options.only === undefined ? undefined : new Set(options.only);
  const historyParts = new Set([...parts].filter((part): part is History["part"] => part !== "webhook"));
  const isQuick = options.quick === true;
  const plan = { parts: historyParts, names, isQuick, deadline, onJudged };
  const delay = durationText(Math.max(1, Math.round(plainPurchase.recording.bookingMs)));
  printer.info(
    `a payment is shown after ${delay}; histories, for at most ${durationText(baseReport.budgetMs)}:`,
  );
  const webhookRecords: PartRecord[] = [];
  const shouldDrill =
    names === undefined && parts.has("webhook") && plainPurchase.recording.isWithoutEvents !== true;
  const isDrillFirst = plainPurchase.recording.answerMs < QUICK_ANSWER_MS;
  if (shouldDrill && isDrillFirst) webhookRecords.push(...(await drillWebhooks(run)));
  const playedHistories = [run.firstHistory, ...(await runHistories(bench, plan))];
  if (shouldDrill && !isDrillFirst && !playedHistories.some(leftShopStuck))
    webhookRecords.push(...(await drillWebhooks(run)));
  const waitsForLateWork = names === undefined && !isQuick && parts.has("browser_return");
  const finalHistories = await judgeAgain(
    bench,
    playedHistories,
    waitsForLateWork ? Math.min(deadline, plainPurchase.paidAt + MAX_LATE_WORK_MS) : 0,
  );
  for (const [index, entry] of finalHistories.entries())
    if (entry.verdict !== playedHistories[index]?.verdict) onJudged(entry);
  const histories = mergeRuns(finalHistories);
  const isInterrupted = signal.aborted;
  const records =
    names === undefined
      ? await recordParts({ ...run, ...baseReport, isDone: !isInterrupted }, histories)
      : [];
  return { ...baseReport, isInterrupted, histories, records: [...records, ...webhookRecords] };
}

async function drillWebhooks(run: LeasedRun): Promise<readonly PartRecord[]> {
  const { context, control, call, description, bench, storeId, signal, deadline } = run;
  const { printer } = context;
  printer.info("forged and genuine webhooks");
  const mayRun = (): boolean => findEndReason(bench, { deadline }) === undefined;
  const endpointId = await findEndpointId(call, description);
  const receiverRequest = { leaseId: bench.leaseId, storeId, endpointId, hasOrder: true, mayRun };
  const results = await raceWithAbort(signal, judgeReceivers(context, control, receiverRequest));
  if (results === undefined) return [];
  const verdict = worstVerdict(results.map((result) => result.verdict));
  if (verdict === "failed") printer.info(`${printer.style.red("✗")} forged and genuine webhooks`);
  const drillId = results[0]?.record?.id ?? null;
  const leftOutCount = results.reduce((sum, result) => sum + result.leftOutCount, 0);
  return [{ part: "webhook", verdict, drillId, steps: results.flatMap(({ steps }) => steps), leftOutCount }];
}

function missingFields(
  { description: { restart, serve }, shop, options }: Run,
  plainPurchase: PlainPurchase,
): readonly MissingField[] {
  const { shownOrder } = plainPurchase;
  const isMissing = {
    bookings: shownOrder !== null && shownOrder.times === null,
    amount: shownOrder !== null && shownOrder.amountMinor === null,
    create: shop.create === undefined,
    endpoint: plainPurchase.recording.isWithoutEvents === true,
    restart: shop.view !== undefined && restart === undefined && serve === undefined,
    quick: options.quick === true,
  } satisfies Record<MissingField, boolean>;
  return (Object.keys(isMissing) as MissingField[]).filter((field) => isMissing[field]);
}
