import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function inTemporaryFolder<Value>(work: (folder: string) => Value): Value {
  const folder = mkdtempSync(join(tmpdir(), "checkout-release-"));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
