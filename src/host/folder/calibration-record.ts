import { basename, dirname, join } from "node:path";
import { calibrationRecord, type Calibration } from "../../core/calibration/calibration.ts";
import { parseJson } from "../../core/json.ts";
import type { World } from "../../world.ts";
import { readNamedText } from "../named-file.ts";
import { FOLDER_NAME } from "./location.ts";

export const CALIBRATION_FILE = "checkout.calibration.json";

/** The path of the calibration record: next to a state folder named `.checkout`, otherwise in the current folder. */
export function calibrationPath({ cwd }: Pick<World, "cwd">, stateFolder: string | undefined): string {
  const isOfProject = stateFolder !== undefined && basename(stateFolder) === FOLDER_NAME;
  return join(isOfProject ? dirname(stateFolder) : cwd, CALIBRATION_FILE);
}

/** Reads a calibration record; undefined if the file is missing, unreadable or invalid. */
export function readCalibration(world: Pick<World, "cwd" | "files">, path: string): Calibration | undefined {
  const text = readNamedText(world, path);
  return text.ok ? calibrationRecord.safeParse(parseJson(text.value)).data : undefined;
}
