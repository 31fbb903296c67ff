import type { ControlTarget } from "../../client/control/control.ts";
import type { ShopDescription } from "../../client/judge/shop/description.ts";
import { runSearch, SEARCH_DEFAULTS, type ExplorationResult } from "../../client/judge/search/search.ts";
import {
  ownStoreOpener,
  runningShopOpener,
  type ExploredShop,
  type OpenBench,
} from "../../client/judge/search/benches.ts";
import { parseCommandLine } from "../../client/merchant-command.ts";
import { runSchedule } from "../../client/judge/search/run-schedule.ts";
import { raceWithAbort } from "../../client/judge/run.ts";
import { ShopFailure } from "../../client/judge/shop/served-shop.ts";
import { isKill, scheduleLine, type Schedule } from "../../core/judge/schedule.ts";
import type { KillsByPlace } from "../../core/judge/search.ts";
import { quote } from "../../core/shell/quote.ts";
import { printableLiteral } from "../../core/text.ts";
import { loadConfig } from "../../host/config/load.ts";
import { serveSandbox } from "../../host/serve.ts";
import { register, type Context, type Group } from "../command.ts";
import { describeShop } from "../judge/section.ts";
import { catchRefusal, EXIT, unwrap, interruptedProblem, Refused, refuseUsage } from "../problem.ts";
import { prepareJunitFile } from "../output/junit.ts";
import { abortOnStop } from "../stopping.ts";
import { readStoreAccess, refuseWithoutKey } from "../store/access.ts";
import { accessVariables } from "../store/variables.ts";
import { isOptionTyped } from "../option-rules.ts";
import { callAt, createOperationCaller, runUnderLease } from "../target/call.ts";
import { requireControlTarget, findControlTarget } from "../target/control.ts";
import { resolvePath } from "../snapshot/place.ts";
import { faultJson, rerunCommand, parseExploreSchedule } from "./faults.ts";
import { COMMAND_TIMEOUT_MS, EXPLORE_RULES, exploreOptions, type ExploreCommandOptions } from "./options.ts";
import { exploreJson, exploreJunit, exploreText } from "./report.ts";
import { output } from "../output/output.ts";
import { optionName } from "../hints/again.ts";

const MAX_PARALLEL = 4;
const PROGRESS_INTERVAL_MS = 5000;

export function registerExplore(group: Group): void {
  register<ExploreCommandOptions>(group, {
    name: "explore [command] [arguments...]",
    summary:
      "run a purchase command under every fault, and find the faults that break it (default: the create command in the shop section of checkout.config.json)",
    exitCodes: {
      0: "every judged invariant held",
      1: "an invariant is broken",
      3: "no result; map it to 125 for git bisect run",
    },
    examples: [
      "checkout explore -- npm run checkout-once",
      "checkout explore --depth 1 --json -- node create-order.js",
      `checkout explore --serve 'npm start' --receiver-path /hooks --order-view '/orders/{order_id}' --paid-when '"paid"' -- npm run checkout-once`,
      "checkout explore --budget 5m --write faults.json --junit explore.xml -- npm run checkout-once",
    ],
    options: exploreOptions(),
    ...EXPLORE_RULES,
    passesThrough: true,
    run: runExplore,
  });
}

async function runExplore(
  context: Context,
  options: ExploreCommandOptions,
  ...words: readonly string[]
): Promise<number> {
  const { world } = context;
  const flags = new Set(exploreOptions().map(({ long }) => long));
  const misplacedWord = words.find((word) => flags.has(optionName(word)));
  if (misplacedWord !== undefined && !world.argv.includes("--"))
    context.printer.info(
      `note: ${misplacedWord} goes to your command; put options of explore before the command`,
    );
  const description = await describeExploredShop(context, options, words);
  const schedule =
    options.only === undefined ? undefined : parseExploreSchedule(options.only, options.payer ?? "succeeded");
  const junit = options.junit === undefined ? undefined : prepareJunitFile(world, options.junit);
  const path = options.write === undefined ? undefined : resolvePath(world, options.write);
  using stop = abortOnStop(world);
  const request = { context, options, words, description, onlySchedule: schedule, signal: stop.signal };
  const result =
    options.receiver === undefined
      ? await exploreInOwnSandbox(request)
      : await exploreInRunningSandbox(request, options.receiver);
  if (schedule === undefined) await recordExploration(context, result);
  // The file is for `checkout exec --fault`, which cannot kill a process.
  const finding = result.broken.find(({ faults }) => faults.every(({ action }) => !isKill(action)));
  if (path !== undefined && finding !== undefined)
    world.files.write(path, `${JSON.stringify(finding.faults.map(faultJson), null, 2)}\n`);
  await context.printer.result(output("exploration", exploreJson(result)), () =>
    exploreText(result, context),
  );
  junit?.write(exploreJunit(result));
  return result.broken.length === 0 ? EXIT.done : EXIT.failed;
}

