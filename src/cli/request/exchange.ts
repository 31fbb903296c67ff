import type { Option } from "commander";
import type { ApiRequest, ExchangeObserver } from "../../client/api/exchange.ts";
import { displayHeader } from "../../core/request/redaction.ts";
import { printable } from "../../core/text.ts";
import type { OutboundResult } from "../../world.ts";
import { switchOption, type Context } from "../command.ts";
import { hasPlainOutput, widthOf } from "../printer.ts";
import { abortOnStop } from "../stopping.ts";

export function showHeadersOption(): Option {
  return switchOption(
    "--show-headers",
    "print requests and answers with their headers to stderr, secrets redacted",
  );
}

type Watch = { readonly signal: AbortSignal; readonly observer: ExchangeObserver };

const SPINNING_TERMINALS = new WeakSet<NodeJS.WritableStream>();

export async function runWithSpinner<Result>(
  { world, printer, around: { options } }: Context,
  run: (watch: Watch) => Promise<Result>,
  spinnerText = "Waiting for the service",
): Promise<Result> {
  using stop = abortOnStop(world);
  // At a terminal that reports a width of 0, ora divides by the width and never ends.
  const hasSpinner =
    options.json !== true && widthOf(world.stderr) > 0 && !hasPlainOutput(world) && world.isInteractive();
  const spinner =
    hasSpinner && !SPINNING_TERMINALS.has(world.stderr)
      ? await startSpinner(world.stderr, spinnerText)
      : undefined;
  if (spinner !== undefined) SPINNING_TERMINALS.add(world.stderr);
  const writeAboveSpinner = (write: (text: string) => void) => (text: string) => {
    spinner?.clear();
    write(text);
  };
  const [info, trace] = [writeAboveSpinner(printer.info), writeAboveSpinner(printer.trace)];
  const observer: ExchangeObserver = {
    onRetry: (cause, delayMs) =>
      info(printable(`${cause}; trying again in ${(delayMs / 1000).toFixed(1)} s`)),
    ...(options.showHeaders === true
      ? {
          onAttempt: (request: ApiRequest) => trace(redactRequest(request).text),
          onAnswer: (result: OutboundResult) => trace(formatAnswer(result)),
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

export function redactRequest(request: ApiRequest) {
  const headers = displayHeaders(request.headers);
  const body = request.body === undefined ? [] : [`> ${printable(request.body)}`];
  const text = [`> ${request.method} ${request.url}`, ...headerLines(">", headers), ...body].join("\n");
  return { headers, text };
}

function formatAnswer(result: OutboundResult): string {
  if (!result.ok) return `< ${result.failure}: ${printable(result.message)}`;
  const lines = headerLines("<", displayHeaders(result.headers));
  return [`< ${result.status}`, ...lines, `< ${printable(result.body)}`].join("\n");
}

type Headers = Readonly<Record<string, string>>;

function displayHeaders(headers: Headers): Headers {
  const shownHeaders = Object.entries(headers).map(([name, value]) => [name, displayHeader(name, value)]);
  return Object.fromEntries(shownHeaders);
}

function headerLines(mark: string, headers: Headers): string[] {
  return Object.entries(headers).map(([name, value]) => printable(`${mark} ${name}: ${value}`));
}

async function startSpinner(
  stream: NodeJS.WritableStream,
  text: string,
): Promise<{ clear: () => unknown; stop: () => unknown }> {
  const { default: ora } = await import("ora");
  // With discardStdin, the terminal would be in raw mode, and Ctrl-C would send no signal.
  return ora({ text, stream, discardStdin: false }).start();
}
