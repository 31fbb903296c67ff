import type { ChildProcess } from "node:child_process";
import type { BigIntStats, Stats } from "node:fs";
import {
  accessSync,
  constants,
  existsSync,
  fchmodSync,
  lstatSync,
  statSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import type {
  DetachedProcess,
  DiskFacts,
  Files,
  Machine,
  OutboundRequest,
  OutboundResult,
  PathFacts,
  ReadOptions,
  ProgramCall,
  ProgramEnd,
  ShellCommand,
  ShellResult,
  Starter,
  StopSignal,
  TemporaryFile,
  GuestWorld,
  World,
} from "./world.ts";
import { FileRefused, isError } from "./core/outcome.ts";

/** Node modules that few commands need are loaded on demand, because loading them costs every command some ms. */
const crypto = (): typeof import("node:crypto") => process.getBuiltinModule("node:crypto");
const sea = (): typeof import("node:sea") => process.getBuiltinModule("node:sea");
const childProcess = (): typeof import("node:child_process") =>
  process.getBuiltinModule("node:child_process");

/** Name of the SQLite addon inside the single executable. */
export const SQLITE_ASSET = "better_sqlite3.node";

/** The real world: this process, its clock, its disk and its network. Only the user can read what it writes. */
export function realWorld(): World {
  // Before the first file is opened: SQLite creates its files with the umask.
  const usersMask = process.umask(0o077);
  const starter = takeStarter();
  const stdout = outputOf(process.stdout, {
    onFailure: (error) => {
      if (!lost.stdout) process.stderr.write(`✗ the result could not be printed: ${error.message}\n`);
      lost.stdout = true;
    },
  });
  const stderr = outputOf(process.stderr, {
    lossNote: (lines) => `(${lines} lines dropped: stderr was full)\n`,
    ...(starter === undefined ? {} : { rotatedAt: starter.logFile }),
  });
  // An end of the program before the command returned is a failure.
  process.exitCode = 1;
  return {
    argv: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    pid: process.pid,
    interactive:
      process.stdin.isTTY &&
      process.stderr.isTTY &&
      process.env["CI"] === undefined &&
      // A dumb terminal cannot show a question that is edited in place.
      process.env["TERM"] !== "dumb",
    stdin: process.stdin,
    stdout,
    isResultLost: () => lost.stdout,
    stderr,
    files,
    machine,
    settingsFolder,
    sqliteAddon: () => (sea().isSea() ? unpackAddon() : undefined),
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: sleepUntil,
    after,
    soon: (run) => void setImmediate(run),
    uuid: uuidV7,
    freshId: () => crypto().randomUUID(),
    randomBytes: (length) => crypto().randomBytes(length),
    random: () => Math.random(),
    send,
    resolve: addressesOf,
    listen: async (makeService, options) => {
      const [{ serve }, { noticeQuiet }] = [
        await import("./web/server/serve.ts"),
        await import("./web/quiet.ts"),
      ];
      const watched = { after: background, monotonic: () => performance.now(), quietMs: QUIET_MS };
      return serve((port) => noticeQuiet(makeService(port), { ...watched, quiet: releaseMemory }), {
        ...options,
        after,
      });
    },
    openBrowser,
    temporaryFile,
    run: (command) => runInShell(command, usersMask),
    startDetached,
    starter,
    terminate,
    runProgram: (call) => runProgram(call, usersMask),
    portOwner,
    processStart,
    onStop,
  };
}

/**
 * The same for a sandbox within a program of the user's (decision 97). That one's umask, streams, signals and exit code
 * stay as they are. `end` ends every timer, wait and request that was begun here, so that nothing keeps the program alive.
 */
export function guestWorld(): { readonly world: GuestWorld; readonly end: () => void } {
  const timers = new Set<NodeJS.Timeout>();
  const ending = new AbortController();
  const later = (milliseconds: number, run: () => void): void => {
    if (ending.signal.aborted) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, milliseconds);
    timers.add(timer);
  };
  const untilEnd = (signal?: AbortSignal): AbortSignal =>
    signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
  const world: GuestWorld = {
    env: process.env,
    cwd: process.cwd(),
    pid: process.pid,
    files,
    sqliteAddon: () => undefined,
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (milliseconds, signal) => sleepUntil(milliseconds, untilEnd(signal)),
    after: later,
    soon: (run) => void setImmediate(run),
    uuid: uuidV7,
    freshId: () => crypto().randomUUID(),
    randomBytes: (length) => crypto().randomBytes(length),
    random: () => Math.random(),
    send: (request) => send({ ...request, signal: untilEnd(request.signal) }),
    resolve: addressesOf,
    listen: async (makeService, options) => {
      const { serve } = await import("./web/server/serve.ts");
      return serve(makeService, { ...options, after: later });
    },
    portOwner,
    processStart,
  };
  const end = (): void => {
    ending.abort();
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
  };
  return { world, end };
}

