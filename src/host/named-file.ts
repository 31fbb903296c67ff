import { resolve } from "node:path";
import { accept, FileRefused, isError, mapValue, type Outcome } from "../core/outcome.ts";
import { storageFailureOf } from "../store/connection/storage-failure.ts";
import type { World } from "../world.ts";

export const MAX_INPUT_BYTES = 16 * 1024 * 1024;

export type ReadFailure = { readonly isMissing: boolean; readonly reason: string };

export function readNamedFile(
  { cwd, files }: Pick<World, "cwd" | "files">,
  path: string,
  { maxBytes = MAX_INPUT_BYTES }: { readonly maxBytes?: number } = {},
): Outcome<Uint8Array, ReadFailure> {
  try {
    const bytes = files.readBytes(resolve(cwd, path), { followsLinks: true, maxBytes });
    if (bytes !== undefined) return accept(bytes);
    return { ok: false, refusal: { isMissing: true, reason: "does not exist" } };
  } catch (error) {
    return { ok: false, refusal: { isMissing: false, reason: readFailureText(error) } };
  }
}

function readFailureText(error: unknown): string {
  if (error instanceof FileRefused) return error.why;
  const cause = storageFailureOf(error)?.sentence;
  return `cannot be read: ${cause ?? (isError(error) ? error.message : String(error))}`;
}

export function readNamedText(
  world: Pick<World, "cwd" | "files">,
  path: string,
  options?: { readonly maxBytes?: number },
): Outcome<string, ReadFailure> {
  return mapValue(readNamedFile(world, path, options), (bytes) => Buffer.from(bytes).toString("utf8"));
}
