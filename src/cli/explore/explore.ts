import { exploreAll, type SearchResult } from "../../client/explore/exploration.ts";
import { runCommand, type CommandBench } from "../../client/explore/command.ts";
import { decodeRequest, encodeRequest } from "../../core/control/operations.ts";
import { durationText } from "../../core/config/setting-text.ts";
import { brokenOf } from "../../core/explore/judge.ts";
import {
  KILL,
  NO_FAULTS,
  scheduleLine,
  type Schedule,
  type ScheduledFault,
} from "../../core/explore/schedule.ts";
import { parseJson } from "../../core/json.ts";
import { optionToCopy, quote, shellOf } from "../../core/shell/quote.ts";
import { printable } from "../../core/text.ts";
import { serveSandbox } from "../../host/serve.ts";
import { register, valueOption, type Context, type Group } from "../command.ts";
import { parseDuration, parseWhole } from "../parsers.ts";
import { EXIT, unwrapHosting, interruptedProblem, Refused, refuseUsage } from "../problem.ts";
import { untilStopped } from "../stopping.ts";
import { callAt } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { resolvePath } from "../snapshot/place.ts";

type ExploreOptions = CommonOptions & {
  readonly budget?: number;
  readonly depth?: number;
  readonly seed?: string;
  readonly only?: string;
  readonly write?: string;
  readonly commandTimeout?: number;
};

const DEFAULT_BUDGET_MS = 60_000;
const DEFAULT_DEPTH = 2;
const MAX_DEPTH = 4;
const DEFAULT_TIMEOUT_MS = 60_000;
/** Maximum number of commands that run in parallel. */
const SIDE_BY_SIDE = 4;

/** `checkout explore -- npm run checkout-once`. */
export function registerExplore(group: Group): void {
  register<ExploreOptions>(group, {
    name: "explore <command> [arguments...]",
    ofStore: false,
    summary: "run a command that makes one purchase under every fault, and find those that break it",
    examples: [
      "checkout explore -- npm run checkout-once",
      "checkout explore --depth 1 --json -- node create-order.js",
      "checkout explore --budget 5m --write faults.json -- npm run checkout-once",
    ],
    options: [
      valueOption(
        "--budget <duration>",
        `begin no new schedule after this time (default: ${durationText(DEFAULT_BUDGET_MS)})`,
        parseDuration,
      ),
      valueOption(
        "--depth <count>",
        `number of faults in one schedule, at most (default: ${DEFAULT_DEPTH})`,
        parseWhole(1, MAX_DEPTH),
      ),
      valueOption("--seed <text>", "the same seed runs the same schedules (default: random)"),
      valueOption("--only <faults>", "run these faults alone: JSON, as the last line of a result shows it"),
      valueOption(
        "--write <file>",
        "write the faults of the first finding without a kill, for checkout exec --fault",
      ),
      valueOption(
        "--command-timeout <duration>",
        `timeout of each run of the command (default: ${durationText(DEFAULT_TIMEOUT_MS)})`,
        parseDuration,
      ),
    ],
    passThrough: true,
    run: (context, options, program = "", ...args) => runExplore(context, options, [program, ...args]),
  });
}

async function runExplore(
  context: Context,
  options: ExploreOptions,
  words: readonly string[],
): Promise<number> {
  const { world } = context;
  const only = options.only === undefined ? undefined : scheduleOf(options.only);
  const path = options.write === undefined ? undefined : resolvePath(world, options.write);
  using stop = untilStopped(world);
  const run = world.freshId().slice(-8);
  let purchases = 0;
  const serving = serveSandbox(
    context,
    { port: 0, quiet: true },
    {
      place: { folder: undefined, log: { writableNeedDrain: false, write: () => undefined } },
      use: async ({ ready: { base_url: baseUrl, control_token: token } }) => {
        const target = { origin: new URL(baseUrl).origin, token, version: context.version };
        const bench: CommandBench = {
          world,
          baseUrl,
          commandLine: words.map((word) => quote(word)).join(" "),
          timeoutMs: options.commandTimeout ?? DEFAULT_TIMEOUT_MS,
          signal: stop.signal,
          newOrderId: () => {
            purchases += 1;
            return `order-${run}-${purchases}`;
          },
          call: ({ storeId, ...call }) => callAt(context, { ...target, storeId }, call),
        };
        return search(context, bench, { ...options, only, words });
      },
    },
  );
  const result = unwrapHosting(await serving);
  // What checkout exec --fault can do.
  const first = result.broken.find(({ faults }) => faults.every(({ action }) => action !== KILL));
  if (path !== undefined && first !== undefined)
    world.files.write(path, `${JSON.stringify(first.faults.map(wireOf), null, 2)}\n`);
  await context.printer.result(jsonOf(result), () => textOf(result, context));
  return result.broken.length === 0 ? EXIT.done : EXIT.failed;
}