function sleepUntil(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return sleep(milliseconds, undefined, { signal }).catch(ignoreAbort);
}

const RANDOM_POOL_BYTES = 4096;
const UUID_RANDOM_BYTES = 16;
let randomPool = new Uint8Array(0);

/** Random bytes are generated in blocks: one call for each id took a twelfth of the time of a create. */
function uuidV7(): string {
  if (randomPool.length < UUID_RANDOM_BYTES) randomPool = crypto().randomBytes(RANDOM_POOL_BYTES);
  const random = randomPool.subarray(0, UUID_RANDOM_BYTES);
  randomPool = randomPool.subarray(UUID_RANDOM_BYTES);
  return v7({ random });
}

function after(milliseconds: number, run: () => void): void {
  setTimeout(run, milliseconds);
}

/** The same without keeping the program alive. */
function background(milliseconds: number, run: () => void): void {
  setTimeout(run, milliseconds).unref();
}

/** After how long without a request a server gives memory back, in milliseconds. */
const QUIET_MS = 10_000;

/**
 * Collects all garbage and gives free memory back to the system (decision 102). Node has no function for it; V8 puts one
 * into each context that is made with this flag.
 */
function releaseMemory(): void {
  process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
  const collect = process.getBuiltinModule("node:vm").runInNewContext("gc") as typeof gc;
  collect?.({ type: "major", execution: "sync", flavor: "last-resort" });
}

/** How long the program waits at its end until its output was read, in milliseconds. */
const LAST_WORDS_MS = 500;

/**
 * Ends the program after its output was read, or cannot be read. Without its result it has failed, whatever that was: a
 * script that reads exit 3 as "not ready" would believe an answer that is not there.
 */
export async function leave(exitCode: number): Promise<void> {
  const streams = [process.stdout, process.stderr].filter(({ writableLength }) => writableLength > 0);
  const taken = streams.map((stream) => new Promise((resolve) => stream.once("drain", resolve)));
  await Promise.race([Promise.all([...taken, lastTold]), sleep(LAST_WORDS_MS)]);
  process.exit(lost.stdout ? 1 : exitCode);
}

/** Whether a result could not be printed: then the program has failed, whatever its command did. */
const lost = { stdout: false };

type ProcessOutput = NodeJS.WriteStream & { readonly fd: number };

/** What becomes of output that cannot be written. */
type OutputLoss = {
  /** Told of each failure but a closed pipe: who read it has gone, and that is no reason to fail. */
  readonly onFailure?: (error: Error) => void;
  /** What is written where writing works again, for a number of lines that were dropped; default: nothing. */
  readonly lossNote?: (lines: number) => string;
  /** The path of a file that starts anew when it is full; default: it grows. */
  readonly rotatedAt?: string;
};

/** A stream of this process that never ends it. A file is written by ourselves: Node closes it after the first failure. */
function outputOf(stream: ProcessOutput, loss: OutputLoss): Writable {
  if (!isFile(stream)) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") loss.onFailure?.(error);
    });
    return stream;
  }
  const { fd } = stream;
  const { rotatedAt } = loss;
  if (rotatedAt === undefined) return fileOutput((bytes) => writeSync(fd, bytes), loss);
  return fileOutput((bytes) => {
    if (fstatSync(fd).size + bytes.length > MAX_LOG_BYTES) startAnew(fd, rotatedAt);
    return writeSync(fd, bytes);
  }, loss);
}

/** The size at which a log file starts anew. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;
const COPIED_BYTES = 256 * 1024;

/**
 * Moves what a log holds into the older file beside it. It is copied through the open file, because that is the one that
 * Node itself writes to when it fails, and another file may stand at its path meanwhile.
 */
