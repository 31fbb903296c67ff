import { toIso } from "../../core/clock.ts";
import { servedSettingTexts, type ServedSettings } from "../../core/config/settings.ts";
import { snakeCase, printable } from "../../core/text.ts";
import { localOrigin } from "../../core/loopback.ts";
import type { RunRecord } from "../../core/state-files.ts";
import { register, startCommand, valueOption, type Context, type Group } from "../command.ts";
import { findHiddenHolder } from "../../host/folder/hold.ts";
import { noteTarget, noteVersion } from "../target/notes.ts";
import { baseUrlOf, shortPath } from "../../host/folder/state-folder.ts";
import { bindToVariable } from "../option-rules.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import { parseDuration } from "../parsers.ts";
import { fieldLines } from "../printer.ts";
import {
  catchRefusal,
  EXIT,
  interruptedProblem,
  NO_SANDBOX,
  RUN_THERE_HINT,
  Refused,
  refuseUsage,
} from "../problem.ts";
import { activeFaultsText } from "./ready.ts";
import { fetchHealth, fetchRunningSandbox, refuseProjectFolder } from "./running.ts";
import { abortOnStop } from "../stopping.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { durationText } from "../../core/duration.ts";
import { output, type ResultOf } from "../output/output.ts";

type Status = ResultOf<"status">;

export function registerSandboxStatus(group: Group): void {
  register(group, {
    name: "status",
    usesStore: false,
    summary: "show whether this folder's sandbox is running, and where; exit 0 if it is, 7 if not",
    exitCodes: { 0: "running", 7: "not running" },
    examples: ["checkout sandbox status", "checkout sandbox status --json"],
    run: runStatus,
  });
}

async function runStatus(context: Context): Promise<number> {
  const { printer, around } = context;
  const folder = around.folder();
  const run = around.run();
  noteTarget(context);
  const { status, servedSettings } = await statusOf(context, folder, run);
  await printer.result(output("status", status), () => statusText(context, status, servedSettings));
  return status.running ? EXIT.done : EXIT.unreachable;
}

type StatusResult = { readonly status: Status; readonly servedSettings?: ServedSettings };

async function statusOf(context: Context, folder: string, run: RunRecord | undefined): Promise<StatusResult> {
  const unknownFields = {
    running: false,
    data_dir: folder,
    base_url: null,
    pid: null,
    version: null,
    started_at: null,
    log_file: null,
    held_back: null,
    hold: null,
    active_faults: null,
    instance_id: null,
    settings: null,
    problem: null,
  };
  if (run === undefined) {
    const holder = await findHiddenHolder(context.world, folder);
    if (holder === undefined) refuseProjectFolder(context, "status");
    const problem = holder === undefined ? null : `${holder} serves it`;
    return { status: { ...unknownFields, state: "stopped", problem } };
  }
  const { pid, version = null } = run;
  const fields = { ...unknownFields, pid, version, base_url: baseUrlOf(run) ?? null };
  if (run.port === null) return { status: { ...fields, state: "starting" } };
  const outcome = await catchRefusal(fetchRunningSandbox(context, run));
  if (outcome.ok) {
    const { description } = outcome.value;
    const { settings: servedSettings } = description;
    const settings = Object.entries(servedSettings).map(([name, value]) => [snakeCase(name), value] as const);
    const status: Status = {
      ...fields,
      base_url: description.baseUrl,
      started_at: toIso(description.startedAt),
      log_file: description.logFile,
      held_back: description.heldBack,
      hold: description.hold,
      active_faults: description.activeFaults,
      instance_id: description.instanceId,
      settings: Object.fromEntries(settings),
      state: "running",
      running: true,
    };
    return { status, servedSettings };
  }
  const isRunning = outcome.refusal.code === "other_version";
  const state = isRunning ? "running" : "not_responding";
  const problem = outcome.refusal.message;
  return { status: { ...fields, state, running: isRunning, problem } };
}

function statusText(
  { world, printer: { style } }: Context,
  status: Status,
  settings: ServedSettings | undefined,
): string {
  const { state, log_file: logFile, started_at: since, problem } = status;
  const folder = shortPath(world, status.data_dir);
  const settingTexts = settings === undefined ? [] : servedSettingTexts(settings);
  if (state === "stopped") {
    const startHint = problem === null ? startCommand(world, status.data_dir) : RUN_THERE_HINT;
    const reasonText = problem === null ? "" : `: ${problem}`;
    return `${style.dim("○")} ${NO_SANDBOX} (${printable(folder)})${reasonText}\n  ${style.cyan("→")} ${startHint}`;
  }
  const headings = {
    running: `${style.green("●")} the sandbox is running`,
    starting: `${style.dim("○")} the sandbox is starting`,
    not_responding: `${style.red("✗")} the sandbox does not answer`,
  };
  return [
    headings[state],
    fieldLines([
      ["API", status.base_url],
      ["State", folder],
      ["Pid", status.pid],
      ["Version", status.version],
      ...(since === null
        ? []
        : ([
            ["Since", since],
            ["Log", logFile === null ? "in its terminal" : shortPath(world, logFile)],
            ["Deliveries", status.held_back === null ? "on" : `held: ${status.held_back}`],
          ] as const)),
      ["Faults", activeFaultsText(status.active_faults)],
      ...settingTexts.map(
        ({ name, text, isDefault }) => [snakeCase(name), isDefault ? undefined : text] as const,
      ),
      ["Problem", problem ?? undefined],
    ]),
  ].join("\n");
}

