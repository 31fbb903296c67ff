import type { Dialect } from "../../core/shape/dialect.ts";
import type { Outcome } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { usageFailure, type HostFailure } from "../failure.ts";
import { readNamedText } from "../named-file.ts";

export async function readDialectFile(
  world: Pick<World, "cwd" | "files">,
  file: string,
): Promise<Outcome<Dialect, HostFailure>> {
  const text = readNamedText(world, file);
  if (!text.ok) return usageFailure(`${printable(file)} ${text.refusal.reason}`, FIX_HINT);
  const { parseDialect } = await import("../../core/calibration/dialect-section.ts");
  const dialect = parseDialect(text.value);
  return dialect.ok ? dialect : usageFailure(`${printable(file)}: ${dialect.refusal.message}`, FIX_HINT);
}

const FIX_HINT = "name a file that checkout calibrate --write-dialect wrote, or correct it";
