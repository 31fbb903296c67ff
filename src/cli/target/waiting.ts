import { DEFAULT_RETRY_POLICY, retryDelayMs } from "../../client/api/retry.ts";
import type { ApiRequest, ExchangeObserver } from "../../client/api/exchange.ts";
import { redactKey } from "../../core/credential.ts";
import { isSecretHeader } from "../../core/request/redaction.ts";
import { printable } from "../../core/text.ts";
import type { OutboundResult } from "../../world.ts";
import type { Context } from "../command.ts";
import { hasPlainOutput, widthOf } from "../printer.ts";
import { interruptedProblem, NO_SANDBOX, Refused, catchRefusal } from "../problem.ts";
import { abortOnStop } from "../stopping.ts";
import { limitFromVariable } from "./options.ts";

/** As long as a request is retried; also while none runs, if the user asks for retries. */
export async function awaitSandbox<Seen>(
  context: Context,
  { look, isThere }: { readonly look: () => Seen; readonly isThere: (seen: Seen) => boolean },
): Promise<Seen> {
  const { sleep, random, env } = context.world;
  const { around } = context;
  const { options } = around;
  const wanted = options.retries ?? limitFromVariable(env, "retries");
  const first = look();
  const isExpected = wanted !== undefined || catchRefusal(around.run).value !== undefined;
  if (isThere(first) || !isExpected) return first;
  const retries = wanted ?? DEFAULT_RETRY_POLICY.retries;
  return runWithSpinner(context, async ({ signal, observer }) => {
    let seen = first;
    for (let tries = 1; tries <= retries && !isThere(seen); tries += 1) {
      const delayMs = retryDelayMs(tries, { random: random(), retryAfterMs: 0 });
      observer.onRetry?.(NO_SANDBOX, delayMs);
      await sleep(delayMs, signal);
      if (signal.aborted) throw new Refused(interruptedProblem());
      around.reload();
      seen = look();
    }
    return seen;
  });
}

type Watch = { readonly signal: AbortSignal; readonly observer: ExchangeObserver };

/** Terminals with a spinner: one spinner is enough for several waits. */
const SPINNING_TERMINALS = new WeakSet<NodeJS.WritableStream>();

/** Runs an exchange, with a spinner at a terminal; Ctrl-C aborts it. */
export async function runWithSpinner<Result>(
  { world, printer, around: { options } }: Context,
  run: (watch: Watch) => Promise<Result>,
): Promise<Result> {
  using stop = abortOnStop(world);
  // At a terminal that reports a width of 0, ora divides by the width and never ends.
  const spins =
    options.json !== true && widthOf(world.stderr) > 0 && !hasPlainOutput(world) && world.isInteractive();
  const spinner =
    spins && !SPINNING_TERMINALS.has(world.stderr) ? await startSpinner(world.stderr) : undefined;
  if (spinner !== undefined) SPINNING_TERMINALS.add(world.stderr);
  const above = (write: (text: string) => void) => (text: string) => {
    spinner?.clear();
    write(text);
  };
  const [talk, trace] = [above(printer.talk), above(printer.trace)];
  const observer: ExchangeObserver = {
    onRetry: (why, delayMs) => talk(printable(`${why}; trying again in ${(delayMs / 1000).toFixed(1)} s`)),
    ...(options.showHeaders === true
      ? {
          onAttempt: (request: ApiRequest) => trace(redactRequest(request).text),
          onAnswer: (result: OutboundResult) => trace(showAnswer(result)),
        }
      : {}),
  };
  try {
    return await run({ signal: stop.signal, observer });
  } finally {
    if (spinner !== undefined) SPINNING_TERMINALS.delete(world.stderr);
    spinner?.stop();
  }
}

export function redactRequest(request: ApiRequest): {
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
  // With discardStdin, the terminal would be in raw mode, and Ctrl-C would send no signal.
  return ora({ text: "Waiting for the service", stream, discardStdin: false }).start();
}
