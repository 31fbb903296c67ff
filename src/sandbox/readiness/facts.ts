import { productionOf } from "../../core/readiness/admin-action.ts";
import { judgeItems } from "../../core/readiness/checklist.ts";
import { webhookSubject } from "../../core/readiness/drills/drill.ts";
import { effectiveEndpoint, type Endpoint } from "../../core/webhook/endpoint.ts";
import type { Translator } from "../../core/language.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { endpointSecrets, type SecretsContext } from "../webhook/endpoint-secrets.ts";
import { refuseUnknownStore, storeTime } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import type { Leases } from "./leases.ts";
import type { EndpointFact, JudgedChecklist, ReadinessFacts } from "../../core/readiness/shapes.ts";

type ReadinessContext = Pick<ServiceContext, "world"> &
  SecretsContext & { readonly leases: Pick<Leases, "of" | "webhooksHeldBy"> };

function readReadiness(context: ReadinessContext, storeId: string): Outcome<ReadinessFacts> {
  const { store } = context;
  const details = store.stores.details(storeId);
  if (details === undefined) return refuseUnknownStore(storeId);
  const now = storeTime(context, storeId);
  const actions = store.adminActions.of(storeId);
  const lastActivationChange = actions.findLast(
    ({ action }) => action === "activate" || action === "deactivate",
  );
  return accept({
    storeId,
    now,
    isActive: details.active,
    stateSince: lastActivationChange?.at ?? details.createdAt,
    capabilities: store.capabilities.of(storeId),
    production: productionOf(actions),
    returnOrigins: store.returnOrigins.listWithTimes(storeId),
    endpoints: store.endpoints.of(storeId).map((endpoint) => endpointFact(context, endpoint, now)),
    idempotency: {
      replay: store.idempotencyUses.latest(storeId, "replayed") ?? null,
      refusal: store.idempotencyUses.latest(storeId, "refused") ?? null,
      drill: store.drills.latest(storeId, "idempotency") ?? null,
    },
    duplicatesDrill: store.drills.latest(storeId, "duplicates") ?? null,
    browserReturnDrill: store.drills.latest(storeId, "browser_return") ?? null,
    waivers: store.waivers.of(storeId),
  });
}

export function judgeStoreReadiness(
  context: ReadinessContext,
  storeId: string,
  say?: Translator,
): Outcome<{ readonly facts: ReadinessFacts; readonly checklist: JudgedChecklist }> {
  return mapValue(readReadiness(context, storeId), (facts) => ({
    facts,
    checklist: {
      storeId,
      judgedAt: facts.now,
      exploration: context.store.explorations.of(storeId) ?? null,
      underway: context.leases
        .of(storeId)
        .flatMap(({ drill, ...lease }) => (drill === "duplicates" ? [{ ...lease, drill }] : [])),
      ...judgeItems(facts, say),
    },
  }));
}

function endpointFact(context: ReadinessContext, endpoint: Endpoint, now: number): EndpointFact {
  const holdingDrill = context.leases.webhooksHeldBy(endpoint.storeId);
  const [secret = ""] = endpointSecrets(context, endpoint, now).inForce;
  const drill = context.store.drills.latestOfEndpoint(endpoint) ?? null;
  return { ...effectiveEndpoint(endpoint, holdingDrill), subject: webhookSubject(endpoint, secret), drill };
}