function startAnew(fd: number, path: string): void {
  const unfinished = `${path}.${process.pid}.new-${Math.random().toString(36).slice(2)}`;
  try {
    const copy = openSync(unfinished, "wx", 0o600);
    try {
      const part = new Uint8Array(COPIED_BYTES);
      for (let done = 0; ;) {
        const length = readSync(fd, part, 0, part.length, done);
        if (length === 0) break;
        writeFileSync(copy, part.subarray(0, length));
        done += length;
      }
    } finally {
      closeSync(copy);
    }
    renameSync(unfinished, `${path}.1`);
  } catch {
    // A disk that is full has no room for an older file; a log that grows would make that worse.
    discard(unfinished);
  }
  ftruncateSync(fd, 0);
}

/** A file, or a device that takes bytes as a file does. */
function isFile({ fd, isTTY }: ProcessOutput): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isFile() || (stats.isCharacterDevice() && !isTTY);
  } catch {
    // It was closed before the program began; Node's own stream takes what is written there.
    return false;
  }
}

/**
 * Output to a file that can be full, and have room again: what cannot be written is dropped and counted. A line that was
 * cut off is ended before the next one.
 */
export function fileOutput(write: (bytes: Uint8Array) => number, loss: OutputLoss = {}): Writable {
  let dropped = 0;
  let cut = false;
  const writeAll = (bytes: Uint8Array): void => {
    for (let done = 0; done < bytes.length;) {
      done += write(bytes.subarray(done));
      cut = true;
    }
    cut = false;
  };
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const note = dropped === 0 ? "" : (loss.lossNote?.(dropped) ?? "");
      try {
        writeAll(Buffer.concat([Buffer.from(`${cut ? "\n" : ""}${note}`), chunk]));
        dropped = 0;
      } catch (error) {
        dropped += chunk.toString("latin1").split("\n").length - 1;
        loss.onFailure?.(isError(error) ? error : new Error(String(error)));
      }
      done();
    },
  });
}

const files: Files = {
  read: (path, options) => readOrdinary(path, options)?.bytes.toString("utf8"),
  readBytes: (path, options) => readOrdinary(path, options)?.bytes,
  size: (path) => readOrdinary(path, { from: Number.MAX_SAFE_INTEGER })?.size,
  write: (path, content) => writeNamed(path, content, (unfinished) => renameSync(unfinished, path)),
  createNew: (path, content) => {
    if (existsSync(path)) return false;
    try {
      writeNamed(path, content, (unfinished) => linkSync(unfinished, path));
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    }
  },
  remove: (path) => {
    try {
      unlinkSync(path);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  },
  rename: (from, to) => {
    renameSync(from, to);
    flushFolder(dirname(to));
  },
  removeUnfinished: (folder) => {
    for (const name of readdirSync(folder)) {
      const pid = UNFINISHED.exec(name)?.[1];
      if (pid !== undefined && processStart(Number(pid)) === undefined) discard(join(folder, name));
    }
  },
  makeFolder: (path) => void mkdirSync(path, { recursive: true, mode: 0o700 }),
  look: (path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    return stats && factsOf(stats);
  },
  realPath: (path) => realpathSync.native(path),
  list: (path) => readdirSync(path),
  makePrivate: (folder) => {
    const file = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      fchmodSync(file, 0o700);
    } finally {
      closeSync(file);
    }
  },
  exists: (path) => existsSync(path),
  disk: diskOf,
  readFrom: (path, from) => readOrdinary(path, { from }),
};

type Read = { readonly bytes: Buffer; readonly size: number };

/** The most that is read of a file, in bytes, unless its reader says otherwise. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

/**
 * The only way in which a file is read: the file has to be an ordinary one, and not larger than its reader expects. A link
 * is followed only where a person named it. Others read without end (`/dev/zero`) or wait for ever (a pipe). Undefined if
 * there is nothing at the path.
 */
function readOrdinary(
  path: string,
  {
    followsLinks = false,
    maxBytes = MAX_READ_BYTES,
    from = 0,
  }: ReadOptions & { readonly from?: number } = {},
): Read | undefined {
  return ifThere(() => {
    // Asked before it is opened, because opening a device can do something, and again for what was put there meanwhile.
    requireOrdinary(path, followsLinks ? statSync(path) : lstatSync(path));
    const file = openSync(path, constants.O_RDONLY | NO_WAIT | (followsLinks ? 0 : NO_FOLLOW));
    try {
      const stats = fstatSync(file);
      requireOrdinary(path, stats);
      return { bytes: readUpTo(file, { path, from, maxBytes, size: stats.size }), size: stats.size };
    } finally {
      closeSync(file);
    }
  });
}