type WaitOptions = CommonOptions & { readonly baseUrl?: string; readonly timeout?: number };

const DEFAULT_WAIT_MS = 30_000;
const CHECK_INTERVAL_MS = 100;
const CHECK_TIMEOUT_MS = 2000;

export function registerSandboxWait(group: Group): void {
  register<WaitOptions>(group, {
    name: "wait",
    usesStore: false,
    summary: "wait until the sandbox is ready; exit 7 on timeout",
    exitCodes: { 7: "not ready in time" },
    examples: [
      "checkout sandbox wait",
      "checkout sandbox wait --timeout 2m --base-url http://127.0.0.1:4242/v1",
    ],
    options: [
      valueOption(
        "--timeout <duration>",
        { text: "maximum time to wait", default: durationText(DEFAULT_WAIT_MS) },
        parseDuration,
      ),
      bindToVariable(
        "CHECKOUT",
        valueOption("--base-url <url>", {
          text: "base URL of the service, with its version segment",
          default: "this folder's sandbox",
        }),
      ),
    ],
    run: runWait,
  });
}

type HealthCheck = { readonly baseUrl: string; readonly run?: RunRecord } | { readonly reason: string };

async function runWait(context: Context, options: WaitOptions): Promise<number> {
  const { world, printer } = context;
  const { timeout = DEFAULT_WAIT_MS } = options;
  using stop = abortOnStop(world);
  const { signal } = stop;
  const startedAt = world.monotonic();
  for (;;) {
    const checkTimeLeftMs = timeout - (world.monotonic() - startedAt);
    const check = await checkHealth(context, options, {
      timeoutMs: Math.max(1, Math.min(CHECK_TIMEOUT_MS, checkTimeLeftMs)),
      signal,
    });
    if (signal.aborted) throw new Refused(interruptedProblem());
    if ("baseUrl" in check) {
      noteTarget(context, check.baseUrl);
      if (check.run !== undefined) noteVersion(context, check.run.version);
      return await printer.result(
        output("reachable", { ok: true, base_url: check.baseUrl }),
        () => `ready: ${check.baseUrl}`,
      );
    }
    const remainingMs = timeout - (world.monotonic() - startedAt);
    if (remainingMs <= 0) throw refuseNotReady(timeout, check.reason);
    await world.sleep(Math.min(CHECK_INTERVAL_MS, remainingMs), signal);
  }
}

async function checkHealth(
  context: Context,
  options: WaitOptions,
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<HealthCheck> {
  const location = locateSandbox(context, options);
  if ("reason" in location) return location;
  const { baseUrl } = location;
  const exchange = await fetchHealth(context.world, new URL(baseUrl).origin, limits);
  if (!exchange.ok) return { reason: `${baseUrl}: ${exchange.message}` };
  if (exchange.status === 200) return location;
  return { reason: `${baseUrl}: /healthz answered ${exchange.status}` };
}

function locateSandbox({ around }: Context, options: WaitOptions): HealthCheck {
  if (options.baseUrl !== undefined) {
    const baseUrl = parseBaseUrl(options.baseUrl);
    if (baseUrl !== undefined) return { baseUrl };
    // The value is not shown, because it may contain a password.
    const expectedText = "an address such as http://127.0.0.1:4242/v1, without user name, password or query";
    throw refuseUsage(`--base-url (CHECKOUT_BASE_URL) must be ${expectedText}`, "correct the address");
  }
  around.reload();
  const folder = around.folder();
  const run = around.run();
  if (run === undefined) return { reason: `${NO_SANDBOX} (${folder})` };
  const { pid, port } = run;
  if (port === null) return { reason: `the sandbox is starting (pid ${pid})` };
  return { baseUrl: `${localOrigin(port)}/v1`, run };
}

function refuseNotReady(timeoutMs: number, reason: string): Refused {
  const message = `the sandbox was not ready within ${durationText(timeoutMs)}; last seen: ${reason}`;
  const next = "start it: checkout sandbox start --detach; or wait longer with --timeout";
  return new Refused({ exitCode: EXIT.unreachable, code: "not_ready", message, next });
}