async function search(
  context: Context,
  bench: CommandBench,
  {
    budget: budgetMs = DEFAULT_BUDGET_MS,
    depth = DEFAULT_DEPTH,
    seed,
    only,
    words,
  }: Omit<ExploreOptions, "only"> & {
    readonly only: Schedule | undefined;
    readonly words: readonly string[];
  },
): Promise<SearchResult> {
  const { world, printer } = context;
  const { signal } = bench;
  let ran = 0;
  const broke: string[] = [];
  const found = await exploreAll({
    run: async (schedule) => {
      const run = await runCommand(bench, schedule);
      if (signal.aborted) throw new Refused(interruptedProblem(soFar(ran, broke)));
      ran += 1;
      const line = scheduleLine(schedule);
      broke.push(...brokenOf(run.judgement).map(({ invariant }) => `${invariant} by ${line}`));
      return run;
    },
    world,
    seed: seed ?? world.freshId().slice(-8),
    budgetMs,
    maxSchedules: undefined,
    depth,
    only,
    sideBySide: SIDE_BY_SIDE,
    hasKills: true,
    isPlace: ({ kind }) => kind === "request",
    hasView: false,
    rerunOf: (schedule) => rerunOf(context, schedule, words),
    onWave: ({ size, count }) =>
      printer.talk(`explore: ${count} schedules with ${size} ${size === 1 ? "fault" : "faults"}`),
  });
  if (!("why" in found)) return found;
  throw new Refused({
    exitCode: EXIT.notReady,
    code: "nothing_learned",
    message: found.why,
    next: "the command must create the order of CHECKOUT_ORDER_ID at CHECKOUT_BASE_URL with CHECKOUT_API_KEY, and exit with 0",
  });
}

/** The summary of an interrupted exploration: its findings are neither shrunk nor confirmed. */
function soFar(ran: number, broke: readonly string[]): string {
  const seen = broke.length === 0 ? "none" : [...new Set(broke)].join("; ");
  return ` after ${ran} schedules; broken so far: ${seen}`;
}

/** A fault as a file of faults contains it. */
function wireOf(fault: ScheduledFault): object {
  const { action, ...rest } = fault;
  if (action === KILL) return { action, match: fault.match ?? {} };
  return encodeRequest("addFault", { ...rest, action }) ?? {};
}

/** The schedule of `--only`: faults as in a file of faults, and kills. */
function scheduleOf(text: string): Schedule {
  const refused = (why: string): Refused =>
    refuseUsage(`--only ${why}`, `such as --only '[{"action":"lose_answer"}]'`);
  const json = parseJson(text);
  if (!Array.isArray(json)) throw refused("must be a JSON array of faults");
  const faults = json.map((one: unknown): ScheduledFault => {
    const isKill = typeof one === "object" && one !== null && "action" in one && one.action === KILL;
    const read = decodeRequest("addFault", isKill ? Object.assign(one, { action: "latency" }) : one);
    if (!read.ok) throw refused(`cannot be used: ${read.refusal.message}`);
    // A fault that the API takes has the fields of a fault of a schedule.
    const fault = read.value as ScheduledFault;
    return isKill ? Object.assign(fault, { action: KILL }) : fault;
  });
  return { ...NO_FAULTS, faults };
}

function rerunOf({ world }: Context, { faults }: Schedule, words: readonly string[]): string {
  const shell = shellOf(world.env);
  const only = optionToCopy("--only", JSON.stringify(faults.map(wireOf)), shell) ?? "--only <faults>";
  return `checkout explore ${only} -- ${words.map((word) => quote(word, shell)).join(" ")}`;
}

function jsonOf({ schedules, held, broken, notJudged, advice, seed }: SearchResult): object {
  return {
    schedules,
    held,
    broken: broken.map(({ faults, schedules: count, ...rest }) =>
      Object.assign(rest, { faults: faults.map(wireOf), schedules: count }),
    ),
    not_judged: notJudged,
    advice: advice.map(({ faults, text }) => ({ faults: faults.map(wireOf), text })),
    seed,
  };
}

function textOf(
  { schedules, held, broken, notJudged, seed }: SearchResult,
  { printer: { style, wrap } }: Context,
): string {
  const findings = broken.map(({ text, faults, story, rerun }) =>
    [
      wrap(`${style.red("✗")} ${text}`, 2),
      `  faults: ${printable(JSON.stringify(faults.map(wireOf)))}`,
      ...story.split("\n").map((line) => `    ${line}`),
      `  → ${printable(rerun)}`,
    ].join("\n"),
  );
  const reasons = [...new Set(notJudged.map(({ reason }) => reason))];
  const open = reasons.map((reason) => {
    const names = notJudged.filter((one) => one.reason === reason).map(({ invariant }) => invariant);
    return wrap(`  not judged: ${names.join(", ")}: ${reason}`, 4);
  });
  const mark = broken.length === 0 ? style.green("✓") : style.red("✗");
  const causes = broken.length === 1 ? "1 cause" : `${broken.length} causes`;
  const last = `${mark} ${schedules} schedules, ${held} held, ${causes} found (seed ${printable(seed)}); booked_once was not judged`;
  return [...findings, [...open, last].join("\n")].join("\n\n");
}
