import type { RequestOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { duplicatesSubject, type RecordedDrill } from "../../core/readiness/drills/drill.ts";
import { isPolledAddress, type Endpoint } from "../../core/webhook/endpoint.ts";
import type { World } from "../../world.ts";
import { atStore } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import type { SecretsContext } from "../webhook/endpoint-secrets.ts";
import type { PostContext } from "../webhook/post.ts";
import type { Leases } from "./leases.ts";

export type DrillsContext = Pick<ServiceContext, "store"> &
  SecretsContext &
  PostContext & {
    readonly world: Pick<World, "now" | "uuid" | "sleep">;
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
    const { kind, subject, steps, leaseId = "" } = body;
    if (kind === "duplicates") {
      const current = currentEndpoints(context, { storeId, leaseId, subject });
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
  if (endpoints.length === 0) return refuseFact("nothing_to_drill", {});
  const current = duplicatesSubject(endpoints);
  return subject === undefined || subject === current
    ? accept({ endpoints, subject: current })
    : refuseFact("endpoints_changed", {});
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
  if (named === undefined) return refuseFact("no_endpoint", { endpoint: endpointId });
  if (named.state !== "enabled")
    return refuseFact("endpoint_not_enabled", { endpoint: endpointId, state: named.state });
  if (named.kind === "url") return accept(named);
  const url = context.listenerTargets.get(storeId);
  // The forwarding address is one of the listener's machine.
  if (url !== undefined && !isPolledAddress(named.url)) return accept({ ...named, url });
  return refuseFact("endpoint_of_listener", { endpoint: endpointId });
}

function refuseHeld({ heldBack }: Pick<DrillsContext, "heldBack">, storeId: string): Outcome<void> {
  const hold = heldBack(storeId);
  return hold === undefined ? accept(undefined) : refuseFact("nothing_delivered", { hold });
}
