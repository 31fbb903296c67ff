import { calibrationAge } from "../../core/calibration/calibration.ts";
import { projectCalibration } from "../calibration/record.ts";
import { isSameServer } from "../../core/loopback.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { PROBE_TERMS, probeService } from "../../client/api/probe.ts";
import type { ChecklistReport } from "../../core/readiness/report.ts";
import { judgeService, type ServiceProbe } from "../../core/readiness/probed-service.ts";
import { formatAmount } from "../../core/money.ts";
import { quote, shellOf } from "../../core/shell/quote.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { noteTarget } from "../target/notes.ts";
import { interruptedProblem, Refused, refuseUsage, catchRefusal } from "../problem.ts";
import { connectWithSettings } from "../target/connect.ts";
import { isTyped } from "../option-rules.ts";
import { callAt } from "../target/call.ts";
import { controlTarget, findSandbox } from "../target/control.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { type ResolvedTarget, resolveTarget } from "../target/resolve.ts";

/** Options of the judgement: the judged service, and whether to watch or probe it. */
export type JudgeOptions = ServiceOptions & {
  readonly watch?: boolean;
  readonly probe?: boolean;
};

/** Judges the checklist once. */
export type Judge = (signal: AbortSignal) => Promise<ChecklistReport>;

/** The folder's sandbox, judged by its facts, or another service, judged by its v1 answers. */
type JudgedService =
  | { readonly source: "sandbox"; readonly control: ControlTarget }
  | { readonly source: "service"; readonly service: string; readonly settings: ResolvedTarget };

type OtherService = Extract<JudgedService, { source: "service" }>;

/** Creates the judge of `checkout checklist`: for the folder's sandbox, or for a named service. */
export async function createJudge(context: Context, options: JudgeOptions): Promise<Judge> {
  const place = await placeOf(context, options);
  return place.source === "sandbox"
    ? judgeSandbox(context, place.control)
    : judgeAnyService(context, options, place);
}

async function placeOf(context: Context, options: JudgeOptions): Promise<JudgedService> {
  const settings = resolveTarget(context, undefined);
  const { value: service } = settings.baseUrl;
  if (options.baseUrl !== undefined && service !== null) {
    const own = catchRefusal(() => findSandbox(context)).value;
    const isOwn = own !== undefined && isSameServer(own.origin, service);
    if (!isOwn) return elsewhere(context, options, { source: "service", service, settings });
  }
  const control = await controlTarget(context);
  if (options.probe !== true) return { source: "sandbox", control };
  const message = "--probe is for another service: all facts of this sandbox are known";
  throw refuseUsage(message, "leave it out, or name a service with --base-url");
}

function elsewhere(context: Context, options: JudgeOptions, place: OtherService): JudgedService {
  noteTarget(context, { url: place.service });
  if (isTyped(context.world, "store")) {
    const message =
      "--store names a store of a sandbox; at another service, the API key determines the store";
    throw refuseUsage(message, "leave it out, or leave out --base-url");
  }
  if (options.watch !== true) return place;
  const message = "--watch works only with the sandbox of this folder: another service does not show changes";
  throw refuseUsage(message, "leave it out, or leave out --base-url");
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

/** Sends nothing to a service without `--probe`, because the probe creates an order. */
function judgeAnyService(
  context: Context,
  options: JudgeOptions,
  { service, settings }: OtherService,
): Judge {
  const { world, printer } = context;
  const report = (probe: ServiceProbe | null): ChecklistReport => {
    const address = quote(service, shellOf(world.env));
    const judged = judgeService(probe, `checkout checklist --probe --base-url ${address}`);
    return {
      ...judged,
      source: "service",
      service,
      storeId: null,
      judgedAt: world.now(),
      ...withCalibration(context),
    };
  };
  if (options.probe !== true) return () => Promise.resolve(report(null));
  const target = connectWithSettings(context, settings);
  return async (signal) => {
    const sum = formatAmount(PROBE_TERMS.amount_minor, PROBE_TERMS.currency);
    printer.talk(
      `probing ${printable(service)}: this creates one order for ${sum} there, which is never paid`,
    );
    const probe = await probeService(world, target, { timeoutMs: settings.timeoutMs.value, signal });
    if (signal.aborted) throw new Refused(interruptedProblem("; an order may have been created"));
    return report(probe);
  };
}
