// `checkout explore`: the options, and which sandbox and application are explored. The search: client/judge/.
import { exploreAll, type ExplorationResult } from "../../client/judge/search/search.ts";
import {
  commandBenches,
  runningShopBenches,
  type ExploreCommands,
  type OrderViewSpec,
} from "../../client/judge/search/benches.ts";
import { parseCommandLine } from "../../client/merchant-command.ts";
import { runSchedule, type SearchBench } from "../../client/judge/search/run-schedule.ts";
import { ShopFailure } from "../../client/judge/served-shop.ts";
import { isKill, scheduleLine, type Schedule } from "../../core/judge/schedule.ts";
import type { KillsByPlace } from "../../core/judge/search.ts";
import { quote } from "../../core/shell/quote.ts";
import { printableLiteral } from "../../core/text.ts";
import { loadConfig } from "../../host/config/load.ts";
import { serveSandbox } from "../../host/serve.ts";
import { register, type Context, type Group } from "../command.ts";
import { describeShop } from "../judge/section.ts";
import { EXIT, unwrap, interruptedProblem, Refused, refuseUsage } from "../problem.ts";
import { prepareJunitFile } from "../readiness/junit-file.ts";
import { abortOnStop } from "../stopping.ts";
import { readStoreAccess, refuseWithoutKey } from "../store/access.ts";
import { accessVariables } from "../store/variables.ts";
import { isTyped } from "../option-rules.ts";
import { withLease } from "../../client/control/lease.ts";
import { wrapAnswer } from "../../client/control/control.ts";
import { answered, callAt } from "../target/call.ts";
import { controlTarget } from "../target/control.ts";
import { resolvePath } from "../snapshot/place.ts";
import { faultJson, rerunCommand, parseExploreSchedule } from "./faults.ts";
import { EXPLORE_DEFAULTS, EXPLORE_RULES, exploreOptions, type ExploreCommandOptions } from "./options.ts";
import { recordExploration } from "./record.ts";
import { exploreJson, exploreJunit, exploreText } from "./report.ts";
import { output } from "../output/output.ts";

/** Maximum number of schedules that run in parallel, each in a separate store. */
const MAX_PARALLEL = 4;
/** Minimum time between two lines about the progress of the search, in milliseconds. */
const PROGRESS_MS = 5000;

export function registerExplore(group: Group): void {
  register<ExploreCommandOptions>(group, {
    name: "explore [command] [arguments...]",
    summary:
      "run a purchase command under every fault, and find the faults that break it (default: create of the section shop)",
    exitCodes: {
      0: "every judged invariant held",
      1: "an invariant is broken",
      3: "no result; git bisect run needs 125 for it",
    },
    examples: [
      "checkout explore -- npm run checkout-once",
      "checkout explore --depth 1 --json -- node create-order.js",
      `checkout explore --serve 'npm start' --receiver-path /hooks --order-view '/orders/{order_id}' --paid-when '"paid"' -- npm run checkout-once`,
      "checkout explore --budget 5m --write faults.json --junit explore.xml -- npm run checkout-once",
    ],
    options: exploreOptions(),
    ...EXPLORE_RULES,
    passThrough: true,
    run: runExplore,
  });
}

async function runExplore(
  context: Context,
  given: ExploreCommandOptions,
  ...words: readonly string[]
): Promise<number> {
  const { world } = context;
  const { options, commandLine } = await withSection(context, given, words);
  const only =
    options.only === undefined ? undefined : parseExploreSchedule(options.only, options.payer ?? "succeeded");
  const view = viewOf(options);
  for (const word of words) {
    const parsed = parseCommandLine(word);
    if (!parsed.ok) throw refuseUsage(parsed.refusal.message, "correct the command; nothing was done");
  }
  checkApplication(context, options, view);
  const junit = options.junit === undefined ? undefined : prepareJunitFile(world, options.junit);
  const path = options.write === undefined ? undefined : resolvePath(world, options.write);
  using stop = abortOnStop(world);
  const { receiver } = options;
  const wanted = { words, commandLine, only, view, signal: stop.signal };
  const result =
    receiver === undefined
      ? await inOwnSandbox(context, options, wanted)
      : await inRunningSandbox(context, { ...options, receiver }, wanted);
  if (only === undefined) await recordExploration(context, result);
  // Only schedules without kills, because `checkout exec --fault` cannot kill.
  const first = result.broken.find(({ faults }) => faults.every(({ action }) => !isKill(action)));
  if (path !== undefined && first !== undefined)
    world.files.write(path, `${JSON.stringify(first.faults.map(faultJson), null, 2)}\n`);
  await context.printer.result(output("exploration", exploreJson(result)), () =>
    exploreText(result, context),
  );
  junit?.write(exploreJunit(result));
  return result.broken.length === 0 ? EXIT.done : EXIT.failed;
}

