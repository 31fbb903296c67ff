import type { ChildProcess } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import type { DetachedProcess, Starter } from "../world.ts";
import { childProcess, sea } from "./node.ts";
import { NO_FOLLOW } from "./read.ts";

const DETACHED_LOG = "CHECKOUT_DETACHED_LOG";
const RELEASE_MESSAGE = "release";

export function startDetached({ logFile }: { readonly logFile: string }): DetachedProcess {
  const { O_APPEND, O_CREAT, O_RDWR } = constants;
  const log = openSync(logFile, O_APPEND | O_CREAT | O_RDWR | NO_FOLLOW, 0o600);
  try {
    const programArgs = sea().isSea() ? [] : [...process.execArgv, process.argv[1] ?? ""];
    const child = childProcess().spawn(process.execPath, [...programArgs, ...process.argv.slice(2)], {
      env: { ...process.env, [DETACHED_LOG]: logFile },
      stdio: ["ignore", "ignore", log, "ipc"],
      detached: true,
      windowsHide: true,
    });
    return watchDetached(child);
  } finally {
    closeSync(log);
  }
}

function watchDetached(child: ChildProcess): DetachedProcess {
  const endText = new Promise<string>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const firstMessage = new Promise<string | undefined>((resolve) => {
    child.once("message", (text) => resolve(typeof text === "string" ? text : undefined));
    child.once("disconnect", () => resolve(undefined));
    child.once("error", () => resolve(undefined));
  });
  const disconnect = (): void => {
    if (child.connected) child.disconnect();
  };
  const releaseChild = async (): Promise<void> => {
    await new Promise((resolve) => child.send?.(RELEASE_MESSAGE, resolve));
    disconnect();
    child.unref();
  };
  return { firstMessage, end: endText, release: releaseChild, abandon: disconnect };
}

/** Removes the variable, so that child processes do not count as detached. */
export function takeStarter(): Starter | undefined {
  const logFile = process.env[DETACHED_LOG];
  delete process.env[DETACHED_LOG];
  if (logFile === undefined || process.send === undefined) return undefined;
  return { logFile, notify };
}

function notify(text: string): Promise<boolean> {
  if (!process.connected) return Promise.resolve(false);
  lastSent = new Promise((resolve) => process.send?.(text, undefined, undefined, resolve));
  return new Promise((resolve) => {
    process.once("message", (answer) => {
      resolve(answer === RELEASE_MESSAGE);
      if (process.connected) process.disconnect?.();
    });
    process.once("disconnect", () => resolve(false));
  });
}

let lastSent: Promise<unknown> = Promise.resolve();

export function awaitStarterNotice(): Promise<unknown> {
  return lastSent;
}