async function describeExploredShop(
  context: Context,
  options: ExploreCommandOptions,
  words: readonly string[],
): Promise<ShopDescription> {
  const { receiver, receiverPath, serve, orderView, orderViewCommand } = options;
  for (const word of words) {
    const outcome = parseCommandLine(word);
    if (!outcome.ok) throw refuseUsage(outcome.refusal.message, "correct the command; nothing was done");
  }
  const section = unwrap(await loadConfig(context.world, {}))?.config.shop ?? {};
  const hasShop = (receiver ?? serve ?? section.serve) !== undefined;
  const hasView = (orderView ?? orderViewCommand) !== undefined;
  if (hasView && !hasShop) throw refuseUsage("a view of orders needs a shop", "add --serve or --receiver");
  if (isOptionTyped(context.world, "store") && receiver === undefined)
    throw refuseUsage("--store works only with --receiver", "add --receiver, or leave --store out");
  const command = words.map((word) => quote(word)).join(" ");
  if (command !== "" && !hasShop) return { create: command };
  const shopOptions = { ...options, endpoint: receiverPath, ...(command !== "" && { create: command }) };
  const { endpoint = "/hooks", ...shopFields } = await describeShop(context, shopOptions, [
    "create",
    ...(receiver === undefined ? (["serve"] as const) : []),
    ...(hasShop && !hasView ? (["orderViewCommand"] as const) : []),
  ]);
  const { create } = shopFields;
  if (create === undefined || (typeof create !== "string" && !hasShop))
    throw refuseUsage(
      "explore needs a command that creates an order: none was typed, and create in the shop section is none",
      "checkout explore -- node create-order.js",
    );
  if (!hasShop) return { create };
  return { ...shopFields, endpoint: URL.canParse(endpoint) ? new URL(endpoint).pathname : endpoint };
}

type ExploreRequest = {
  readonly context: Context;
  readonly options: ExploreCommandOptions;
  readonly words: readonly string[];
  readonly description: ShopDescription;
  readonly onlySchedule: Schedule | undefined;
  readonly signal: AbortSignal;
};

async function exploreInOwnSandbox(request: ExploreRequest): Promise<ExplorationResult> {
  const { context } = request;
  // Uses the dialect that `checkout sandbox start` would use in this folder.
  const { dialect, sandbox: { like } = {} } = unwrap(await loadConfig(context.world, {}))?.config ?? {};
  const service = serveSandbox(
    context,
    { port: 0, quiet: true, ...(dialect && { dialect }), ...(like && { like }) },
    {
      location: { folder: undefined, log: { writableNeedDrain: false, write: () => undefined } },
      use: async ({ ready: { base_url: baseUrl, control_token: token } }) => {
        const target = { origin: new URL(baseUrl).origin, token, version: context.version };
        const openBench = ownStoreOpener(exploredShop(request, target, baseUrl));
        return search(request, { openBench, concurrency: MAX_PARALLEL, kills: KILLS });
      },
    },
  );
  return unwrap(await service);
}

/** Holds a lease, because the end of a lease removes the store's faults and resets the store's clock. */
async function exploreInRunningSandbox(
  request: ExploreRequest,
  receiver: string,
): Promise<ExplorationResult> {
  const { context, options, signal } = request;
  const sandbox = await requireControlTarget(context);
  const access = await readStoreAccess(context, sandbox);
  if (access.apiKey === null)
    throw refuseWithoutKey(access, "use --serve instead, which creates its own stores");
  const { storeId, baseUrl } = access;
  const target = { ...sandbox, storeId };
  const { endpoints } = await callAt(context, target, { name: "listEndpoints", body: undefined });
  const endpoint = endpoints.find(({ url }) => url === receiver);
  if (endpoint === undefined)
    throw refuseUsage(
      `the store has no endpoint ${printableLiteral(receiver)}`,
      `checkout endpoints add ${quote(receiver)}`,
    );
  context.printer.info(
    "explore: the clock of the store is moved until the end, so that its other unpaid orders expire",
  );
  const lease = {
    drill: "explore",
    timeoutMs: Math.min(MAX_LEASE_MS, (options.budget ?? SEARCH_DEFAULTS.budgetMs) + LEASE_MARGIN_MS),
    signal,
    remedies: { state_conflict: "checkout sandbox clock real; checkout faults clear; then run it again" },
  } as const;
  return runUnderLease(context, target, lease, ({ id: leaseId }) => {
    const shop = exploredShop(request, { ...target, leaseId }, baseUrl);
    return search(request, {
      openBench: runningShopOpener(shop, accessVariables(access), endpoint),
      concurrency: 1,
    });
  });
}

