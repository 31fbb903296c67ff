import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";

/** A file of a format from before the baseline; `log`: what a killed process left beside it. */
export type OlderFile = {
  /** `sandbox.db`, its backup before a migration, `requests.db`, or `old.snapshot`. */
  readonly name: string;
  readonly format: number;
  readonly content: Buffer;
  readonly log: Buffer | undefined;
};

type Packed = { readonly file: string; readonly format: number } & {
  readonly content: string;
  readonly log?: string;
};

const PACKED = join(import.meta.dirname, "../../fixtures/older-formats.json.br");

/** A file of each format, as the last program wrote it that had their migrations; the log begins with a later commit. */
export function olderFiles(): readonly OlderFile[] {
  const packed = JSON.parse(brotliDecompressSync(readFileSync(PACKED)).toString()) as readonly Packed[];
  return packed.map(({ file, format, content, log }) => ({
    name: file,
    format,
    content: Buffer.from(content, "base64"),
    log: log === undefined ? undefined : Buffer.from(log, "base64"),
  }));
}