/** The section `shop` fills in the command, and options: its `serve`, unless a running shop is explored, and its view. */
async function withSection(
  context: Context,
  options: ExploreCommandOptions,
  words: readonly string[],
): Promise<{ readonly options: ExploreCommandOptions; readonly commandLine: string }> {
  const { receiver, trustConfig, serve: givenServe } = options;
  const section = unwrap(await loadConfig(context.world, {}))?.config.shop ?? {};
  const isServed = receiver === undefined && (givenServe ?? section.serve) !== undefined;
  const hasShop = receiver !== undefined || isServed;
  const typed = words.map((word) => quote(word)).join(" ");
  if (typed !== "" && !hasShop) return { options, commandLine: typed };
  const hasView = options.orderView !== undefined || options.orderViewCommand !== undefined;
  const trust = { ...(trustConfig && { trustConfig }) };
  const described = await describeShop(context, trust, [
    ...(typed === "" ? (["create"] as const) : []),
    ...(isServed && givenServe === undefined ? (["serve"] as const) : []),
    ...(hasView || !hasShop ? [] : (["orderViewCommand"] as const)),
  ]);
  const commandLine = typed === "" ? described.create : typed;
  if (typeof commandLine !== "string")
    throw refuseUsage(
      "explore needs a command that creates an order: none was typed, and create of the section shop is none",
      "checkout explore -- node create-order.js",
    );
  if (!hasShop) return { options, commandLine };
  const { serve, endpoint, orderView, orderViewCommand, paidWhen, bookings, amount } = described;
  const path = endpoint === undefined || !URL.canParse(endpoint) ? endpoint : new URL(endpoint).pathname;
  const known = {
    ...(isServed && { serve, receiverPath: path ?? "/hooks" }),
    ...(!hasView && { orderView, orderViewCommand, paidWhen }),
    bookings,
    amount,
  };
  const set = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return { options: { ...set, ...options }, commandLine };
}

/** What the user asks for in addition to the options of the search, and the signal that stops it. */
type Wanted = {
  /** The command of the purchase as it was typed, and its command line. */
  readonly words: readonly string[];
  readonly commandLine: string;
  readonly only: Schedule | undefined;
  readonly view: OrderViewSpec | undefined;
  readonly signal: AbortSignal;
};

/** Explores in stores of a separate sandbox in memory. */
async function inOwnSandbox(
  context: Context,
  options: ExploreCommandOptions,
  wanted: Wanted,
): Promise<ExplorationResult> {
  const { serve: served, receiverPath } = options;
  const serving = serveSandbox(
    context,
    { port: 0, quiet: true },
    {
      place: { folder: undefined, log: { writableNeedDrain: false, write: () => undefined } },
      use: async ({ ready: { base_url: baseUrl, control_token: token } }) => {
        const target = { origin: new URL(baseUrl).origin, token, version: context.version };
        const { view } = wanted;
        const commands: ExploreCommands = {
          ...commandsOf(context, options, wanted),
          baseUrl,
          target,
          call: ({ storeId, ...call }) => callAt(context, { ...target, storeId }, call),
          ...(served !== undefined &&
            receiverPath !== undefined && { shop: { commandLine: served, receiverPath } }),
          ...(view && { view }),
        };
        const kills: KillsByPlace = {
          request: ["kill"],
          delivery: view === undefined ? [] : ["kill", "kill_after_answer"],
        };
        return search(context, options, { ...wanted, open: commandBenches(commands), kills });
      },
    },
  );
  return unwrap(await serving);
}

/** The end of the lease removes the store's faults and sets its clock to real time. */
async function inRunningSandbox(
  context: Context,
  options: ExploreCommandOptions & { readonly receiver: string },
  wanted: Wanted,
): Promise<ExplorationResult> {
  const { world, printer } = context;
  const sandbox = await controlTarget(context);
  const access = await readStoreAccess(context, sandbox);
  if (access.apiKey === null)
    throw refuseWithoutKey(access, "use --serve instead, which creates its own stores");
  const { storeId, baseUrl } = access;
  const target = { ...sandbox, storeId };
  const { endpoints } = await callAt(context, target, { name: "listEndpoints", body: undefined });
  const endpoint = endpoints.find(({ url }) => url === options.receiver);
  if (endpoint === undefined)
    throw refuseUsage(
      `the store has no endpoint ${printableLiteral(options.receiver)}`,
      `checkout endpoints add ${quote(options.receiver)}`,
    );
  const { view, signal } = wanted;
  const env = accessVariables(access);
  printer.talk(
    "explore: the clock of the store is moved until the end, so that its other unpaid orders expire",
  );
  const timeoutMs = Math.min(MAX_LEASE_MS, (options.budget ?? EXPLORE_DEFAULTS.budgetMs) + LEASE_REST_MS);
  const lease = { drill: "explore", timeoutMs, signal } as const;
  const leased = await withLease(world, target, lease, async ({ id: leaseId }) => {
    const held = { ...target, leaseId };
    const commands: ExploreCommands = {
      ...commandsOf(context, options, wanted),
      baseUrl,
      target,
      call: ({ storeId: _own, ...call }) => callAt(context, held, call),
      ...(view && { view }),
    };
    const open = runningShopBenches(commands, { env, endpointId: endpoint.id });
    return wrapAnswer(await search(context, options, { ...wanted, open, kills: NO_KILLS }));
  });
  return unwrap(
    answered(leased, {
      state_conflict: "checkout sandbox clock real; checkout faults clear; then run it again",
    }),
  );
}

