import { toIso } from "../core/clock.ts";
import { resolve } from "node:path";
import { loadConfig, loadConfigText } from "../host/config/load.ts";
import { settingsWithLoadedConfig } from "../host/config/start-settings.ts";
import { stateFile } from "../host/folder/files.ts";
import { checkFolderTrust } from "../host/folder/trust.ts";
import { usageFailure, type HostFailure } from "../host/failure.ts";
import { parseConfig } from "../core/config/read.ts";
import { KIT_SETTING_NAMES, settingOptionsOf } from "../core/config/settings.ts";
import { camelCase, snakeCase } from "../core/text.ts";
import { isError, type Outcome } from "../core/outcome.ts";
import type { GuestWorld } from "../world.ts";
import { TIMEOUT_RULE } from "./call-options.ts";
import { StartError } from "./errors.ts";
import { SILENT_OUTPUT, type InProcessOptions } from "./in-process.ts";
import { createSeededSource } from "./seeded.ts";
import type { SandboxOptions } from "./types.ts";
import type { ServeOptions } from "../host/options.ts";
import { parseDurationText } from "../core/duration.ts";

/** The default time at which a seed freezes the clocks. */
const DEFAULT_SEEDED_TIME = Date.UTC(2026, 0, 1);

/** Other names are refused, because a misspelled option would silently have its default. */
const OPTION_NAMES: ReadonlySet<string> = new Set<keyof SandboxOptions>([
  "state",
  ...KIT_SETTING_NAMES,
  "seed",
  "now",
  "config",
  "waitTimeoutMs",
]);

const DEFAULT_WAIT_MS = 5000;

/** Applies the same checks as the command line and the configuration. Rejects with a StartError. */
export async function parseOptions(
  guest: GuestWorld,
  options: SandboxOptions,
): Promise<InProcessOptions & { readonly world: GuestWorld }> {
  const unknownName = Object.keys(options).find((name) => !OPTION_NAMES.has(name));
  if (unknownName !== undefined)
    throw optionError(unknownName, `is not an option; the options are ${[...OPTION_NAMES].join(", ")}`);
  const { seed, waitTimeoutMs = DEFAULT_WAIT_MS } = options;
  const [expectedText, isTimeout] = TIMEOUT_RULE;
  if (!isTimeout(waitTimeoutMs)) throw optionError("waitTimeoutMs", `must be ${expectedText}`);
  if (seed !== undefined && (typeof seed !== "string" || seed === ""))
    throw optionError("seed", "must be a text");
  const folder = folderOf(guest, options);
  const frozenAt = frozenTimeOf(options);
  const settings = await settingsOf(guest, options);
  const { port = seed === undefined ? 0 : null } = {
    ...settings,
    ...(options.port === undefined ? {} : { port: options.port }),
  };
  // Existing state may already contain ids from this seed, so its new ids are random.
  const isNew = folder === undefined || !guest.files.exists(stateFile(folder, "database"));
  const { renew, ...source } =
    seed === undefined || !isNew
      ? { renew: () => undefined }
      : createSeededSource(seed, frozenAt ?? DEFAULT_SEEDED_TIME);
  return {
    ...settings,
    rateLimit: settings.rateLimit ?? "off",
    // With concurrent deliveries, the order of the answers would differ from run to run.
    ...(seed === undefined ? {} : { deliveriesInFlight: settings.deliveriesInFlight ?? 1 }),
    port: port ?? 0,
    quiet: true,
    ...(frozenAt === undefined ? {} : { startClock: { offsetMs: 0, frozenAt } }),
    folder,
    hasSocket: port !== null,
    renewSeed: renew,
    waitTimeoutMs,
    // Environment variables configure commands, not the kit.
    world: { ...guest, env: {}, ...source },
  };
}

function optionError(name: string, message: string): StartError {
  const { refusal } = usageFailure(`startSandbox: ${name} ${message}`, "correct it; nothing was started");
  return new StartError(refusal);
}

function unwrap<Value>(outcome: Outcome<Value, HostFailure>): Value {
  if (outcome.ok) return outcome.value;
  throw new StartError(outcome.refusal);
}

function folderOf(world: GuestWorld, { state = "memory" }: SandboxOptions): string | undefined {
  if (state === "memory") return undefined;
  if (typeof state.folder !== "string" || state.folder === "")
    throw optionError("state", 'must be "memory", or { folder: PATH }');
  const folder = resolve(world.cwd, state.folder);
  unwrap(checkFolderTrust(world, folder, {}));
  return folder;
}

function frozenTimeOf({
  seed,
  now = seed === undefined ? "real" : toIso(DEFAULT_SEEDED_TIME),
}: SandboxOptions): number | undefined {
  if (now === "real") return undefined;
  try {
    return parseMomentOption(now);
  } catch (error) {
    throw optionError("now", isError(error) ? `is wrong: ${error.message}` : "is wrong");
  }
}

async function settingsOf(world: GuestWorld, options: SandboxOptions): Promise<ServeOptions> {
  const givenSettings = settingsIn(options);
  const { config } = options;
  if (config === undefined) return givenSettings;
  const loadedConfig =
    typeof config === "string"
      ? loadConfig(world, { config })
      : loadConfigText(world, "config", JSON.stringify(config, null, 2));
  const file = unwrap(await loadedConfig);
  if (file === undefined) throw optionError("config", "must be a configuration, or the path of one");
  return unwrap(await settingsWithLoadedConfig({ world, printer: SILENT_OUTPUT }, givenSettings, file));
}

function settingsIn(options: SandboxOptions): ServeOptions {
  // The configuration has no equivalent of `port: null` (no socket).
  const givenFields = KIT_SETTING_NAMES.flatMap((name) =>
    options[name] === null ? [] : [[snakeCase(name), options[name]]],
  );
  const parsedConfig = parseConfig(JSON.stringify({ sandbox: Object.fromEntries(givenFields) as object }));
  if (parsedConfig.ok) return settingOptionsOf(parsedConfig.value.config.sandbox ?? {});
  const [fault] = parsedConfig.refusal;
  throw optionError(
    camelCase(fault?.field.replace("sandbox.", "") ?? ""),
    fault?.why ?? fault?.message ?? "is wrong",
  );
}

/** Returns milliseconds. Throws a TypeError if the span is invalid. */
export function parseSpanOption(span: string | number): number {
  const milliseconds = typeof span === "number" ? span : parseDurationText(span);
  if (milliseconds === undefined || !Number.isSafeInteger(milliseconds) || milliseconds <= 0)
    throw new TypeError(
      `a span is a text such as 30m, or whole milliseconds above 0; got ${JSON.stringify(span)}`,
    );
  return milliseconds;
}

/** Returns milliseconds since the epoch. Throws a TypeError if the time is invalid. */
export function parseMomentOption(moment: string | Date): number {
  const milliseconds = typeof moment === "string" ? Date.parse(moment) : moment.getTime();
  const hasZone = typeof moment !== "string" || ZONED_TIME.test(moment);
  if (!hasZone || Number.isNaN(milliseconds))
    throw new TypeError(
      `a time is ISO 8601 with its zone, such as ${toIso(0)}; got ${JSON.stringify(moment)}`,
    );
  return milliseconds;
}

/** Requires a zone, because a time without one would depend on the machine's zone. */
const ZONED_TIME = /^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:?\d\d)$/i;
