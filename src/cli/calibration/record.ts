import { calibration, type Calibration } from "../../core/calibration/calibration.ts";
import { parseJson } from "../../core/json.ts";
import type { World } from "../../world.ts";

/** The name of the record of a calibration, in the current folder. */
export const DEFAULT_RECORD = "checkout.calibration.json";

/** The record of a calibration in a file; undefined if there is none, or if the file is no such record. */
export function recordAt({ files }: Pick<World, "files">, path: string): Calibration | undefined {
  return files.exists(path) ? calibration.safeParse(parseJson(files.read(path) ?? "")).data : undefined;
}
