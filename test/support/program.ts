import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { main } from "../../src/cli/main.ts";
import type { ReadyMessage } from "../../src/host/ready.ts";
import type { World } from "../../src/world.ts";
import { REAL } from "./real.ts";

/** The real binary, as npx runs it; `npm test` builds it first. */
export const PROGRAM = join(import.meta.dirname, "../../bin/checkout.cjs");

export type Result = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export type RunOptions = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** The program is killed after this time, and its exit code is null. */
  readonly timeoutMs?: number;
  /** A program and its first arguments, to run instead of the binary of this repository's package. */
  readonly command?: readonly string[];
};

/** Runs one command line of the real binary to its end. */
export async function run(args: readonly string[], options: RunOptions): Promise<Result> {
  const child = spawnProgram(args, options);
  const output = collect(child);
  // The program may end, or be killed, before it has read its input.
  child.stdin?.on("error", () => undefined).end(options.input ?? "");
  const timer =
    options.timeoutMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), options.timeoutMs);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  return { code, ...output };
}

/**
 * Runs a command line in this process, from the sources, for the parts of a test that are not its subject. A separate
 * process takes ten times as long.
 */
export async function runHere(
  args: readonly string[],
  { cwd, env }: Pick<RunOptions, "cwd" | "env">,
): Promise<Result> {
  const output = { stdout: "", stderr: "" };
  const collector = (name: keyof typeof output): Writable =>
    new Writable({
      write: (bytes: Buffer, _encoding, done) => {
        output[name] += bytes.toString();
        done();
      },
    });
  const [stdout, stderr] = [collector("stdout"), collector("stderr")];
  const code = await main({ ...worldHere({ cwd, env }), argv: args, stdout, stderr });
  return { code, ...output };
}

/** A command line that keeps running in this process. */
type RunningHere = {
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly firstLine: Promise<void>;
  /** The exit code. */
  readonly ended: Promise<number>;
  /** Stops the command as a signal does, and waits for its end; returns the exit code. */
  readonly stop: () => Promise<number>;
};

/** A sandbox that is served in this process. */
export type SandboxHere = RunningHere & { readonly ready: ReadyMessage; readonly port: number };

/** The standard input of a command line in this process (default: empty), and replaced parts of its world. */
type InputOptions = { readonly stdin?: Readable; readonly world?: Partial<World> };

/** Starts a command line in this process, from the sources, without waiting. The command ends with the test. */
export function beginHere(
  args: readonly string[],
  { cwd, env, stdin, world: other }: Pick<RunOptions, "cwd" | "env"> & InputOptions,
): RunningHere {
  const stops = new Set<(signal: "SIGTERM") => void>();
  const onStop: World["onStop"] = (stop) => {
    stops.add(stop);
    return () => stops.delete(stop);
  };
  const output = { stdout: "", stderr: "" };
  const firstLine = Promise.withResolvers<void>();
  const collector = (name: keyof typeof output): Writable =>
    new Writable({
      write: (bytes: Buffer, _encoding, done) => {
        output[name] += bytes.toString();
        if (output.stdout.includes("\n")) firstLine.resolve();
        done();
      },
    });
  const world = { ...worldHere({ cwd, env }), ...other };
  const ended = main({
    ...world,
    argv: args,
    stdin: stdin === undefined ? world.stdin : () => stdin,
    stdout: collector("stdout"),
    stderr: collector("stderr"),
    onStop,
  });
  const stop = (): Promise<number> => {
    for (const one of stops) one("SIGTERM");
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  return { output, ended, stop, firstLine: firstLine.promise };
}

/**
 * Starts a command line in this process, from the sources, and waits for its first line: for tests whose subject is not
 * the process. A separate process takes ten times as long. The command ends with the test.
 */
export async function launchHere(
  args: readonly string[],
  options: Pick<RunOptions, "cwd" | "env">,
): Promise<RunningHere> {
  const running = beginHere(args, options);
  await Promise.race([running.firstLine, running.ended]);
  if (!running.output.stdout.includes("\n"))
    throw new Error(`the program did not start: ${running.output.stderr}`);
  return running;
}

/**
 * Starts a sandbox in this process, on a free port and with its state in the folder. The sandbox ends with the test.
 */
export async function startSandboxHere({
  args = [],
  ...options
}: Pick<RunOptions, "cwd" | "env"> & { readonly args?: readonly string[] }): Promise<SandboxHere> {
  const running = await launchHere(["sandbox", "start", "--json", "--port", "0", ...args], options);
  const ready = JSON.parse(running.output.stdout) as ReadyMessage;
  return { ...running, ready, port: Number(new URL(ready.base_url).port) };
}

/** The world of this process, for a program without a terminal, in a folder. */
function worldHere({ cwd, env }: { cwd: string; env: RunOptions["env"] | undefined }): World {
  return {
    ...REAL,
    cwd,
    env: { ...cleanEnvironment(), ...env },
    isInteractive: () => false,
    stdin: () => Readable.from([]),
  };
}

/** A program that keeps running. */
export type Process = {
  readonly process: ChildProcess;
  readonly output: { readonly stdout: string; readonly stderr: string };
  /**
   * The exit code, null after a signal; resolves when the whole output was read, which can be later than the end of the
   * process.
   */
  readonly ended: Promise<number | null>;
  /** Sends a signal to the process, and waits for its end; returns the exit code, null after SIGKILL. */
  readonly stop: (signal: "SIGTERM" | "SIGINT" | "SIGKILL") => Promise<number | null>;
};

export type SandboxProcess = Process & { readonly ready: ReadyMessage; readonly port: number };

/** Starts the real binary, and waits for its first line. The process ends with the test. */
export async function launch(args: readonly string[], options: RunOptions): Promise<Process> {
  const running = begin(args, options);
  const { process: child, output } = running;
  const firstLine = async (): Promise<void> => {
    while (!output.stdout.includes("\n")) await once(child.stdout as NodeJS.ReadableStream, "data");
  };
  await Promise.race([firstLine(), once(child, "close")]);
  if (!output.stdout.includes("\n")) throw new Error(`the program did not start: ${output.stderr}`);
  return running;
}

/** Starts the real binary without waiting. The process ends with the test. */
export function begin(args: readonly string[], options: RunOptions): Process {
  const child = spawnProgram(args, options);
  const output = collect(child);
  const ended = once(child, "close").then(([code]) => code as number | null);
  const stop: Process["stop"] = (signal) => {
    child.kill(signal);
    return ended;
  };
  onTestFinished(async () => {
    await stop("SIGKILL");
  });
  return { process: child, output, ended, stop };
}

/** Starts the real sandbox on a free port, and waits for its ready line. The sandbox ends with the test. */
export async function startSandbox(
  options: RunOptions & { readonly args?: readonly string[] },
): Promise<SandboxProcess> {
  const args = ["sandbox", "start", "--json", "--port", "0", ...(options.args ?? [])];
  const running = await launch(args, options);
  const ready = JSON.parse(running.output.stdout) as ReadyMessage;
  return { ...running, ready, port: Number(new URL(ready.base_url).port) };
}

function spawnProgram(args: readonly string[], { cwd, env, command }: RunOptions): ChildProcess {
  const [file = "", ...first] = command ?? [process.execPath, PROGRAM];
  return spawn(file, [...first, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: "pipe",
  });
}

/** The environment of this process without the tester's own settings, which must not reach the program. */
function cleanEnvironment(): Readonly<Record<string, string | undefined>> {
  const own = /^(CHECKOUT_|CI$|npm_command$|NO_COLOR|FORCE_COLOR|VITEST|(https?|all|no)_proxy$)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  return output;
}