function requireOrdinary(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  throw new FileRefused(path, `is ${nounOf(stats)}, not an ordinary file`);
}

function nounOf(stats: Stats): string {
  if (stats.isDirectory()) return "a folder";
  if (stats.isSymbolicLink()) return "a symbolic link";
  if (stats.isFIFO()) return "a pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

/** Reads to the end, wherever that is: files of /proc have no size, and a log may grow meanwhile. */
function readUpTo(
  file: number,
  {
    path,
    from,
    maxBytes,
    size,
  }: Required<Pick<ReadOptions, "maxBytes">> & {
    readonly path: string;
    readonly from: number;
    readonly size: number;
  },
): Buffer {
  const tooLarge = (): FileRefused =>
    new FileRefused(path, `is too large: more than the ${maxBytes} bytes that are read of it`);
  if (size - from > maxBytes) throw tooLarge();
  if (from > size) return Buffer.alloc(0);
  let bytes = Buffer.allocUnsafe(Math.max(size - from, 0) + READ_AHEAD_BYTES);
  let done = 0;
  for (;;) {
    const length = readSync(file, bytes, done, bytes.length - done, from + done);
    if (length === 0) return bytes.subarray(0, done);
    done += length;
    if (done > maxBytes) throw tooLarge();
    if (done === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(done)]);
  }
}

/** Room for the end of a file to be seen without another buffer. */
const READ_AHEAD_BYTES = 4096;

/** Windows has none of these flags. */
const FLAGS = constants as Readonly<Record<string, number | undefined>>;
const NO_FOLLOW = FLAGS["O_NOFOLLOW"] ?? 0;
/** Opening a pipe that nobody writes to does not wait. */
const NO_WAIT = FLAGS["O_NONBLOCK"] ?? 0;

/** File systems by the number that Linux gives them: those that people keep projects on. */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0xef53: "ext4",
  0x58465342: "xfs",
  0x9123683e: "btrfs",
  0x2fc12fc1: "zfs",
  0x01021994: "tmpfs",
  0x794c7630: "overlay",
  0x6969: "nfs",
  0xff534d42: "cifs",
  0xfe534d42: "smb2",
  0x01021997: "9p",
  0x65735546: "fuse",
  0x4d44: "vfat",
  0x5346544e: "ntfs",
};

function diskOf(path: string): DiskFacts {
  const { bavail, bsize, type } = statfsSync(path);
  const fileSystem = process.platform === "linux" ? FILE_SYSTEMS[type >>> 0] : undefined;
  return { freeBytes: bavail * bsize, isWritable: isWritable(path), fileSystem };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    // Its mode, its owner or a disk that is read-only: the answer is the same.
    return false;
  }
}

function machine(): Machine {
  const os = process.getBuiltinModule("node:os");
  return {
    nodeVersion: process.versions.node,
    node: { path: process.execPath, isInside: sea().isSea() },
    system: `${os.type()} ${os.release()} ${process.arch}`,
  };
}

/** What a process has not finished, of ours or of the store's: the name it is to have, the process, a random end. */
const UNFINISHED = /\.(\d+)\.new-\w+$/;

/** Reads a file; undefined if it is not there, or belonged to a process that ended. */
function ifThere<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (MISSING.has(codeOf(error))) return undefined;
    throw error;
  }
}

const MISSING: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ESRCH"]);

/** Writes a file under a name of its own and gives it its name when it is whole and on disk. */
function writeNamed(path: string, content: string | Uint8Array, name: (unfinished: string) => void): void {
  const unfinished = `${path}.${process.pid}.new-${Math.random().toString(36).slice(2)}`;
  try {
    writeNew(unfinished, content);
    name(unfinished);
  } finally {
    discard(unfinished);
  }
  flushFolder(dirname(path));
}

/**
 * Removes what is not needed any more; false where that fails. It is no reason to fail, and must not hide the reason for
 * which something else has failed: a later command removes it, because its name says whose it was.
 */