const NO_KILLS: KillsByPlace = { request: [], delivery: [] };
/** In milliseconds. `LEASE_REST_MS` is added to the budget, for shrinking and confirming. */
const MAX_LEASE_MS = 25 * 3_600_000;
const LEASE_REST_MS = 3_600_000;

/** Refuses options that need a shop or the running sandbox if there is none. */
function checkApplication(
  { world }: Context,
  { serve, receiver, orderView }: ExploreCommandOptions,
  view: OrderViewSpec | undefined,
): void {
  if (view !== undefined && serve === undefined && receiver === undefined)
    throw refuseUsage("a view of orders needs a shop", "add --serve or --receiver");
  if (receiver !== undefined && orderView?.startsWith("/") === true)
    throw refuseUsage(
      "with --receiver, --order-view must be a URL",
      "such as http://localhost:3000/orders/{order_id}",
    );
  if (isTyped(world, "store") && receiver === undefined)
    throw refuseUsage("--store works only with --receiver", "add --receiver, or leave --store out");
}

/** The merchant's command, and the order_ids for its purchases, which no other run has used. */
function commandsOf({ world }: Context, options: ExploreCommandOptions, { commandLine, signal }: Wanted) {
  const run = world.freshId().slice(-8);
  let purchases = 0;
  return {
    world,
    commandLine,
    timeoutMs: options.commandTimeout ?? EXPLORE_DEFAULTS.timeoutMs,
    signal,
    newOrderId: (): string => {
      purchases += 1;
      return `order-${run}-${purchases}`;
    },
  };
}

function viewOf({
  orderView,
  orderViewCommand,
  paidWhen,
  bookings,
  amount,
}: ExploreCommandOptions): OrderViewSpec | undefined {
  const read = { paidWhen, bookings, amount };
  if (orderViewCommand !== undefined) return { from: { commandLine: orderViewCommand }, ...read };
  if (orderView === undefined) return undefined;
  return { from: orderView.startsWith("/") ? { path: orderView } : { url: orderView }, ...read };
}

type Explored = Wanted & {
  readonly open: (schedule: Schedule) => Promise<SearchBench>;
  readonly kills: KillsByPlace;
};

async function search(
  context: Context,
  options: ExploreCommandOptions,
  { words, only, view, signal, open, kills }: Explored,
): Promise<ExplorationResult> {
  const { world, printer } = context;
  const { budget: budgetMs = EXPLORE_DEFAULTS.budgetMs, depth = EXPLORE_DEFAULTS.depth } = options;
  const hasView = view !== undefined;
  const progress = progressOf(context);
  const found = await exploreAll({
    run: async (schedule) => {
      const run = await runSchedule(open, schedule).catch((error: unknown) => {
        if (signal.aborted) throw new Refused(interruptedProblem(progress.soFar()));
        throw error;
      });
      if (signal.aborted) throw new Refused(interruptedProblem(progress.soFar()));
      const line = scheduleLine(schedule);
      progress.ran(run.broken.map(({ invariant }) => `${invariant} by ${line}`));
      return run;
    },
    world,
    seed: options.seed ?? world.freshId().slice(-8),
    budgetMs,
    maxSchedules: undefined,
    depth,
    only,
    sideBySide: options.receiver === undefined ? MAX_PARALLEL : 1,
    kills,
    isPlace: ({ kind }) => hasView || kind === "request",
    hasView,
    amountField: "amount_minor",
    rerunOf: (schedule) => rerunCommand(context, schedule, { options, words }),
    onWave: ({ size, count }) =>
      printer.talk(`explore: ${count} schedules with ${size} ${size === 1 ? "fault" : "faults"}`),
  }).catch((error: unknown) => {
    if (error instanceof ShopFailure) return { why: error.message };
    throw error;
  });
  if (!("why" in found)) return found;
  throw new Refused({
    exitCode: EXIT.notReady,
    code: "nothing_learned",
    message: found.why,
    next: "the command must create the order CHECKOUT_ORDER_ID at CHECKOUT_BASE_URL with CHECKOUT_API_KEY, and exit with 0",
  });
}

/** Creates a counter of the schedules that ran, which prints the progress at intervals. */
function progressOf({ world, printer }: Context) {
  let ran = 0;
  let toldAt = world.monotonic();
  const broke: string[] = [];
  return {
    ran: (broken: readonly string[]): void => {
      ran += 1;
      broke.push(...broken);
      if (world.monotonic() - toldAt < PROGRESS_MS) return;
      toldAt = world.monotonic();
      printer.talk(`explore: ${ran} schedules, ${new Set(broke).size} broken so far`);
    },
    /** The summary of an interrupted exploration: its findings are neither shrunk nor confirmed. */
    soFar: (): string => {
      const seen = broke.length === 0 ? "none" : [...new Set(broke)].join("; ");
      return ` after ${ran} schedules; broken so far: ${seen}`;
    },
  };
}
