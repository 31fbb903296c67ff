import type { Calibration } from "../../core/calibration/calibration.ts";
import { calibrationPath, readCalibration } from "../../host/folder/calibration-record.ts";
import type { Context } from "../command.ts";

/** The path of the calibration record that a command writes and reads by default. */
export function recordPath({ world, around }: Context): string {
  return calibrationPath(world, around.location());
}

export function readProjectCalibration(context: Context): Calibration | undefined {
  return readCalibration(context.world, recordPath(context));
}