function discard(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

/** Makes a name survive a power failure. Windows cannot, and some file systems do not know how. */
function flushFolder(folder: string): void {
  if (process.platform === "win32") return;
  const file = openSync(folder, "r");
  try {
    fsyncSync(file);
  } catch (error) {
    if (codeOf(error) !== "EINVAL" && codeOf(error) !== "ENOTSUP") throw error;
  } finally {
    closeSync(file);
  }
}

function writeNew(path: string, content: string | Uint8Array): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Loaded with the first request. In the bundle each import copies what its module exports. */
let sender: Promise<typeof import("./web/send.ts")> | undefined;

/** Sends a request within its timeout. */
async function send(request: OutboundRequest): Promise<OutboundResult> {
  const { sendHttp, timedOut } = await (sender ??= import("./web/send.ts"));
  const { timeoutMs, signal } = request;
  // A timer of its own, which goes with the answer: that of AbortSignal.timeout would be kept until its time is up.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), Math.ceil(timeoutMs)).unref();
  const both = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  const result = await sendHttp(request, both).finally(() => clearTimeout(timer));
  if (result.ok || result.failure !== "aborted" || signal?.aborted === true) return result;
  return timedOut(request, result);
}

async function addressesOf(host: string): Promise<readonly string[]> {
  try {
    const found = await process
      .getBuiltinModule("node:dns")
      .promises.lookup(host.replace(/^\[|\]$/g, ""), { all: true });
    return found.map(({ address }) => address);
  } catch {
    // A name without an address is not an exception: the caller reports it.
    return [];
  }
}

/**
 * How long to wait for the system's opener, in milliseconds. If it found no browser, it ends with an error before; if
 * it still runs, it has become the browser. On Windows it must end first, because it ends with us.
 */
const OPENER_MS = process.platform === "win32" ? 10_000 : 1000;

/** Opens an address with the system's opener, which does not inherit our streams and can outlive us. */
async function openBrowser(url: string): ReturnType<World["openBrowser"]> {
  try {
    const { default: open } = await import("open");
    const ending = await Promise.race([open(url).then(endingOf), sleep(OPENER_MS, 0)]);
    if (ending === 0) return { ok: true };
    return { ok: false, message: `the system's opener ended with ${ending}` };
  } catch (error) {
    const message = isError(error) ? error.message : String(error);
    return { ok: false, message: `the system's opener cannot be run: ${message}` };
  }
}

function temporaryFile(name: string, content: string): TemporaryFile {
  const { tmpdir } = process.getBuiltinModule("node:os");
  const folder = mkdtempSync(join(tmpdir(), "checkout-"));
  const path = join(folder, name);
  files.write(path, content);
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The exit code of a process, or the signal that ended it, once it has ended. */
async function endingOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode === null && child.signalCode === null)
    await new Promise((resolve) => child.once("exit", resolve));
  return child.exitCode ?? child.signalCode ?? "no exit code";
}

/** How long the outputs of an ended command may stay open, in milliseconds. */
const OUTPUT_GRACE_MS = 500;

/** Runs a user's command line in its own process group, so that its child processes can be ended with it. */
function runInShell(command: ShellCommand, usersMask: number): Promise<ShellResult> {
  const { timeoutMs, maxOutputBytes, signal } = command;
  const child = spawnShell(command, usersMask);
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const [stdout, stderr] = outputs.map((stream) => keepEnd(stream, maxOutputBytes));
  let ending: ShellResult["ending"] = "exited";
  const killedBy = (why: "timeout" | "aborted") => (): void => {
    ending = why;
    killTree(child);
  };
  const [onTimeout, onAbort] = [killedBy("timeout"), killedBy("aborted")];
  const timer = setTimeout(onTimeout, timeoutMs);
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  return new Promise((resolve) => {
    const end = (result: Pick<ShellResult, "exitCode"> & Partial<ShellResult>): void =>
      resolve({ ending, stdout: stdout?.() ?? "", stderr: stderr?.() ?? "", ...result });
    const stopWatching = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    child.once("error", ({ message }) => {
      stopWatching();
      end({ ending: "not_run", exitCode: null, stderr: message });
    });
    child.once("exit", (exitCode) => {
      stopWatching();
      if (process.platform !== "win32") killTree(child);
      // Do not wait for a process that left the group and still holds an output.
      const letGo = setTimeout(() => outputs.forEach((stream) => stream.destroy()), OUTPUT_GRACE_MS);
      child.once("close", () => {
        clearTimeout(letGo);
        end({ exitCode });
      });
    });
  });
}

