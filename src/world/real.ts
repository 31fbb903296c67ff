import type { GuestWorld, World } from "../world.ts";
import { enablePrivateCompileCache, unpackAddon } from "./addon.ts";
import { clearTimeout, clock, webhookReceiverNow, setTimeout } from "./clock.ts";
import { startDetached, takeStarter } from "./detached.ts";
import { files, onFileLost } from "./files.ts";
import {
  machine,
  readDistFile,
  packageFolder,
  settingsFolder,
  temporaryFile,
  temporaryPath,
} from "./machine.ts";
import { addressesOf, listen, send } from "./network.ts";
import { sea } from "./node.ts";
import { standardOutputs } from "./output.ts";
import { onStop, portOwner, processStartTime, terminate, watchForUnclosedServers } from "./processes.ts";
import { randomness } from "./random.ts";

export function realWorld(): World {
  // Set before any file is opened, because SQLite creates its files with the umask.
  const usersMask = process.umask(0o077);
  if (sea().isSea()) enablePrivateCompileCache();
  const starter = takeStarter();
  process.exitCode = 1;
  return {
    argv: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    pid: process.pid,
    isInteractive: () =>
      process.stderr.isTTY &&
      process.stdin.isTTY &&
      process.env["CI"] === undefined &&
      // A dumb terminal cannot show questions, which are edited in place.
      process.env["TERM"] !== "dumb",
    stdin: () => process.stdin,
    ...standardOutputs(starter?.logFile),
    files,
    onFileLost,
    machine,
    settingsFolder,
    packageFolder,
    ownFile: readDistFile,
    sqliteAddon,
    ...clock,
    ...createLocks(sqliteAddon),
    ...randomness,
    send,
    resolve: addressesOf,
    listen,
    openBrowser: async (url) => (await import("./browser.ts")).openBrowser(url),
    temporaryFile,
    temporaryPath,
    run: async (command) => (await import("./shell.ts")).runInShell(command, usersMask),
    startDetached,
    starter,
    terminate,
    runProgram: async (call) => (await import("./shell.ts")).runProgram(call, usersMask),
    portOwner,
    processStartTime,
    onStop,
  };
}

function sqliteAddon(): string | undefined {
  return sea().isSea() ? unpackAddon() : undefined;
}

/**
 * For a sandbox in a user's program (decision 97): leaves umask, streams, signals and exit code unchanged. `end` ends
 * every timer, wait and request, so that the program can end.
 */
export function guestWorld(): { readonly world: GuestWorld; readonly end: () => void } {
  const timers = new Set<NodeJS.Timeout>();
  const endSignal = new AbortController();
  const unclosedWatch = watchForUnclosedServers();
  const runLater = (milliseconds: number, run: () => void): void => {
    if (endSignal.signal.aborted) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, milliseconds);
    timers.add(timer);
    if (milliseconds >= LATER_WORK_MS) timer.unref();
  };
  const signalUntilEnd = (signal?: AbortSignal): AbortSignal =>
    signal === undefined ? endSignal.signal : AbortSignal.any([signal, endSignal.signal]);
  const world: GuestWorld = {
    env: process.env,
    cwd: process.cwd(),
    pid: process.pid,
    files,
    onFileLost,
    ownFile: readDistFile,
    sqliteAddon: () => undefined,
    ...clock,
    receiverTime: webhookReceiverNow,
    ...createLocks(() => undefined),
    sleep: (milliseconds, signal) => clock.sleep(milliseconds, signalUntilEnd(signal)),
    after: runLater,
    ...randomness,
    send: (request) => send({ ...request, signal: signalUntilEnd(request.signal) }),
    resolve: addressesOf,
    listen: async (makeService, options) => {
      const { serveHttp } = await import("../web/server/serve.ts");
      const listenResult = await serveHttp(makeService, { ...options, after: runLater });
      if (listenResult.ok) unclosedWatch.add(listenResult.value);
      return listenResult;
    },
    portOwner,
    processStartTime,
  };
  const end = (): void => {
    unclosedWatch.stop();
    endSignal.abort();
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
  };
  return { world, end };
}

/**
 * Timers with at least this delay, such as expiries, do not keep the program running, because no call waits that long.
 */
const LATER_WORK_MS = 1000;

function createLocks(addon: () => string | undefined) {
  return {
    lockFile: async (path) => (await import("./lock.ts")).lockFile(path, addon()),
    isFileLocked: async (path) => (await import("./lock.ts")).isFileLocked(path, addon()),
    hostName: () => process.getBuiltinModule("node:os").hostname(),
  } satisfies Partial<World>;
}
