import { DEFAULT_RETRY_POLICY, retryDelayMs } from "../client/api/retry.ts";
import { isLoopback, isSameServer } from "../core/loopback.ts";
import type { Option } from "commander";
import type { Target } from "../client/api/client.ts";
import type { ControlTarget } from "../client/control/control.ts";
import type { ApiRequest, Observer } from "../client/api/exchange.ts";
import { redactKey } from "../core/credential.ts";
import { isSecretHeader } from "../core/request/redaction.ts";
import { accept, refuse, type Outcome } from "../core/outcome.ts";
import { printable } from "../core/text.ts";
import type { OutboundResult, World } from "../world.ts";
import { readVariable, repeatedOption, switchOption, valueOption, type Context } from "./command.ts";
import { setting } from "./option-rules.ts";
import { noteTarget, noteVersion } from "./target/notes.ts";
import { parseDuration, parseWhole } from "./parsers.ts";
import { durationText } from "./../core/config/setting-text.ts";
import { isPlain, widthOf } from "./printer.ts";
import { fail, failUsage, interruptedProblem, NO_SANDBOX, type Problem } from "./problem.ts";
import { resolveSettings, targetOf, type ServiceOptions, type Settings } from "./settings.ts";

/** Which service is meant, and how patient the client is. */
export function targetOptions(): Option[] {
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  const options = [
    valueOption(
      "--timeout <duration>",
      `timeout of each try (default: ${durationText(timeoutMs)})`,
      parseDuration,
    ),
    valueOption("--retries <n>", `retries after the first try (default: ${retries})`, parseWhole(0, 100)),
  ];
  return [...serviceOptions(), allowEnvOption(), ...options.map((option) => setting("CHECKOUT", option))];
}

function allowEnvOption(): Option {
  return repeatedOption(
    "--allow-env <name>",
    "send this variable as the key of --target, from this folder to its address, now and later (decision 85)",
    parseVariableName,
  );
}

function parseVariableName(text: string): Outcome<string> {
  if (/^[A-Za-z_]\w*$/.test(text)) return accept(text);
  return refuse("invalid_parameter", "Expected the name of a variable: letters, digits and _");
}

/** Which service is meant. */
export function serviceOptions(): Option[] {
  const options = [
    valueOption(
      "--base-url <url>",
      "the service, with its version segment (default: the live sandbox of this folder)",
    ),
    valueOption("--target <name>", "a service that checkout.config.json names"),
  ];
  return options.map((option) => setting("CHECKOUT", option));
}

/** What a variable says of the client's patience, for commands that have no option for it; undefined: nothing. */
export function patienceIn(
  env: World["env"],
  name: "timeout" | "retries",
): Outcome<number | undefined, Problem> {
  const option = targetOptions().find((candidate) => candidate.name() === name);
  const read = option === undefined ? accept(undefined) : readVariable(option, env);
  return read.ok ? accept(typeof read.value === "number" ? read.value : undefined) : read;
}

/** For commands that send. */
export function showHeadersOption(): Option {
  return switchOption(
    "--show-headers",
    "show requests and answers with their headers, secrets redacted, on stderr",
  );
}

/** The service that a command talks to. Its key is kept out of all that is printed, and out of plain HTTP unless that is said. */
export function connect({ printer }: Context, settings: Settings): Outcome<Target, Problem> {
  const target = targetOf(settings);
  if (!target.ok) return target;
  const { baseUrl, apiKey, proxy } = target.value;
  printer.hide(apiKey);
  if (proxy !== undefined) printer.hidePassword(new URL(proxy).password);
  if (baseUrl.startsWith("http:") && !isLoopback(new URL(baseUrl).hostname)) {
    printer.trace(`warning: the API key goes to ${printable(baseUrl)} unencrypted; use https`);
  }
  return target;
}

/** A service that can be talked to, with the settings that led there. */
type Connected = { readonly target: Target; readonly settings: Settings };

/** The service that the options name, or the sandbox of the folder once it is there. */
export async function connectTo(
  context: Context,
  options: ServiceOptions,
): Promise<Outcome<Connected, Problem>> {
  const connected = await connectWith(context, options);
  const url = connected.ok ? connected.value.target.baseUrl : undefined;
  if (url !== undefined) noteTarget(context, options, { url });
  return connected;
}

async function connectWith(context: Context, options: ServiceOptions): Promise<Outcome<Connected, Problem>> {
  const named = await readTarget(context, options);
  if (!named.ok) return named;
  const settings = await onceThere(context, named.value, {
    look: () => resolveSettings(context.world, named.value),
    // What contradicts itself will do so when the sandbox is there, too.
    isThere: ({ lacksSandbox, contradiction }) => lacksSandbox === undefined || contradiction !== undefined,
  });
  if (!settings.ok) return settings;
  const { sandbox } = settings.value;
  if (sandbox !== undefined && sandbox.version !== context.version) noteVersion(context, sandbox.version);
  const target = connect(context, settings.value);
  return target.ok ? accept({ target: target.value, settings: settings.value }) : target;
}

/** The options with what `--target` names; the configuration is loaded only where it is given. */
export async function readTarget<Options extends ServiceOptions>(
  context: Pick<Context, "world" | "printer">,
  options: Options,
): Promise<Outcome<Options, Problem>> {
  if (options.target === undefined) {
    return options.allowEnv === undefined
      ? accept(options)
      : failUsage("--allow-env needs --target", "add --target <name>, or leave out --allow-env");
  }
  const { withTarget } = await import("./target/named-target.ts");
  return withTarget(context, { name: options.target, options });
}

