import { execFileSync } from "node:child_process";
import { hash, randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { getRawAsset, isSea } from "node:sea";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { serve } from "./web/server.ts";
import type { Files, OutboundRequest, OutboundResult, World } from "./world.ts";

/** Name of the SQLite addon inside the single executable. */
export const SQLITE_ASSET = "better_sqlite3.node";

/** The world as it is: this process, its clock, its disk and its network. Everything that it writes is its user's alone. */
export function realWorld(): World {
  // Before the first file is opened: SQLite makes its files with the mode that the umask leaves.
  process.umask(0o077);
  for (const stream of [process.stdout, process.stderr]) stream.on("error", ignoreClosedPipe);
  return {
    argv: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    pid: process.pid,
    interactive: process.stdin.isTTY && process.stderr.isTTY && process.env["CI"] === undefined,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    files,
    sqliteAddon: () => (isSea() ? unpackAddon() : undefined),
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(ignoreAbort),
    after: (milliseconds, run) => void setTimeout(run, milliseconds).unref(),
    soon: (run) => void setImmediate(run),
    uuid: () => v7(),
    randomBytes: (length) => randomBytes(length),
    random: () => Math.random(),
    send,
    listen: (makeHandler, { port }) => serve(makeHandler, { port, uuid: () => v7() }),
    portOwner,
    processStart,
    onStop,
  };
}

const files: Files = {
  read: (path) => (existsSync(path) ? readFileSync(path, "utf8") : undefined),
  readBytes: (path) => (existsSync(path) ? readFileSync(path) : undefined),
  write: (path, content) => {
    const unfinished = `${path}.new`;
    rmSync(unfinished, { force: true });
    writeNew(unfinished, content);
    renameSync(unfinished, path);
  },
  createNew: (path, content) => {
    try {
      writeNew(path, content);
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    }
  },
  remove: (path) => rmSync(path, { force: true }),
  makeFolder: (path) => {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    chmodSync(path, 0o700);
  },
  exists: (path) => existsSync(path),
};

function writeNew(path: string, content: string | Uint8Array): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeSync(file, typeof content === "string" ? Buffer.from(content) : content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Sends with undici, which is loaded when it is first needed: no command waits for what it does not use. */
async function send(outbound: OutboundRequest): Promise<OutboundResult> {
  const { request } = await import("undici");
  const { method, url, headers, body, timeoutMs, maxResponseBytes, signal } = outbound;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await request(url, {
      method,
      headers,
      body: body ?? null,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxResponseBytes) {
        return { ok: false, failure: "bad_answer", message: `the answer is larger than ${maxResponseBytes} bytes` };
      }
      chunks.push(chunk);
    }
    const lines = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
    const text = Buffer.concat(chunks).toString("utf8");
    return { ok: true, status: response.statusCode, headers: Object.fromEntries(lines), body: text };
  } catch (error) {
    if (signal?.aborted === true) return { ok: false, failure: "aborted", message: "interrupted" };
    if (timeout.aborted) return { ok: false, failure: "timeout", message: `no whole answer within ${timeoutMs} ms` };
    return { ok: false, ...classify(error) };
  }
}

/** Errors that come before a connection stands, so that nothing was sent. */
const BEFORE_CONNECTION =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

function classify(error: unknown): { failure: "unreachable" | "connection_lost" | "bad_answer"; message: string } {
  const code = codeOf(error);
  const message = error instanceof Error && error.message !== "" ? error.message : code;
  if (BEFORE_CONNECTION.test(code)) return { failure: "unreachable", message };
  return { failure: code.startsWith("HPE_") ? "bad_answer" : "connection_lost", message };
}

function onStop(stop: (signal: "SIGINT" | "SIGTERM") => void): () => void {
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return () => {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  };
}

function processStart(pid: number): string | undefined {
  if (process.platform === "linux") return linuxProcessStart(pid);
  return run("ps", ["-o", "lstart=", "-p", String(pid)]);
}

/** Field 22 of /proc/PID/stat, counted behind the name, which can hold spaces and brackets. */
function linuxProcessStart(pid: number): string | undefined {
  const stat = files.read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

function portOwner(port: number): string | undefined {
  if (process.platform !== "linux") {
    return run("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-F", "pc"])?.replaceAll("\n", " ");
  }
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  const listening = `${files.read("/proc/net/tcp") ?? ""}\n${files.read("/proc/net/tcp6") ?? ""}`
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .find((fields) => fields[1]?.endsWith(`:${hexPort}`) === true && fields[3] === "0A");
  const inode = listening?.[9];
  const pid = inode === undefined ? undefined : readdirSync("/proc").find((entry) => holdsSocket(entry, inode));
  return pid && `${files.read(`/proc/${pid}/comm`)?.trim() ?? "process"} (pid ${pid})`;
}

function holdsSocket(pid: string, inode: string): boolean {
  if (!/^\d+$/.test(pid)) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`);
  } catch {
    // The process ended, a descriptor was closed meanwhile, or the process is another user's.
    return false;
  }
}

function run(command: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim() || undefined;
  } catch {
    // The command is not there, or it found nothing; either way there is nothing to say.
    return undefined;
  }
}

/** Where the executable's SQLite addon is, for SQLite to load: written once for each content into a private folder. */
function unpackAddon(): string {
  const addon = new Uint8Array(getRawAsset(SQLITE_ASSET) as ArrayBuffer);
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const path = join(cache, "hosted-checkout", `${hash("sha256", addon, "hex")}.node`);
  const present = files.readBytes(path);
  if (present !== undefined && Buffer.compare(present, addon) === 0) return path;
  files.makeFolder(dirname(path));
  files.write(path, addon);
  return path;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const { code } = error as NodeJS.ErrnoException;
  return code ?? (error.cause === undefined ? error.name : codeOf(error.cause));
}

/** Whoever read our output has gone; that is no reason to fail. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

/** An aborted sleep ends early; the caller looks at the signal. */
function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === "AbortError")) throw error;
}
