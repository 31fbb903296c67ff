import type { RequestOf } from "../../core/control/operations.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { duplicatesSubject, type RecordedDrill } from "../../core/readiness/drills/drill.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { World } from "../../world.ts";
import { atStore } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import type { SecretsContext } from "../webhook/endpoint-secrets.ts";
import type { PostContext } from "../webhook/post.ts";
import type { Leases } from "./leases.ts";

export type DrillsContext = Pick<ServiceContext, "store"> &
  SecretsContext &
  PostContext & {
    readonly world: Pick<World, "now" | "uuid">;
    readonly leases: Pick<Leases, "check">;
    readonly listenerTargets: ReadonlyMap<string, string>;
  };

/** Refuses with `not_found`, and a drill of duplicates as `currentEndpoints` does. */
export function recordDrill(
  context: DrillsContext,
  storeId: string,
  body: RequestOf<"recordDrill">,
): Promise<Outcome<RecordedDrill>> {
  return atStore(context, storeId, (store, at) => {
    const { kind, subject, steps } = body;
    if (body.kind === "duplicates") {
      const current = currentEndpoints(context, { ...body, storeId });
      if (!current.ok) return current;
    }
    const drill: RecordedDrill = {
      id: context.world.uuid(),
      storeId,
      kind,
      subject: kind === "idempotency" ? storeId : subject,
      passed: steps.every((step) => step.passed),
      steps,
      at,
    };
    store.drills.insert(drill);
    return accept(drill);
  });
}

/** Refuses with `not_found` if the lease has ended, with `state_conflict` if they are no longer this subject. */
export function currentEndpoints(
  context: DrillsContext,
  wanted: { readonly storeId: string; readonly leaseId: string; readonly subject?: string | undefined },
): Outcome<{ readonly endpoints: readonly Endpoint[]; readonly subject: string }> {
  const { storeId, leaseId, subject } = wanted;
  const held = context.leases.check({ storeId, id: leaseId }, "duplicates");
  if (!held.ok) return held;
  const released = refuseHeld(context, storeId);
  if (!released.ok) return released;
  const endpoints = context.store.endpoints
    .of(storeId)
    .filter(({ kind, state }) => kind === "url" && state === "enabled");
  if (endpoints.length === 0)
    return refuse("state_conflict", [
      "no enabled endpoint has its own address, so there is nothing to drill",
      "没有启用且带地址的接收端，无可演练",
    ]);
  const current = duplicatesSubject(endpoints);
  return subject === undefined || subject === current
    ? accept({ endpoints, subject: current })
    : refuse("state_conflict", [
        "the endpoints changed during the drill, so the drill proves nothing",
        "演练期间接收端有变，因此结果无效",
      ]);
}

/** A listener with its forwarding address. Refuses with `not_found`, or with `state_conflict` if it gets nothing. */
export function endpointToDrill(
  context: Pick<DrillsContext, "store" | "heldBack" | "listenerTargets">,
  storeId: string,
  endpointId: string,
): Outcome<Endpoint> {
  const released = refuseHeld(context, storeId);
  if (!released.ok) return released;
  const named = context.store.endpoints.of(storeId).find(({ id }) => id === endpointId);
  if (named === undefined)
    return refuse("not_found", [`there is no endpoint ${endpointId}`, `没有接收端 ${endpointId}`]);
  if (named.state !== "enabled")
    return refuse("state_conflict", [
      `endpoint ${endpointId} is ${named.state}; enable it first`,
      `接收端 ${endpointId} 为 ${named.state}；请先启用`,
    ]);
  if (named.kind === "url") return accept(named);
  const url = context.listenerTargets.get(storeId);
  if (url !== undefined) return accept({ ...named, url });
  return refuse("state_conflict", [
    `endpoint ${endpointId} belongs to checkout listen; drill the receiver to which it forwards`,
    `接收端 ${endpointId} 是 checkout listen；请演练它背后的接收端`,
  ]);
}

function refuseHeld({ heldBack }: Pick<DrillsContext, "heldBack">, storeId: string): Outcome<void> {
  const hold = heldBack(storeId);
  return hold === undefined
    ? accept(undefined)
    : refuse("state_conflict", [`nothing is delivered: ${hold}`, `当前不推送：${hold}`]);
}
