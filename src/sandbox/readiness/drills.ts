import { webhookSubject, type RecordedDrill } from "../../core/readiness/drills/drill.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import { accept, mapValue, refuse, type Outcome } from "../../core/outcome.ts";
import { wasOutOfReach } from "../../core/readiness/drills/webhook-request.ts";
import { drillSteps } from "../../core/readiness/drills/webhook-causes.ts";
import { endpointSecrets, type SecretsContext } from "../webhook/endpoint-secrets.ts";
import { atStore } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import { findAcceptedOrder, type AcceptedOrder } from "./accepted-order.ts";
import type { Leases } from "./leases.ts";
import { sendCases, type CasesContext, type DrillSubject as CasesSubject } from "./webhook-cases.ts";
import type { EndpointDrill } from "../../core/readiness/drill-shapes.ts";

/** The dependencies of drills. */
export type DrillsContext = Pick<ServiceContext, "store"> &
  SecretsContext &
  CasesContext & {
    readonly leases: Pick<Leases, "check">;
    readonly listenerTargets: ReadonlyMap<string, string>;
  };

type Subject = Omit<CasesSubject, "order"> & {
  /** The events of an order that the endpoint has accepted; null if there are none, or if order events are not sent. */
  readonly order: AcceptedOrder | null;
};

/** The endpoints to drill, and whether to send events of orders too. */
type DrillTarget = { readonly endpointId?: string | undefined; readonly orderEvents?: boolean | undefined };

/**
 * Drills one endpoint, or all enabled endpoints with an address: valid requests must be accepted, invalid requests
 * refused. The requests are not deliveries: no event is written, and the steps are the audit. Sends events of orders
 * only with consent (decision 67). Refuses with `not_found`, also if the lease has ended, and with `state_conflict` if
 * there is no endpoint to drill.
 */
export async function runWebhookDrill(
  context: DrillsContext,
  storeId: string,
  wanted: DrillTarget & { readonly leaseId?: string | undefined },
): Promise<Outcome<readonly EndpointDrill[]>> {
  const { leaseId } = wanted;
  const isWanted = (): Outcome<void> =>
    leaseId === undefined ? accept(undefined) : context.leases.check({ storeId, id: leaseId });
  const held = isWanted();
  if (!held.ok) return held;
  const subjects = await subjectsOf(context, storeId, wanted);
  if (!subjects.ok) return subjects;
  const drills = await Promise.all(
    subjects.value.map((subject) => drillEndpoint(context, subject, isWanted)),
  );
  const ended = drills.find((drilled) => !drilled.ok);
  return ended ?? accept(drills.flatMap((drilled) => (drilled.ok ? [drilled.value] : [])));
}

/** Stores the result of a drill. Refuses with `not_found` if there is no such store. */
export function recordDrill(
  context: DrillsContext,
  shown: Pick<RecordedDrill, "storeId" | "kind" | "subject" | "steps">,
): Promise<Outcome<RecordedDrill>> {
  return atStore(context, shown.storeId, (_store, at) => accept(insertDrill(context, shown, at)));
}

/** Stores the result of a drill; runs inside a write. */
export function insertDrill(
  { store, world }: DrillsContext,
  shown: Pick<RecordedDrill, "storeId" | "kind" | "subject" | "steps">,
  at: number,
): RecordedDrill {
  const passed = shown.steps.every((step) => step.passed);
  const drill = { ...shown, id: world.uuid(), passed, at };
  store.drills.insert(drill);
  return drill;
}

function subjectsOf(
  context: DrillsContext,
  storeId: string,
  { endpointId, orderEvents = false }: DrillTarget,
): Promise<Outcome<readonly Subject[]>> {
  return atStore(context, storeId, (store, now) => {
    const drilled = receiversOf(context, storeId, endpointId);
    return mapValue(drilled, (endpoints) =>
      endpoints.map((endpoint) => {
        const { inForce, retired } = endpointSecrets(context, endpoint, now);
        // Only the newest secret, so that the result stays true after the overlap of a rotation.
        const [secret, ...older] = inForce;
        if (secret === undefined) throw new Error(`endpoint ${endpoint.id} has no signing secret`);
        const order = orderEvents ? findAcceptedOrder(store, endpoint) : null;
        const secrets = { secret, olderSecrets: [...older, ...retired], retiredSecret: retired[0] };
        return { endpoint, ...secrets, order, now };
      }),
    );
  });
}

