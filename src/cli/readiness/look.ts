import { isSameServer } from "../../core/loopback.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { PROBE_TERMS, probeService } from "../../client/api/probe.ts";
import type { ChecklistReport } from "../../core/readiness/report.ts";
import { judgeService, type ServiceProbe } from "../../core/readiness/probed-service.ts";
import { formatAmount } from "../../core/money.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { quote, shellOf } from "../../core/shell/quote.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { noteTarget } from "../target/notes.ts";
import { fail, failUsage, interruptedProblem, type Problem } from "../problem.ts";
import { connect } from "../target/connect.ts";
import { isStoreTyped } from "../target/named-store.ts";
import { callAt } from "../target/call.ts";
import { controlTarget, sandboxIn } from "../target/control.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { type Settings, serviceSettings } from "../target/service.ts";

/** What is judged, and by which items. */
export type LookOptions = ServiceOptions & {
  readonly watch?: boolean;
  readonly probe?: boolean;
};

/** Judges once. */
export type Look = (signal: AbortSignal) => Promise<Outcome<ChecklistReport, Problem>>;

/** The sandbox of this folder by its facts, or a service by what v1 shows of it. */
type Place =
  | { readonly source: "sandbox"; readonly control: ControlTarget }
  | { readonly source: "service"; readonly service: string; readonly settings: Settings };

type ServicePlace = Extract<Place, { source: "service" }>;

/** What `checkout checklist` looks at: the sandbox of this folder, unless another service was named. */
export async function lookFor(context: Context, options: LookOptions): Promise<Outcome<Look, Problem>> {
  const place = await placeOf(context, options);
  if (!place.ok) return place;
  return place.value.source === "sandbox"
    ? accept(sandboxLook(context, place.value.control))
    : serviceLook(context, options, place.value);
}

async function placeOf(context: Context, options: LookOptions): Promise<Outcome<Place, Problem>> {
  const settings = serviceSettings(context, undefined);
  if (!settings.ok) return settings;
  const { value: service } = settings.value.baseUrl;
  if (options.baseUrl !== undefined && service !== null) {
    const own = sandboxIn(context);
    const isOwn = own.ok && own.value !== undefined && isSameServer(own.value.origin, service);
    if (!isOwn) return elsewhere(context, options, { source: "service", service, settings: settings.value });
  }
  const control = await controlTarget(context);
  if (!control.ok) return control;
  if (options.probe !== true) return accept({ source: "sandbox", control: control.value });
  const message = "--probe is for another service: all facts of this sandbox are known";
  return failUsage(message, "leave it out, or name a service with --base-url");
}

function elsewhere(context: Context, options: LookOptions, place: ServicePlace): Outcome<Place, Problem> {
  noteTarget(context, { url: place.service });
  if (isStoreTyped(context.world)) {
    const message = "--store names a store of a sandbox: another service has the one of its API key";
    return failUsage(message, "leave it out, or leave out --base-url");
  }
  if (options.watch !== true) return accept(place);
  const message = "--watch works only with the sandbox of this folder: another service does not show changes";
  return failUsage(message, "leave it out, or leave out --base-url");
}

function sandboxLook(context: Context, control: ControlTarget): Look {
  return async (signal) => {
    const judged = await callAt(context, control, { name: "checklist", body: undefined, signal });
    if (!judged.ok) return judged;
    return accept({ ...judged.value, source: "sandbox", service: `${control.origin}/v1` });
  };
}

/** A service is asked nothing unless that was said, because one of the questions is an order. */
function serviceLook(
  context: Context,
  options: LookOptions,
  { service, settings }: ServicePlace,
): Outcome<Look, Problem> {
  const { world, printer } = context;
  const report = (probe: ServiceProbe | null): ChecklistReport => {
    const address = quote(service, shellOf(world.env));
    const judged = judgeService(probe, `checkout checklist --probe --base-url ${address}`);
    return { ...judged, source: "service", service, storeId: null, judgedAt: world.now() };
  };
  if (options.probe !== true) return accept(() => Promise.resolve(accept(report(null))));
  const target = connect(context, settings);
  if (!target.ok) return target;
  return accept(async (signal) => {
    const sum = formatAmount(PROBE_TERMS.amount_minor, PROBE_TERMS.currency);
    printer.talk(`asking ${printable(service)}, which creates one order over ${sum} there; it is never paid`);
    const probe = await probeService(world, target.value, { timeoutMs: settings.timeoutMs.value, signal });
    return signal.aborted
      ? fail(interruptedProblem("; an order may have been created"))
      : accept(report(probe));
  });
}
