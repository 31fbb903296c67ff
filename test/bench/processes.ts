import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LoadOrder, LoadReply, LoadResult } from "./load.ts";

/** The real binary, as npx runs it; `npm run bench` builds it first. */
export const PROGRAM = join(import.meta.dirname, "../../bin/checkout.cjs");

/** A server that is ready; `ready` is its first line of stdout. */
export type Server = {
  readonly pid: number;
  readonly ready: Record<string, unknown>;
  readonly stop: () => Promise<void>;
};

/** A sandbox with the values of its ready line. */
export type Sandbox = Server & {
  readonly port: number;
  readonly apiKey: string;
  readonly storeId: string;
  readonly folder: string;
};

/** Starts the processes and names the files of a benchmark; `end` stops and removes all of them. */
export type Bench = {
  /** A new path below the benchmark's own folder. */
  readonly newPath: (name: string) => string;
  /** Starts Node with these arguments and waits for its first line, one object of JSON. */
  readonly startServer: (args: readonly string[]) => Promise<Server>;
  readonly startSandbox: (folder: string, more?: readonly string[]) => Promise<Sandbox>;
  /** Runs Node with these arguments to its end; throws unless it exits with 0. */
  readonly run: (args: readonly string[]) => Promise<void>;
  /** Starts the load generator; orders are carried out one at a time. */
  readonly startLoad: () => (order: LoadOrder) => Promise<LoadResult>;
  readonly end: () => void;
};

/** The command line of the sandbox that is measured: durable, without rate limit, printing no request log. */
export function sandboxArgs(folder: string): readonly string[] {
  return [
    PROGRAM,
    "sandbox",
    "start",
    "--json",
    "--port",
    "0",
    "--quiet",
    "--rate-limit",
    "off",
    "--dir",
    folder,
  ];
}

export function openBench(): Bench {
  const folder = mkdtempSync(join(tmpdir(), "checkout-bench-"));
  const children = new Set<ChildProcess>();
  let paths = 0;
  const start = (args: readonly string[]): ChildProcess => {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    return keep(children, child);
  };
  const startServer: Bench["startServer"] = (args) => waitUntilReady(start(args));

  return {
    newPath: (name) => join(folder, `${(paths += 1)}-${name}`),
    startServer,
    startSandbox: async (path, more = []) =>
      describeSandbox(await startServer([...sandboxArgs(path), ...more]), path),
    run: (args) => runToEnd(start(args), args),
    startLoad: () =>
      createLoad(keep(children, fork(join(import.meta.dirname, "load.ts"), { env: cleanEnvironment() }))),
    end: () => {
      for (const child of children) child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function keep(children: Set<ChildProcess>, child: ChildProcess): ChildProcess {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** The environment without settings of the user, which would affect the measurement. */
function cleanEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(CHECKOUT_|NODE_|CI$)/.test(name)),
  );
}

async function waitUntilReady(child: ChildProcess): Promise<Server> {
  const errors = collectErrors(child);
  const gone = once(child, "close");
  let line = "";
  const firstLine = new Promise<void>((resolve) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      line += text;
      if (text.includes("\n")) resolve();
    });
  });
  await Promise.race([firstLine, gone]);
  if (!line.includes("\n") || child.pid === undefined) throw new Error(`a server did not start: ${errors()}`);
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await gone;
  };
  return { pid: child.pid, ready: JSON.parse(line) as Record<string, unknown>, stop };
}

function describeSandbox(server: Server, folder: string): Sandbox {
  const { base_url, api_key, store_id } = server.ready;
  const port = Number(new URL(String(base_url)).port);
  return { ...server, port, apiKey: String(api_key), storeId: String(store_id), folder };
}

async function runToEnd(child: ChildProcess, args: readonly string[]): Promise<void> {
  const errors = collectErrors(child);
  child.stdout?.resume();
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${errors()}`);
}

function collectErrors(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (part: string) => (text += part));
  return () => text;
}

function createLoad(child: ChildProcess): (order: LoadOrder) => Promise<LoadResult> {
  const ended = once(child, "exit").then(() => ({ ok: false, message: "the load generator ended" }) as const);
  return async (order) => {
    const answered = new Promise<LoadReply>((resolve) =>
      child.once("message", (reply) => resolve(reply as LoadReply)),
    );
    child.send(order);
    const reply = await Promise.race([answered, ended]);
    if (!reply.ok) throw new Error(`load on port ${order.port} failed: ${reply.message}`);
    return reply.result;
  };
}
