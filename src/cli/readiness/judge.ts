import { calibrationAgeMs } from "../../core/calibration/calibration.ts";
import { readProjectCalibration } from "../calibration/record.ts";
import { isSameServer } from "../../core/loopback.ts";
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

/** Judges the folder's sandbox by facts, and a service by its calibration record: nothing is sent to the service. */
export async function judgeReadiness(
  context: Context,
  options: ServiceOptions,
  signal: AbortSignal,
): Promise<ChecklistReport> {
  const { value: service } = resolveTarget(context).baseUrl;
  if (options.baseUrl !== undefined && service !== null) {
    const ownSandbox = catchRefusal(() => findSandbox(context)).value;
    const isOwn = ownSandbox !== undefined && isSameServer(ownSandbox.origin, service);
    if (!isOwn) return judgeOtherService(context, service);
  }
  const control = await controlTarget(context);
  const answer = await callAt(context, control, { name: "checklist", body: undefined, signal });
  return { ...answer, source: "sandbox", service: `${control.origin}/v1`, ...calibrationField(context) };
}

function calibrationField(context: Context): Pick<ChecklistReport, "calibration"> {
  const record = readProjectCalibration(context);
  if (record === undefined) return { calibration: null };
  return { calibration: { record, ageMs: calibrationAgeMs(record, context.world.now()) } };
}

function judgeOtherService(context: Context, service: string): ChecklistReport {
  const { world } = context;
  noteTarget(context, service);
  if (isTyped(world, "store")) {
    const message =
      "--store names a store of a sandbox; at another service, the API key determines the store";
    throw refuseUsage(message, "leave it out, or leave out --base-url");
  }
  const { calibration } = calibrationField(context);
  const record = calibration?.record.service === service ? calibration.record : undefined;
  const report = judgeService(record, `checkout calibrate --base-url ${quote(service, shellOf(world.env))}`);
  return { ...report, source: "service", service, storeId: null, calibration, judgedAt: world.now() };
}
