import { readdirSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import type { Listener, StopSignal, World } from "../world.ts";
import { childProcess, errorCodeOf } from "./node.ts";
import { readText } from "./read.ts";

const STOP_SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** All callers share one listener per signal, because Node warns of more than ten. */
const listeners = new Set<{ readonly stop: (signal: StopSignal) => void }>();

function notifyAll(signal: StopSignal): void {
  for (const { stop } of listeners) stop(signal);
}

export function onStop(stop: (signal: StopSignal) => void): () => void {
  if (listeners.size === 0) for (const signal of STOP_SIGNALS) process.on(signal, notifyAll);
  const listener = { stop };
  listeners.add(listener);
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return;
    for (const signal of STOP_SIGNALS) process.off(signal, notifyAll);
  };
}

export function terminate(pid: number): ReturnType<World["terminate"]> {
  if (process.platform === "win32") return "no_signals";
  try {
    process.kill(pid, "SIGTERM");
    return "sent";
  } catch (error) {
    if (errorCodeOf(error) === "ESRCH") return "gone";
    if (errorCodeOf(error) === "EPERM") return "not_permitted";
    throw error;
  }
}

export function processStartTime(pid: number): string | undefined {
  if (process.platform === "linux") return linuxProcessStart(pid);
  return captureOutput("ps", ["-o", "lstart=", "-p", String(pid)]);
}

function linuxProcessStart(pid: number): string | undefined {
  const fields = statFields(pid);
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[START_FIELD];
}

/** Index of the start time in /proc/PID/stat, counted after the name, which can have spaces and parentheses. */
const START_FIELD = 19;
const PROCESS_GROUP_FIELD = 2;
/** Index of the foreground process group of the terminal; the field is -1 without a terminal. */
const TERMINAL_GROUP_FIELD = 5;

function statFields(pid: number | "self"): readonly string[] {
  const stat = readText(`/proc/${pid}/stat`) ?? "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

export function isInForeground(): boolean {
  if (process.platform === "win32") return true;
  const group = terminalGroup();
  return group !== undefined && group.own === group.foreground;
}

export function terminalGroup(): { readonly own: number; readonly foreground: number } | undefined {
  if (process.platform === "win32") return undefined;
  const [ownGroup = Number.NaN, foreground = Number.NaN] =
    process.platform === "linux"
      ? [PROCESS_GROUP_FIELD, TERMINAL_GROUP_FIELD].map((field) => Number(statFields("self")[field]))
      : (captureOutput("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)]) ?? "")
          .split(/\s+/)
          .map(Number);
  return foreground > 0 ? { own: ownGroup, foreground } : undefined;
}

export function portOwner(port: number): string | undefined {
  if (process.platform !== "linux") {
    return captureOutput("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-F", "pc"])?.replaceAll("\n", " ");
  }
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  const socketFields = `${readText("/proc/net/tcp") ?? ""}\n${readText("/proc/net/tcp6") ?? ""}`
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .find((fields) => fields[1]?.endsWith(`:${hexPort}`) === true && fields[3] === "0A");
  const inode = socketFields?.[9];
  const pid =
    inode === undefined ? undefined : readdirSync("/proc").find((entry) => holdsSocket(entry, inode));
  return pid && `${programOf(pid)} (pid ${pid})`;
}

function programOf(pid: string): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, "");
  } catch {
    return readText(`/proc/${pid}/comm`)?.trim() ?? "process";
  }
}

function holdsSocket(pid: string, inode: string): boolean {
  if (!/^\d+$/.test(pid)) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some(
      (fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`,
    );
  } catch {
    return false;
  }
}

const CAPTURE_TIMEOUT_MS = 5000;

/** Returns undefined if the program is missing, fails, takes too long, or prints nothing. */
export function captureOutput(command: string, args: readonly string[]): string | undefined {
  try {
    return (
      childProcess()
        .execFileSync(command, args, {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "ignore"],
          timeout: CAPTURE_TIMEOUT_MS,
          killSignal: "SIGKILL",
        })
        .trim() || undefined
    );
  } catch {
    return undefined;
  }
}

const UNCLOSED_WARNING =
  "a sandbox of hosted-checkout/testing is still open at the end of this program; to close it: await sandbox.close(), " +
  "or declare it with await using";

const openWorlds = new Set<Set<Listener>>();

/**
 * When the program has nothing else to do, warns once that `close()` is missing, and then lets the servers keep it
 * running.
 */
export function watchForUnclosedServers(): {
  readonly add: (server: Listener) => void;
  readonly stop: () => void;
} {
  const servers = new Set<Listener>();
  openWorlds.add(servers);
  // One listener for all worlds, because Node warns of more than ten.
  if (openWorlds.size === 1) process.on("beforeExit", warnUnclosed);
  return {
    add: (server) => {
      servers.add(server);
      server.keepRunning?.(false);
    },
    stop: () => {
      openWorlds.delete(servers);
      if (openWorlds.size === 0) process.removeListener("beforeExit", warnUnclosed);
    },
  };
}

function warnUnclosed(): void {
  for (const servers of openWorlds) for (const server of servers) server.keepRunning?.(true);
  openWorlds.clear();
  process.removeListener("beforeExit", warnUnclosed);
  process.emitWarning(UNCLOSED_WARNING);
}
