import { calibrationAge } from "../../core/calibration/calibration.ts";
import { projectCalibration } from "../calibration/record.ts";
import { isSameServer } from "../../core/loopback.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { ChecklistReport } from "../../core/readiness/report.ts";
import { judgeService } from "../../core/readiness/other-service.ts";
import { quote, shellOf } from "../../core/shell/quote.ts";
import type { Context } from "../command.ts";
import { noteTarget } from "../target/notes.ts";
import { refuseUsage, catchRefusal } from "../problem.ts";
import { isTyped } from "../option-rules.ts";
import { callAt } from "../target/call.ts";
import { controlTarget, findSandbox } from "../target/control.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { resolveTarget } from "../target/resolve.ts";

export type JudgeOptions = ServiceOptions & { readonly watch?: boolean };

export type Judge = (signal: AbortSignal) => Promise<ChecklistReport>;

/** For the folder's sandbox by its facts; for a service by its calibration record: nothing is sent to it. */
export async function createJudge(context: Context, options: JudgeOptions): Promise<Judge> {
  const { value: service } = resolveTarget(context).baseUrl;
  if (options.baseUrl !== undefined && service !== null) {
    const own = catchRefusal(() => findSandbox(context)).value;
    const isOwn = own !== undefined && isSameServer(own.origin, service);
    if (!isOwn) return judgeOtherService(context, options, service);
  }
  return judgeSandbox(context, await controlTarget(context));
}

function judgeSandbox(context: Context, control: ControlTarget): Judge {
  return async (signal) => {
    const judged = await callAt(context, control, { name: "checklist", body: undefined, signal });
    return { ...judged, source: "sandbox", service: `${control.origin}/v1`, ...withCalibration(context) };
  };
}

function withCalibration(context: Context): Pick<ChecklistReport, "calibration"> {
  const record = projectCalibration(context);
  if (record === undefined) return { calibration: null };
  return { calibration: { record, ageMs: calibrationAge(record, context.world.now()) } };
}

function judgeOtherService(context: Context, options: JudgeOptions, service: string): Judge {
  const { world } = context;
  noteTarget(context, { url: service });
  if (isTyped(world, "store")) {
    const message =
      "--store names a store of a sandbox; at another service, the API key determines the store";
    throw refuseUsage(message, "leave it out, or leave out --base-url");
  }
  if (options.watch === true) {
    const message =
      "--watch works only with the sandbox of this folder: another service does not show changes";
    throw refuseUsage(message, "leave it out, or leave out --base-url");
  }
  const { calibration } = withCalibration(context);
  const record = calibration?.record.service === service ? calibration.record : undefined;
  const judged = judgeService(record, `checkout calibrate --base-url ${quote(service, shellOf(world.env))}`);
  const report = { ...judged, source: "service", service, storeId: null, calibration } as const;
  return () => Promise.resolve({ ...report, judgedAt: world.now() });
}
