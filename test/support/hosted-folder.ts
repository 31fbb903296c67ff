import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { begin, type RunOptions, type Process } from "./program.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A start of `hosted dev`, with its ready line unless it was refused. */
type HostedStart = Process & {
  readonly ready: ReadyMessage | undefined;
};

/** Starts `hosted dev` on a state folder without waiting until it is ready. The service ends with the test. */
export function beginHostedFolder(
  folder: string,
  args: readonly string[] = [],
  options: Pick<RunOptions, "command"> = {},
): Process {
  return begin(["hosted", "dev", "--port", "0", "--dir", folder, "--json", ...args], {
    cwd: ROOT,
    ...options,
  });
}

/** Starts `hosted dev` on a state folder, and waits until it is ready or refused. The service ends with the test. */
export async function startHostedFolder(folder: string, args: readonly string[] = []): Promise<HostedStart> {
  const started = beginHostedFolder(folder, args);
  await untilFirstLine(started);
  return { ...started, ready: readyOf(started) };
}

/** Waits for the ready line of a start; fails with its stderr if the start ends before. */
export async function untilReady(running: Process): Promise<ReadyMessage> {
  await untilFirstLine(running);
  const ready = readyOf(running);
  if (ready === undefined) throw new Error(`the service ended: ${running.output.stderr}`);
  return ready;
}

async function untilFirstLine({ process: child, output, ended }: Process): Promise<void> {
  const firstLine = new Promise<void>((resolve) => {
    child.stdout?.on("data", () => {
      if (output.stdout.includes("\n")) resolve();
    });
  });
  await Promise.race([firstLine, ended]);
}

/** The ready line of a start; undefined if it has not been printed. */
export function readyOf({ output }: Process): ReadyMessage | undefined {
  return output.stdout.includes("\n") ? (JSON.parse(output.stdout) as ReadyMessage) : undefined;
}

/** Replaces a folder with a copy of another folder. */
export function putFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true });
}

/** Files without state that a start writes, or that SQLite makes to read a database. */
const WITHOUT_STATE = /(?:^|\/)(?:run\.json|\.gitignore|[^/]*-shm|[^/]*\.sqlite-wal)$/;

/** The digest of each file of a state folder that contains state. */
export function digestsOf(folder: string): Readonly<Record<string, string>> {
  const names = (existsSync(folder) ? readdirSync(folder, { recursive: true }) : []) as string[];
  const files = names.filter((name) => statSync(join(folder, name)).isFile() && !WITHOUT_STATE.test(name));
  const digest = (name: string): string =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  return Object.fromEntries(files.toSorted().map((name) => [name, digest(name)]));
}
