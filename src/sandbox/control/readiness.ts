import { iso } from "../../core/clock.ts";
import type { RecordedAct } from "../../core/readiness/admin-act.ts";
import type { DrillFact, KeyUseFact } from "../../core/readiness/checklist.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../core/control/operations.ts";
import type { DrillEntry } from "../../core/control/drills.ts";
import type {
  ActWire,
  KeyUseWire,
  readinessOperations,
  ReadinessWire,
  StoreSummaryWire,
} from "../../core/control/readiness.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { redactSecrets } from "../../core/text.ts";
import { act } from "../readiness/administration.ts";
import { drillEntry } from "./drills.ts";
import { inStore } from "../in-store.ts";
import { readReadiness, type Readiness, type ReadinessContext } from "../readiness/facts.ts";
import type { ServiceContext } from "../context.ts";

/** What the operations on launch readiness act with. */
export type ReadinessActs = ServiceContext & ReadinessContext;

type ReadinessOperation = keyof typeof readinessOperations & OperationName;
type Handler<Name extends ReadinessOperation> = (
  context: ReadinessActs,
  call: { readonly id: string; readonly body: RequestOf<Name> },
) => Promise<Outcome<AnswerOf<Name>>>;

/** What each operation on launch readiness does; from the wire to the verbs and back. */
export const READINESS_HANDLERS: { readonly [Name in ReadinessOperation]: Handler<Name> } = {
  readiness: async (context) =>
    inStore(context, (storeId) => {
      const read = readReadiness(context, storeId);
      return read.ok ? accept(readinessWire(read.value)) : read;
    }),
  storeSummary: async (context) => inStore(context, (storeId) => summary(context, storeId)),
  requestProduction: (context, { body }) =>
    inStore(context, async (storeId) => {
      const wanted = { storeId, actor: "merchant", action: "request_production", subject: null } as const;
      const done = await act(context, { ...wanted, note: keptNote(body.note) });
      return done.ok ? accept(actWire(done.value)) : done;
    }),
  adminAct: (context, { body }) =>
    inStore(context, async (storeId) => {
      const { action } = body;
      const subject = "subject" in body ? body.subject : null;
      const note = keptNote(body.note);
      const done = await act(context, { storeId, actor: "administrator", action, subject, note });
      return done.ok ? accept(actWire(done.value)) : done;
    }),
  adminLog: async (context) =>
    inStore(context, (storeId) =>
      accept({ store_id: storeId, acts: context.store.adminActs.of(storeId).map(actWire) }),
    ),
};

/** The log keeps its rows for good, and no key or secret may stand there. */
function keptNote(note: string | undefined): string | null {
  return note === undefined ? null : redactSecrets(note);
}

function summary({ store }: ReadinessActs, storeId: string): Outcome<StoreSummaryWire> {
  const details = store.stores.details(storeId);
  if (details === undefined) return refuse("not_found", `there is no store ${storeId}`);
  return accept({
    merchant: { id: details.merchantId, name: details.merchant },
    store: { id: details.id, name: details.store, active: details.active },
    capabilities: store.capabilities.of(storeId),
    prices: store.prices
      .of(storeId)
      .map(({ id, description, amountMinor, currency, paymentMethod, approved }) => ({
        id,
        description,
        amount_minor: amountMinor,
        currency,
        payment_method: paymentMethod,
        approved,
      })),
    api_keys: store.credentials
      .of(storeId)
      .map(({ id, lastFour, scopes }) => ({ id, last_four: lastFour, scopes: [...scopes] })),
    return_origins: store.returnOrigins.list(storeId),
    endpoints: store.endpoints.of(storeId).length,
  });
}

function readinessWire({ facts, now }: Readiness): ReadinessWire {
  const { production, idempotency } = facts;
  return {
    store_id: facts.storeId,
    now: iso(now),
    active: facts.active,
    active_since: iso(facts.activeSince),
    capabilities: [...facts.capabilities],
    production: {
      request: production.request && actWire(production.request),
      approval: production.approval && actWire(production.approval),
      gate: production.gate && actWire(production.gate),
    },
    return_origins: facts.returnOrigins.map(({ origin, createdAt }) => ({
      origin,
      created_at: iso(createdAt),
    })),
    endpoints: facts.endpoints.map((endpoint) => ({ ...endpoint, drill: drillWire(endpoint.drill) })),
    idempotency: {
      replayed: keyUseWire(idempotency.replayed),
      refused: keyUseWire(idempotency.refused),
      drill: drillWire(idempotency.drill),
    },
    browser_return: drillWire(facts.browserReturn),
  };
}

function actWire({ number, at, actor, action, subject, note }: RecordedAct): ActWire {
  return { number, at: iso(at), actor, action, subject, note };
}

function drillWire(drill: DrillFact | null): DrillEntry | null {
  return drill && drillEntry(drill);
}

function keyUseWire(use: KeyUseFact | null): KeyUseWire | null {
  return use && { key: use.key, request_id: use.requestId, at: iso(use.at) };
}
