import type { Command } from "commander";
import type { LogStream } from "../../sandbox/runtime/access-log.ts";
import type { ProgramEnd, StopSignal } from "../../world.ts";
import { register, valueOption, type CommonOptions, type Context, type Registry } from "../command.ts";
import { withConfig } from "../config/start-settings.ts";
import { setting } from "../option-rules.ts";
import { parseWhole } from "../parsers.ts";
import { accept } from "../../core/outcome.ts";
import { EXIT, fail, type Ending } from "../problem.ts";
import { serveSandbox, type Served, type ServeOptions } from "./serve.ts";
import { configOption, servingSettings } from "./start.ts";

type ExecOptions = CommonOptions & Omit<ServeOptions, "adopt"> & { readonly config?: string };

/** `checkout exec -- npm test`. */
export function registerExec(parent: Command, registry: Registry): void {
  register<ExecOptions>(parent, registry, {
    name: "exec <command> [arguments...]",
    summary: "run a command with a fresh sandbox of its own, and end with its exit code",
    examples: ["checkout exec -- npm test", "checkout exec --rate-limit 5/s -- node --test"],
    options: [
      // A variable that tells the port of the folder's sandbox must not make this one take that port.
      valueOption("--port <port>", "port to listen on (default: any free one)", parseWhole(0, 65_535)),
      ...[configOption(), ...servingSettings()].map((option) => setting("CHECKOUT_SANDBOX", option)),
    ],
    passThrough: true,
    run: runExec,
  });
}

/** What a shell adds to the number of the signal that ended a command. */
const KILLED_BY = 128;
const SIGNAL_NUMBERS: Readonly<Record<StopSignal, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

/** Runs a program beside a sandbox in memory. stdout is the program's alone. */
async function runExec(
  context: Context,
  options: ExecOptions,
  program = "",
  ...args: string[]
): Promise<Ending> {
  const { world } = context;
  let stopped: StopSignal | undefined;
  // Registered first, and kept to the end, so that no signal ends the sandbox before the program.
  world.onStop((signal) => (stopped ??= signal));
  const log = keptLog();
  let reached = false;
  const configured = await withConfig(context, { ...options, port: options.port ?? 0 });
  if (!configured.ok) return configured;
  const ending = await serveSandbox(context, configured.value, {
    place: { folder: undefined, log },
    use: async (served) => {
      reached = true;
      if (stopped !== undefined) return accept(KILLED_BY + SIGNAL_NUMBERS[stopped]);
      return endingOf(program, await world.runProgram({ program, args, env: environmentOf(served) }));
    },
  });
  if (ending.ok && ending.value !== EXIT.done && options.quiet !== true) showLog(context, log.text());
  if (ending.ok || reached || ending.refusal.exitCode === EXIT.usage) return ending;
  return fail({ ...ending.refusal, exitCode: EXIT.unreachable });
}

function endingOf(program: string, end: ProgramEnd): Ending {
  switch (end.ending) {
    case "exited":
      return accept(end.exitCode);
    case "killed":
      return accept(KILLED_BY + end.signalNumber);
    case "not_found":
      return fail({
        exitCode: EXIT.notFound,
        code: "command_not_found",
        message: `there is no command ${JSON.stringify(program)} (${end.message})`,
        next: 'check its name and PATH; a command line for the shell is: checkout exec -- sh -c "…"',
      });
    case "not_executable":
      return fail({
        exitCode: EXIT.notExecutable,
        code: "command_not_executable",
        message: `${JSON.stringify(program)} cannot be run (${end.message})`,
        next: "check that it is a program, and that you may execute it",
      });
  }
}

/** Variables that say where another service or its state is, and with which secrets. */
const ELSEWHERE = [
  "CHECKOUT_BASE_URL",
  "CHECKOUT_API_KEY",
  "CHECKOUT_STORE_ID",
  "CHECKOUT_SIGNING_SECRET",
  "CHECKOUT_CONTROL_TOKEN",
  "CHECKOUT_ADMIN_TOKEN",
  "CHECKOUT_DIR",
  "CHECKOUT_TARGET",
] as const;

/** What the program finds in its environment: this sandbox, and nothing of another one. */
function environmentOf({ ready }: Served): Record<string, string | undefined> {
  return {
    ...Object.fromEntries(ELSEWHERE.map((name) => [name, undefined])),
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key ?? undefined,
    CHECKOUT_STORE_ID: ready.store_id,
    CHECKOUT_SIGNING_SECRET: ready.signing_secret,
    CHECKOUT_CONTROL_TOKEN: ready.control_token,
  };
}

/** How much of the log is kept, in characters: about 2,000 requests. */
const MAX_LOG_LENGTH = 256 * 1024;

/** A log in memory; of a long one the end is kept, from the beginning of a line. */
function keptLog(): LogStream & { readonly text: () => string } {
  let kept = "";
  let isWhole = true;
  const cut = (): void => {
    if (kept.length <= MAX_LOG_LENGTH) return;
    kept = kept.slice(kept.indexOf("\n", kept.length - MAX_LOG_LENGTH) + 1);
    isWhole = false;
  };
  return {
    writableNeedDrain: false,
    write: (text) => {
      kept += text;
      if (kept.length > 2 * MAX_LOG_LENGTH) cut();
    },
    text: () => {
      cut();
      return isWhole ? kept : `(the beginning of the log was dropped)\n${kept}`;
    },
  };
}

/** A program that failed without a request has perhaps not used its environment. */
function showLog({ printer }: Context, text: string): void {
  printer.trace(text === "" ? "checkout exec: no request reached its sandbox" : text.trimEnd());
}
