import type { Calibration } from "../../core/calibration/calibration.ts";
import { calibrationPath, readCalibration } from "../../host/folder/calibration-record.ts";
import type { Context } from "../command.ts";

export function recordPath({ world, around }: Context): string {
  return calibrationPath(world, around.location());
}

export function readProjectCalibration(context: Context): Calibration | undefined {
  return readCalibration(context.world, recordPath(context));
}
