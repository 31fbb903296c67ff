import { resolve } from "node:path";
import { accept, FileRefused, type Outcome } from "../core/outcome.ts";
import type { World } from "../world.ts";
import { storageFailureOf } from "../store/connection/storage-failure.ts";
import { failUsage, type Problem } from "./problem.ts";

/** Stands for standard input where a file is asked for. */
export const STDIN = "-";

/** The most that is read from a file or from standard input, in bytes. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;

/** The bytes of a file, or of standard input for `-`. Refuses what is not there, cannot be read or is over 16 MiB. */
export async function readInput(
  world: Pick<World, "cwd" | "files" | "stdin">,
  path: string,
  flag: string,
): Promise<Outcome<Uint8Array, Problem>> {
  const read = path === STDIN ? await readAll(world.stdin) : readNamed(world, path);
  if (read.ok) return read;
  const name = path === STDIN ? "standard input" : path;
  return failUsage(
    `${flag}: ${name} ${read.refusal.why}`,
    `name an ordinary file, or ${STDIN} for standard input`,
  );
}

async function readAll(stdin: World["stdin"]): Promise<Outcome<Uint8Array, Unread>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Uint8Array);
    chunks.push(bytes);
    length += bytes.length;
    if (length > MAX_INPUT_BYTES)
      return { ok: false, refusal: { isMissing: false, why: `has more than ${MAX_INPUT_BYTES} bytes` } };
  }
  return accept(Buffer.concat(chunks));
}

/** Why there is nothing to read at a path that a person named: `why` goes on from the path. */
type Unread = { readonly isMissing: boolean; readonly why: string };

/**
 * The bytes of a file that a person named, a link to it included, or why there are none: it is missing, no ordinary file,
 * too large, or cannot be read. `maxBytes` defaults to 16 MiB.
 */
export function readNamed(
  { cwd, files }: Pick<World, "cwd" | "files">,
  path: string,
  { maxBytes = MAX_INPUT_BYTES }: { readonly maxBytes?: number } = {},
): Outcome<Uint8Array, Unread> {
  try {
    const bytes = files.readBytes(resolve(cwd, path), { followsLinks: true, maxBytes });
    if (bytes !== undefined) return accept(bytes);
    return { ok: false, refusal: { isMissing: true, why: "does not exist" } };
  } catch (error) {
    return { ok: false, refusal: { isMissing: false, why: whyUnread(error) } };
  }
}

function whyUnread(error: unknown): string {
  if (error instanceof FileRefused) return error.why;
  const cause = storageFailureOf(error)?.sentence;
  return `cannot be read: ${cause ?? (error instanceof Error ? error.message : String(error))}`;
}

/** The same as text. */
export function readNamedText(
  world: Pick<World, "cwd" | "files">,
  path: string,
  options?: { readonly maxBytes?: number },
): Outcome<string, Unread> {
  const read = readNamed(world, path, options);
  return read.ok ? accept(Buffer.from(read.value).toString("utf8")) : read;
}