const KILLS: KillsByPlace = { request: ["kill"], delivery: ["kill", "kill_after_answer"] };
const MAX_LEASE_MS = 25 * 3_600_000;
const LEASE_MARGIN_MS = 3_600_000;

/** Each purchase gets a new order_id, because the merchant's records outlive the store of a run. */
function exploredShop(
  { context, options, description, signal }: ExploreRequest,
  target: ControlTarget,
  baseUrl: string,
): ExploredShop {
  const { world } = context;
  const runId = world.freshId().slice(-8);
  let purchaseCount = 0;
  return {
    world,
    target,
    call: createOperationCaller(context, target),
    baseUrl,
    description,
    commandTimeoutMs: options.commandTimeout ?? COMMAND_TIMEOUT_MS,
    signal,
    newId: () => {
      purchaseCount += 1;
      return `order-${runId}-${purchaseCount}`;
    },
  };
}

async function search(
  { context, options, words, description, onlySchedule, signal }: ExploreRequest,
  {
    openBench,
    ...settings
  }: Pick<Parameters<typeof runSearch>[0], "concurrency" | "kills"> & { readonly openBench: OpenBench },
): Promise<ExplorationResult> {
  const { world, printer } = context;
  const progress = createProgress(context);
  const exploration = await runSearch({
    ...settings,
    run: async (schedule) => {
      const run = await raceWithAbort(signal, runSchedule(openBench, schedule));
      if (run === undefined) throw new Refused(interruptedProblem(progress.summaryText()));
      const line = scheduleLine(schedule);
      progress.addRun(run.broken.map(({ invariant }) => `${invariant} by ${line}`));
      return run;
    },
    world,
    seed: options.seed ?? world.freshId().slice(-8),
    budgetMs: options.budget,
    depth: options.depth,
    onlySchedule,
    hasView: (description.orderView ?? description.orderViewCommand) !== undefined,
    amountField: "amount_minor",
    rerunOf: (schedule) => rerunCommand(context, schedule, words),
    onWave: ({ size, count }) =>
      printer.info(`explore: ${count} schedules with ${size} ${size === 1 ? "fault" : "faults"}`),
  }).catch((error: unknown) => {
    if (error instanceof ShopFailure) return { reason: error.message };
    throw error;
  });
  if (!("reason" in exploration)) return exploration;
  throw new Refused({
    exitCode: EXIT.notReady,
    code: "nothing_learned",
    message: exploration.reason,
    next: "the command must create the order CHECKOUT_ORDER_ID at CHECKOUT_BASE_URL with CHECKOUT_API_KEY, and exit with 0",
  });
}

async function recordExploration(
  context: Context,
  { schedules, broken, table: places }: ExplorationResult,
): Promise<void> {
  const record = async (): Promise<boolean> => {
    const target = await findControlTarget(context);
    const body = { schedules, broken: broken.length, places };
    if (target !== undefined) await callAt(context, target, { name: "recordExploration", body });
    return target !== undefined;
  };
  const outcome = await catchRefusal(record());
  if (outcome.value === true) context.printer.info("explore: recorded for checkout checklist");
}

function createProgress({ world, printer }: Context) {
  let runCount = 0;
  let printedAt = world.monotonic();
  const allBrokenNames: string[] = [];
  return {
    addRun: (brokenNames: readonly string[]): void => {
      runCount += 1;
      allBrokenNames.push(...brokenNames);
      if (world.monotonic() - printedAt < PROGRESS_INTERVAL_MS) return;
      printedAt = world.monotonic();
      printer.info(`explore: ${runCount} schedules, ${new Set(allBrokenNames).size} broken so far`);
    },
    summaryText: (): string => {
      const brokenRules = allBrokenNames.length === 0 ? "none" : [...new Set(allBrokenNames)].join("; ");
      return ` after ${runCount} schedules; broken so far: ${brokenRules}`;
    },
  };
}