/**
 * Runs the command line that is its first argument, and kills its whole process group when descriptor 3 is closed, as it
 * is when we are killed. The watcher is no child process of the command, and holds none of its outputs.
 */
const WATCHED_SHELL = `(({ read -r _ <&3; kill -9 -$$; } >/dev/null 2>&1 &) &)
exec 3<&- /bin/sh -c "$1"`;

function spawnShell({ commandLine, env }: ShellCommand, usersMask: number) {
  const options = { env: { ...withoutTokens(process.env), ...env }, windowsHide: true };
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

/** Files that a user's program creates belong to the user, so the user's umask applies. */
function withMask<Value>(usersMask: number, spawn: () => Value): Value {
  const ownMask = process.umask(usersMask);
  try {
    return spawn();
  } finally {
    process.umask(ownMask);
  }
}

/** Runs a user's program in our place: in our process group, so that a terminal treats it as it treats us. */
async function runProgram({ program, args, env }: ProgramCall, usersMask: number): Promise<ProgramEnd> {
  const hadTerminal = terminalGroup() !== undefined;
  let child: ChildProcess | undefined;
  const stopPassing = onStop((signal) => {
    // The terminal gives Ctrl-C to its foreground group, and its hang-up to all groups.
    const sentToGroup = signal === "SIGHUP" ? hadTerminal : signal === "SIGINT" && isInForeground();
    if (!sentToGroup) child?.kill(signal);
  });
  try {
    const started = withMask(usersMask, () =>
      childProcess().spawn(program, args, {
        env: { ...withoutTokens(process.env), ...env },
        stdio: "inherit",
      }),
    );
    child = started;
    return await new Promise((resolve) => {
      started.once("error", (error) => resolve(notRun(error)));
      started.once("exit", (exitCode, signal) => resolve(endOf(exitCode, signal)));
    });
  } catch (error) {
    // Node throws for what it does not even try, such as a name with a NUL.
    return notRun(error);
  } finally {
    stopPassing();
  }
}

function endOf(exitCode: number | null, signal: NodeJS.Signals | null): ProgramEnd {
  if (signal === null) return { ending: "exited", exitCode: exitCode ?? 1 };
  const { signals } = process.getBuiltinModule("node:os").constants;
  return { ending: "killed", signal, signalNumber: signals[signal] };
}

function notRun(error: unknown): ProgramEnd {
  const ending = codeOf(error) === "ENOENT" ? "not_found" : "not_executable";
  return { ending, message: isError(error) ? error.message : String(error) };
}

/** Whether what the terminal sends goes to our process group. Windows gives it to every process of a console. */
function isInForeground(): boolean {
  if (process.platform === "win32") return true;
  const group = terminalGroup();
  return group !== undefined && group.own === group.foreground;
}

/** Our process group and the one in the foreground of our terminal; undefined without a terminal. */
function terminalGroup(): { readonly own: number; readonly foreground: number } | undefined {
  if (process.platform === "win32") return undefined;
  const [own = Number.NaN, foreground = Number.NaN] =
    process.platform === "linux"
      ? [PROCESS_GROUP_FIELD, TERMINAL_GROUP_FIELD].map((field) => Number(statFields("self")[field]))
      : (capture("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)]) ?? "").split(/\s+/).map(Number);
  return foreground > 0 ? { own, foreground } : undefined;
}

/** The user's program must not get the control token or the admin token, nor the names of files that hold them. */
function withoutTokens(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isToken = /^CHECKOUT_(SANDBOX_)?(CONTROL|ADMIN)_TOKEN(_FILE)?$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isToken.test(name)));
}

/** The last bytes of a stream, as text. */
function keepEnd(stream: NodeJS.ReadableStream, maxBytes: number): () => string {
  let kept = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => (kept = Buffer.concat([kept, chunk]).subarray(-maxBytes)));
  return () => kept.toString("utf8");
}

/** Ends a process and all its child processes. */
function killTree({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  if (process.platform === "win32") {
    capture("taskkill", ["/pid", String(pid), "/T", "/F"]);
    return;
  }
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // It has already ended; macOS says EPERM if only zombies are left.
    if (codeOf(error) !== "ESRCH" && codeOf(error) !== "EPERM") throw error;
  }
}

