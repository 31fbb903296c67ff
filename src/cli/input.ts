import { resolve } from "node:path";
import { accept, type Outcome } from "../core/outcome.ts";
import type { World } from "../world.ts";
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
  const bytes = path === STDIN ? await readAll(world.stdin) : readFile(world, path);
  if (typeof bytes !== "string" && bytes.length <= MAX_INPUT_BYTES) return accept(bytes);
  const why = typeof bytes === "string" ? bytes : `is over ${MAX_INPUT_BYTES / 1024 / 1024} MiB`;
  const name = path === STDIN ? "standard input" : path;
  return failUsage(`${flag}: ${name} ${why}`, `name a file that can be read, or ${STDIN}`);
}

async function readAll(stdin: World["stdin"]): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Uint8Array);
    chunks.push(bytes);
    length += bytes.length;
    if (length > MAX_INPUT_BYTES) break;
  }
  return Buffer.concat(chunks);
}

/** The bytes, or why there are none. */
function readFile({ cwd, files }: Pick<World, "cwd" | "files">, path: string): Uint8Array | string {
  try {
    return files.readBytes(resolve(cwd, path)) ?? "does not exist";
  } catch (error) {
    // A folder, or a file of somebody else: the person named it, so it is no defect of ours.
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
