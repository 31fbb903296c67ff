import type { Readable } from "node:stream";
import { accept, type Outcome } from "../core/outcome.ts";
import type { World } from "../world.ts";
import { MAX_INPUT_BYTES, readNamedFile, type ReadFailure } from "../host/named-file.ts";
import { refuseUsage } from "./problem.ts";

export const STDIN = "-";

/** Reads a file, or standard input for `-`. Refuses input that is missing, unreadable or over 16 MiB. */
export async function readInput(
  world: Pick<World, "cwd" | "files" | "stdin">,
  path: string,
  flag: string,
): Promise<Uint8Array> {
  const outcome = path === STDIN ? await readAll(world.stdin()) : readNamedFile(world, path);
  if (outcome.ok) return outcome.value;
  const name = path === STDIN ? "standard input" : path;
  throw refuseUsage(
    `${flag}: ${name} ${outcome.refusal.reason}`,
    `name a regular file, or ${STDIN} for standard input`,
  );
}

async function readAll(stdin: Readable): Promise<Outcome<Uint8Array, ReadFailure>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Uint8Array);
    chunks.push(bytes);
    length += bytes.length;
    if (length > MAX_INPUT_BYTES)
      return { ok: false, refusal: { isMissing: false, reason: `has more than ${MAX_INPUT_BYTES} bytes` } };
  }
  return accept(Buffer.concat(chunks));
}