/** Names the log file to the process that is started detached, and so tells it that it is. */
const DETACHED_LOG = "CHECKOUT_DETACHED_LOG";
/** What a starter answers to let its process go. */
const LET_GO = "let go";

function startDetached({ logFile }: { readonly logFile: string }): DetachedProcess {
  const { O_APPEND, O_CREAT, O_RDWR } = constants;
  const log = openSync(logFile, O_APPEND | O_CREAT | O_RDWR | NO_FOLLOW, 0o600);
  try {
    const program = sea().isSea() ? [] : [...process.execArgv, process.argv[1] ?? ""];
    const child = childProcess().spawn(process.execPath, [...program, ...process.argv.slice(2)], {
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
  const ended = new Promise<string>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const told = new Promise<string | undefined>((resolve) => {
    child.once("message", (text) => resolve(typeof text === "string" ? text : undefined));
    // The channel closes behind the last message.
    child.once("disconnect", () => resolve(undefined));
    child.once("error", () => resolve(undefined));
  });
  const disconnect = (): void => {
    if (child.connected) child.disconnect();
  };
  const letGo = async (): Promise<void> => {
    await new Promise((resolve) => child.send?.(LET_GO, resolve));
    disconnect();
    child.unref();
  };
  return { told, ended, letGo, abandon: disconnect };
}

/** The last thing that this process told its starter: its end waits until that has left. */
let lastTold: Promise<unknown> = Promise.resolve();

/** Who started this process, if it was started detached. What this one starts is not to think the same of itself. */
function takeStarter(): Starter | undefined {
  const logFile = process.env[DETACHED_LOG];
  delete process.env[DETACHED_LOG];
  if (logFile === undefined || process.send === undefined) return undefined;
  return { logFile, tell };
}

function tell(text: string): Promise<boolean> {
  if (!process.connected) return Promise.resolve(false);
  lastTold = new Promise((resolve) => process.send?.(text, undefined, undefined, resolve));
  return new Promise((resolve) => {
    process.once("message", (answer) => {
      resolve(answer === LET_GO);
      if (process.connected) process.disconnect?.();
    });
    process.once("disconnect", () => resolve(false));
  });
}

function terminate(pid: number): ReturnType<World["terminate"]> {
  // Windows ends a process at once where it is sent a signal.
  if (process.platform === "win32") return "no_signals";
  try {
    process.kill(pid, "SIGTERM");
    return "sent";
  } catch (error) {
    if (codeOf(error) === "ESRCH") return "gone";
    if (codeOf(error) === "EPERM") return "not_permitted";
    throw error;
  }
}

/** SIGHUP: closing a terminal ends what runs in it. */
const STOP_SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

function onStop(stop: (signal: StopSignal) => void): () => void {
  const calls = STOP_SIGNALS.map((signal) => [signal, () => stop(signal)] as const);
  for (const [signal, call] of calls) process.on(signal, call);
  return () => {
    for (const [signal, call] of calls) process.off(signal, call);
  };
}

function processStart(pid: number): string | undefined {
  if (process.platform === "linux") return linuxProcessStart(pid);
  return capture("ps", ["-o", "lstart=", "-p", String(pid)]);
}

/**
 * Fields of /proc/PID/stat after the name, which can contain spaces and brackets: the state is first, the start time
 * 20th.
 */
const START_FIELD = 19;
const PROCESS_GROUP_FIELD = 2;
/** The process group in the foreground of the terminal; -1 without one. */
const TERMINAL_GROUP_FIELD = 5;

function statFields(pid: number | "self"): readonly string[] {
  const stat = files.read(`/proc/${pid}/stat`) ?? "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function linuxProcessStart(pid: number): string | undefined {
  const fields = statFields(pid);
  // A zombie has ended; its parent has not waited for it yet.
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[START_FIELD];
}

function portOwner(port: number): string | undefined {
  if (process.platform !== "linux") {
    return capture("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-F", "pc"])?.replaceAll("\n", " ");
  }
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  const listening = `${files.read("/proc/net/tcp") ?? ""}\n${files.read("/proc/net/tcp6") ?? ""}`
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .find((fields) => fields[1]?.endsWith(`:${hexPort}`) === true && fields[3] === "0A");
  const inode = listening?.[9];
  const pid =
    inode === undefined ? undefined : readdirSync("/proc").find((entry) => holdsSocket(entry, inode));
  return pid && `${programOf(pid)} (pid ${pid})`;
}

/** The program of a process by its file: Node names its main thread otherwise. */
function programOf(pid: string): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, "");
  } catch {
    return files.read(`/proc/${pid}/comm`)?.trim() ?? "process";
  }
}

