import type { ChildProcess } from "node:child_process";
import type { ProgramCall, ProgramResult, ShellCommand, ShellEnd, ShellResult } from "../world.ts";
import { isError } from "../core/outcome.ts";
import { childProcess, errorCodeOf } from "./node.ts";
import { clearTimeout, setTimeout } from "./clock.ts";
import { captureOutput, isInForeground, onStop, terminalGroup } from "./processes.ts";

const OUTPUT_GRACE_MS = 500;
const STOP_GRACE_MS = 10_000;

/** The command has a process group of its own, so that its child processes can be ended with it. */
export function runInShell(command: ShellCommand, usersMask: number): Promise<ShellResult> {
  const { timeoutMs, maxOutputBytes, onOutput, signal } = command;
  const child = spawnShell(command, usersMask);
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const [stdout, stderr] = outputs.map((stream) => keepTail(stream, maxOutputBytes));
  if (onOutput !== undefined) child.stdout?.on("data", (part: Buffer) => onOutput(part.toString("utf8")));
  let ending: ShellResult["ending"] = "exited";
  const createKill = (cause: "timeout" | "aborted") => (): void => {
    ending = cause;
    killTree(child);
  };
  const [onTimeout, kill] = [createKill("timeout"), createKill("aborted")];
  const timer = setTimeout(onTimeout, timeoutMs);
  let stopTimer: ReturnType<typeof setTimeout> | undefined;
  const onAbort = (): void => {
    if (signal?.reason !== ("terminate" satisfies ShellEnd) || process.platform === "win32") return kill();
    ending = "aborted";
    stopTimer = setTimeout(kill, STOP_GRACE_MS);
    signalTree(child, "SIGTERM");
  };
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  return new Promise((resolve) => {
    const end = (result: Pick<ShellResult, "exitCode"> & Partial<ShellResult>): void =>
      resolve({ ending, stdout: stdout?.() ?? "", stderr: stderr?.() ?? "", ...result });
    const stopWatching = (): void => {
      clearTimeout(timer);
      clearTimeout(stopTimer);
      signal?.removeEventListener("abort", onAbort);
    };
    child.once("error", ({ message }) => {
      stopWatching();
      end({ ending: "not_run", exitCode: null, stderr: message });
    });
    child.once("exit", (exitCode) => {
      stopWatching();
      if (process.platform !== "win32") killTree(child);
      // A process that left the group may keep an output open; do not wait for it.
      const outputTimer = setTimeout(() => outputs.forEach((stream) => stream.destroy()), OUTPUT_GRACE_MS);
      child.once("close", () => {
        clearTimeout(outputTimer);
        end({ exitCode });
      });
    });
  });
}

/**
 * Kills the process group when descriptor 3 is closed, also if this process is killed. The watcher is not a child of
 * the command, and holds none of its outputs. The trap lets the shell wait for a program that stops slowly: the group
 * is killed when the shell ends.
 */
const WATCHED_SHELL = `(({ read -r _ <&3; kill -9 -$$; } >/dev/null 2>&1 &) &)
exec 3<&- /bin/sh -c "trap exit TERM; $1"`;

function spawnShell({ commandLine, env }: ShellCommand, usersMask: number) {
  const options = { env: { ...removeTokens(process.env), ...env }, windowsHide: true };
  return withMask(usersMask, () =>
    process.platform === "win32"
      ? childProcess().spawn(commandLine, { ...options, shell: true, stdio: ["ignore", "pipe", "pipe"] })
      : childProcess().spawn("/bin/sh", ["-c", WATCHED_SHELL, "sh", commandLine], {
          ...options,
          stdio: ["ignore", "pipe", "pipe", "pipe"],
          detached: true,
        }),
  );
}

function keepTail(stream: NodeJS.ReadableStream, maxBytes: number): () => string {
  let keptBytes = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => (keptBytes = Buffer.concat([keptBytes, chunk]).subarray(-maxBytes)));
  return () => keptBytes.toString("utf8");
}

function killTree(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (process.platform === "win32") {
    captureOutput("taskkill", ["/pid", String(child.pid), "/T", "/F"]);
    return;
  }
  signalTree(child, "SIGKILL");
}

function signalTree({ pid }: ChildProcess, name: "SIGTERM" | "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch (error) {
    if (errorCodeOf(error) !== "ESRCH" && errorCodeOf(error) !== "EPERM") throw error;
  }
}

/** The program stays in this process group, so that the terminal treats both processes alike. */
export async function runProgram(
  { program, args, env }: ProgramCall,
  usersMask: number,
): Promise<ProgramResult> {
  const hadTerminal = terminalGroup() !== undefined;
  let child: ChildProcess | undefined;
  const stopForwarding = onStop((signal) => {
    // A terminal sends Ctrl-C to its foreground group, and a hang-up to all groups.
    const sentToGroup = signal === "SIGHUP" ? hadTerminal : signal === "SIGINT" && isInForeground();
    if (!sentToGroup) child?.kill(signal);
  });
  try {
    const spawned = withMask(usersMask, () =>
      childProcess().spawn(program, args, {
        env: { ...removeTokens(process.env), ...env },
        stdio: "inherit",
      }),
    );
    child = spawned;
    return await new Promise((resolve) => {
      spawned.once("error", (error) => resolve(startFailure(error)));
      spawned.once("exit", (exitCode, signal) => resolve(endOf(exitCode, signal)));
    });
  } catch (error) {
    return startFailure(error);
  } finally {
    stopForwarding();
  }
}

function endOf(exitCode: number | null, signal: NodeJS.Signals | null): ProgramResult {
  if (signal === null) return { ending: "exited", exitCode: exitCode ?? 1 };
  const { signals } = process.getBuiltinModule("node:os").constants;
  return { ending: "killed", signal, signalNumber: signals[signal] };
}

function startFailure(error: unknown): ProgramResult {
  const ending = errorCodeOf(error) === "ENOENT" ? "not_found" : "not_executable";
  return { ending, message: isError(error) ? error.message : String(error) };
}

function withMask<Value>(usersMask: number, spawn: () => Value): Value {
  const ownMask = process.umask(usersMask);
  try {
    return spawn();
  } finally {
    process.umask(ownMask);
  }
}

/** A user's program must not receive control and admin tokens, or the names of their files. */
function removeTokens(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isToken = /^CHECKOUT_(SANDBOX_)?(CONTROL|ADMIN)_TOKEN(_FILE)?$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isToken.test(name)));
}