/**
 * The endpoints of a webhook drill. If `checkout listen` is the only endpoint, or is named, its forwarding address is
 * drilled, with the listener's secret. Refuses as `endpointsToDrill` does.
 */
function receiversOf(
  context: DrillsContext,
  storeId: string,
  endpointId?: string,
): Outcome<readonly Endpoint[]> {
  const enabled = context.store.endpoints.of(storeId).filter(({ state }) => state === "enabled");
  const listener = enabled.find(({ kind }) => kind === "listener");
  const target = context.listenerTargets.get(storeId);
  const isMeant = endpointId === undefined ? enabled.length === 1 : endpointId === listener?.id;
  if (listener === undefined || target === undefined || !isMeant || context.heldBack(storeId) !== undefined)
    return endpointsToDrill(context, storeId, endpointId);
  return accept([{ ...listener, url: target }]);
}

/**
 * The named endpoint, or all enabled endpoints without listeners, because production has no listeners. Refuses with
 * `state_conflict` if there is no endpoint to drill, or nothing is delivered.
 */
export function endpointsToDrill(
  { store, heldBack }: DrillsContext,
  storeId: string,
  endpointId?: string,
): Outcome<readonly Endpoint[]> {
  const hold = heldBack(storeId);
  if (hold !== undefined)
    return refuse("state_conflict", [`nothing is delivered: ${hold}`, `当前不推送：${hold}`]);
  const endpoints = store.endpoints.of(storeId);
  if (endpointId === undefined) {
    const on = endpoints.filter(({ kind, state }) => kind === "url" && state === "enabled");
    return on.length > 0
      ? accept(on)
      : refuse("state_conflict", [
          "no enabled endpoint has its own address, so there is nothing to drill",
          "没有启用且带地址的接收端，无可演练",
        ]);
  }
  const named = endpoints.find(({ id }) => id === endpointId);
  if (named === undefined)
    return refuse("not_found", [`there is no endpoint ${endpointId}`, `没有接收端 ${endpointId}`]);
  if (named.kind === "listener")
    return refuse("state_conflict", [
      `endpoint ${endpointId} belongs to checkout listen; drill the receiver to which it forwards`,
      `接收端 ${endpointId} 是 checkout listen；请演练它背后的接收端`,
    ]);
  if (named.state !== "enabled")
    return refuse("state_conflict", [
      `endpoint ${endpointId} is ${named.state}; enable it first`,
      `接收端 ${endpointId} 为 ${named.state}；请先启用`,
    ]);
  return accept([named]);
}

/** Refuses with `not_found` if the lease of the drill has ended. */
type LeaseCheck = () => Outcome<void>;

async function drillEndpoint(
  context: DrillsContext,
  subject: Subject,
  isWanted: LeaseCheck,
): Promise<Outcome<EndpointDrill>> {
  const { endpoint, secret, order, now } = subject;
  const sent = order === null ? null : { ...order.event, others: order.others };
  const drilled = await sendCases(context, { ...subject, order: sent }, () => isWanted().ok).finally(() =>
    context.webhookWatch.forget(endpoint),
  );
  const held = isWanted();
  // An interrupted drill has no verdict.
  if (!held.ok) return held;
  const isUnknown = wasOutOfReach(drilled.results);
  // If the receiver is down, only the cases that were sent have results.
  const names = isUnknown ? drilled.results.map(({ name }) => name) : drilled.names;
  const shown = {
    storeId: endpoint.storeId,
    kind: "webhook",
    subject: webhookSubject(endpoint, secret),
    steps: drillSteps({ ...drilled, names }, endpoint.id),
  } as const;
  const of = { endpointId: endpoint.id, url: endpoint.url, order: order?.checkout ?? null };
  // A drill without a verdict is not recorded; it does not replace the last drill with a verdict.
  if (isUnknown) return accept({ ...shown, ...of, verdict: "unknown", id: null, passed: false, at: now });
  const kept = await recordDrill(context, shown);
  if (!kept.ok) throw new Error(`the store of endpoint ${endpoint.id} no longer exists`);
  return accept({ ...kept.value, ...of, verdict: kept.value.passed ? "passed" : "failed" });
}