function holdsSocket(pid: string, inode: string): boolean {
  if (!/^\d+$/.test(pid)) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some(
      (fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`,
    );
  } catch {
    // The process ended, a descriptor was closed, or the process is another user's.
    return false;
  }
}

function capture(command: string, args: readonly string[]): string | undefined {
  try {
    return (
      childProcess()
        .execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
        .trim() || undefined
    );
  } catch {
    // The command does not exist, or it found nothing.
    return undefined;
  }
}

/** As the XDG base directories have it, which take only absolute paths; on Windows in `APPDATA`. */
function settingsFolder(): string | undefined {
  const isWindows = process.platform === "win32";
  const named = process.env[isWindows ? "APPDATA" : "XDG_CONFIG_HOME"] ?? "";
  if (isAbsolute(named)) return join(named, "hosted-checkout");
  const home = homeFolder();
  if (home === undefined) return undefined;
  return join(home, isWindows ? join("AppData", "Roaming") : ".config", "hosted-checkout");
}

/** The home folder of this process's user; undefined if the system knows none. */
function homeFolder(): string | undefined {
  try {
    const home = process.getBuiltinModule("node:os").homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    // A user without an entry, as in containers.
    return undefined;
  }
}

/**
 * The path of the executable's SQLite addon: written once for each content into a private cache folder. If there is no
 * folder that only we can write to, it is written into a new folder for this run.
 */
function unpackAddon(): string {
  const addon = new Uint8Array(sea().getRawAsset(SQLITE_ASSET));
  const os = process.getBuiltinModule("node:os");
  const named = process.env["XDG_CACHE_HOME"] ?? "";
  const folder = join(isAbsolute(named) ? named : join(os.homedir(), ".cache"), "hosted-checkout");
  try {
    return keepAddon(folder, addon);
  } catch {
    // No home, a read-only one, or another user's folder, as in containers.
    return keepAddon(mkdtempSync(join(os.tmpdir(), "hosted-checkout-")), addon);
  }
}

/**
 * Writes code that will be loaded into a folder that nobody but us can read or write, and returns its path. Throws for
 * any other folder. A file that is there is kept only if it is ours, no link, and has the same bytes.
 */
export function keepAddon(folder: string, addon: Uint8Array): string {
  files.makeFolder(folder);
  if (!isAbsolute(folder) || !isOursAlone(folder, "folder")) throw new Error(`${folder} is not private`);
  const path = join(folder, `${crypto().hash("sha256", addon, "hex")}.node`);
  if (!isOursAlone(path, "file") || !holds(path, addon)) files.write(path, addon);
  return path;
}

function holds(path: string, content: Uint8Array): boolean {
  return files.size(path) === content.length && readOrdinary(path)?.bytes.equals(content) === true;
}

/** Whether it is there, ours, and other users can neither read nor write it. */
function isOursAlone(path: string, kind: PathFacts["kind"]): boolean {
  const found = files.look(path);
  return found?.kind === kind && found.isOwn && found.openTo === "nobody";
}

function factsOf(stats: BigIntStats): PathFacts {
  const user = process.getuid?.();
  const mode = user === undefined ? 0 : Number(stats.mode);
  return {
    kind: kindOf(stats),
    isOwn: user === undefined || Number(stats.uid) === user,
    openTo: (mode & 0o022) !== 0 ? "writers" : (mode & 0o077) !== 0 ? "readers" : "nobody",
    changedAt: Number(stats.mtimeMs),
    id: `${stats.dev}:${stats.ino}`,
  };
}

function kindOf(stats: BigIntStats): PathFacts["kind"] {
  if (stats.isDirectory()) return "folder";
  if (stats.isFile()) return "file";
  return stats.isSymbolicLink() ? "link" : "other";
}

function codeOf(error: unknown): string | undefined {
  return isError(error) ? (error as NodeJS.ErrnoException).code : undefined;
}

/** An aborted sleep ends early; the caller looks at the signal. */
function ignoreAbort(error: unknown): void {
  if (!(isError(error) && error.name === "AbortError")) throw error;
}