/** v1 of the very sandbox that a command controls. A key that the environment has for another service stays here. */
export function connectToSandbox(
  context: Context,
  options: ServiceOptions,
  { origin, storeId }: ControlTarget,
): Promise<Outcome<Connected, Problem>> {
  // The sandbox is meant, whatever service the environment names.
  const { target: _target, ...own } = options;
  const found = storeId === undefined ? {} : { foundStore: storeId };
  const { env } = context.world;
  const named = env["CHECKOUT_BASE_URL"] || origin;
  const isNamed = URL.canParse(named) && isSameServer(named, origin);
  const others = { CHECKOUT_API_KEY: undefined, CHECKOUT_STORE_ID: undefined };
  const world = isNamed ? context.world : { ...context.world, env: { ...env, ...others } };
  return connectWith({ ...context, world }, { ...own, baseUrl: `${origin}/v1`, ...found });
}

/**
 * Looks for the sandbox of the folder until it is there, as often as a request is tried: it may be starting. What was
 * seen last is the result, for the caller to judge.
 */
export async function onceThere<Seen>(
  context: Context,
  options: ServiceOptions,
  {
    look,
    isThere,
  }: { readonly look: () => Outcome<Seen, Problem>; readonly isThere: (seen: Seen) => boolean },
): Promise<Outcome<Seen, Problem>> {
  const { sleep, random, env } = context.world;
  const named = options.retries === undefined ? patienceIn(env, "retries") : accept(options.retries);
  if (!named.ok) return named;
  const { value: retries = DEFAULT_RETRY_POLICY.retries } = named;
  const isDone = (seen: Outcome<Seen, Problem>): boolean => !seen.ok || isThere(seen.value);
  const first = look();
  if (isDone(first)) return first;
  return whileWaiting(context, options, async ({ signal, observer }) => {
    let seen = first;
    for (let tries = 1; tries <= retries && !isDone(seen); tries += 1) {
      const delayMs = retryDelayMs(tries, { random: random(), retryAfterMs: 0 });
      observer.onRetry?.(NO_SANDBOX, delayMs);
      await sleep(delayMs, signal);
      if (signal.aborted) return fail(interruptedProblem());
      seen = look();
    }
    return seen;
  });
}

/** What an exchange is given while a command waits for it. */
type Watch = { readonly signal: AbortSignal; readonly observer: Observer };

/** The terminals that have a spinner: one is enough for all that is waited for. */
const SPINNING = new WeakSet<NodeJS.WritableStream>();

/** Runs an exchange with a spinner where someone looks on; Ctrl-C aborts it. */
export async function whileWaiting<Result>(
  { world, printer }: Pick<Context, "world" | "printer">,
  options: ServiceOptions,
  run: (watch: Watch) => Promise<Result>,
): Promise<Result> {
  const interruption = new AbortController();
  const unsubscribe = world.onStop(() => interruption.abort());
  // Where a terminal says that it is 0 wide, ora divides by that and never ends.
  const spins = world.interactive && options.json !== true && widthOf(world.stderr) > 0 && !isPlain(world);
  const spinner = spins && !SPINNING.has(world.stderr) ? await startSpinner(world.stderr) : undefined;
  if (spinner !== undefined) SPINNING.add(world.stderr);
  const above = (write: (text: string) => void) => (text: string) => {
    spinner?.clear();
    write(text);
  };
  const [talk, trace] = [above(printer.talk), above(printer.trace)];
  const observer: Observer = {
    onRetry: (why, delayMs) => talk(printable(`${why}; trying again in ${(delayMs / 1000).toFixed(1)} s`)),
    ...(options.showHeaders === true
      ? {
          onTry: (request: ApiRequest) => trace(showRequest(request).text),
          onAnswer: (result: OutboundResult) => trace(showAnswer(result)),
        }
      : {}),
  };
  try {
    return await run({ signal: interruption.signal, observer });
  } finally {
    if (spinner !== undefined) SPINNING.delete(world.stderr);
    spinner?.stop();
    unsubscribe();
  }
}

/** A request as it may be shown: the API key redacted. */
export function showRequest(request: ApiRequest): {
  readonly headers: Record<string, string>;
  readonly text: string;
} {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, redactHeader(name, value)]),
  );
  const lines = Object.entries(headers).map(([name, value]) => printable(`> ${name}: ${value}`));
  const body = request.body === undefined ? [] : [`> ${printable(request.body)}`];
  return { headers, text: [`> ${request.method} ${request.url}`, ...lines, ...body].join("\n") };
}

function showAnswer(result: OutboundResult): string {
  if (!result.ok) return `< ${result.failure}: ${printable(result.message)}`;
  const lines = Object.entries(result.headers).map(([name, value]) =>
    printable(`< ${name}: ${redactHeader(name, value)}`),
  );
  return [`< ${result.status}`, ...lines, `< ${printable(result.body)}`].join("\n");
}

function redactHeader(name: string, value: string): string {
  if (name.toLowerCase() === "authorization") return `Bearer ${redactKey(value.replace(/^Bearer /, ""))}`;
  return isSecretHeader(name) || /^proxy-/i.test(name) ? "…" : value;
}

async function startSpinner(
  stream: NodeJS.WritableStream,
): Promise<{ clear: () => unknown; stop: () => unknown }> {
  const { default: ora } = await import("ora");
  // Without discardStdin the terminal would be in raw mode, and Ctrl-C no signal.
  return ora({ text: "Waiting for the service", stream, discardStdin: false }).start();
}
