import { productionOf } from "../../core/readiness/admin-act.ts";
import type { EndpointFact, KeyUseFact, ReadinessFacts } from "../../core/readiness/checklist.ts";
import type { DrillFact } from "../../core/readiness/proof.ts";
import { webhookSubject, type Drill } from "../../core/readiness/drills/drill.ts";
import { endpointNow, type Endpoint } from "../../core/webhook/endpoint.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { IdempotencyUse } from "../../store/readiness/idempotency-uses.ts";
import { endpointSecrets, type SecretsContext } from "../webhook/endpoint-secrets.ts";
import { noStore, storeTime } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import type { Leases } from "./leases.ts";

/** What reading the facts needs. */
type ReadinessContext = Pick<ServiceContext, "world"> &
  SecretsContext & { readonly leases: Pick<Leases, "of" | "webhooksHeldBy"> };

/** The facts of a store, and their time: milliseconds by the store's clock. */
type Readiness = { readonly facts: ReadinessFacts; readonly now: number };

/** Reads all facts for the launch checklist (decision 49). Refuses with `not_found` if there is no such store. */
export function readReadiness(context: ReadinessContext, storeId: string): Outcome<Readiness> {
  const { store } = context;
  const details = store.stores.details(storeId);
  if (details === undefined) return noStore(storeId);
  const now = storeTime(context, storeId);
  const acts = store.adminActs.of(storeId);
  const switched = acts.findLast(({ action }) => action === "activate" || action === "deactivate");
  const facts: ReadinessFacts = {
    storeId,
    active: details.active,
    activeSince: switched?.at ?? details.createdAt,
    capabilities: store.capabilities.of(storeId),
    production: productionOf(acts),
    returnOrigins: store.returnOrigins.of(storeId),
    endpoints: store.endpoints.of(storeId).map((endpoint) => endpointFact(context, endpoint, now)),
    idempotency: {
      replayed: keyUse(store.idempotencyUses.latest(storeId, "replayed")),
      refused: keyUse(store.idempotencyUses.latest(storeId, "refused")),
      drill: drillFact(store.drills.latest(storeId, "idempotency")),
    },
    duplicates: drillFact(store.drills.latest(storeId, "duplicates")),
    browserReturn: drillFact(store.drills.latest(storeId, "browser_return")),
    underway: context.leases.of(storeId),
    waivers: store.waivers.of(storeId),
  };
  return accept({ facts, now });
}

function endpointFact(context: ReadinessContext, endpoint: Endpoint, now: number): EndpointFact {
  const heldBy = context.leases.webhooksHeldBy(endpoint.storeId);
  const { id, kind, url, state, reason, pausedBy } = endpointNow(endpoint, heldBy);
  const [secret = ""] = endpointSecrets(context, endpoint, now).inForce;
  const drill = drillFact(context.store.drills.latestOf(endpoint));
  return { id, kind, url, state, reason, pausedBy, subject: webhookSubject(endpoint, secret), drill };
}

function drillFact(drill: Drill | undefined): DrillFact | null {
  if (drill === undefined) return null;
  const { storeId: _storeId, ...fact } = drill;
  return fact;
}

function keyUse(use: IdempotencyUse | undefined): KeyUseFact | null {
  return use === undefined ? null : { key: use.key, requestId: use.requestId, at: use.at };
}
