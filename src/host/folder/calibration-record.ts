import { basename, dirname, join } from "node:path";
import { calibrationRecord, type Calibration } from "../../core/calibration/calibration.ts";
import { parseJson } from "../../core/json.ts";
import type { World } from "../../world.ts";
import { readNamedText } from "../named-file.ts";
import { FOLDER_NAME } from "./location.ts";

export const CALIBRATION_FILE = "checkout.calibration.json";

export function calibrationPath({ cwd }: Pick<World, "cwd">, stateFolder: string | undefined): string {
  const isOfProject = stateFolder !== undefined && basename(stateFolder) === FOLDER_NAME;
  return join(isOfProject ? dirname(stateFolder) : cwd, CALIBRATION_FILE);
}

export function readCalibration(world: Pick<World, "cwd" | "files">, path: string): Calibration | undefined {
  const text = readNamedText(world, path);
  return text.ok ? calibrationRecord.safeParse(parseJson(text.value)).data : undefined;
}
