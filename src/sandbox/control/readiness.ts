import type { AnswerOf } from "../../core/control/operations.ts";
import { english } from "../../core/language.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { ASSUMPTIONS } from "../../core/calibration/assumptions.ts";
import { redactStored } from "../../core/request/redaction.ts";
import { dialectDifferencesOn } from "../../core/webhook/dialect-differences.ts";
import { withStore, refuseUnknownStore } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import { applyAction } from "../readiness/administration.ts";
import { judgeStoreReadiness } from "../readiness/facts.ts";
import { selectActiveKeys } from "../runtime/keys.ts";
import type { HandlersOf } from "./handler.ts";

export const readinessHandlers = {
  assumptions: async (context, { storeId }) => {
    const uses = await context.assumptions.of(storeId);
    const dialect = context.store.stores.dialect(storeId);
    const assumptions = ASSUMPTIONS.map(({ decision, title, chosen, setting = null, shownBy = null }) => {
      const use = uses.find((entry) => entry.decision === decision);
      const reliedOn = use === undefined ? null : { since: use.firstAt, requestId: use.firstRequestId };
      const words = { title: english(title), chosen: english(chosen), shownBy: shownBy && english(shownBy) };
      const differences = dialectDifferencesOn(dialect, decision);
      const inEffect = differences.length === 0 ? {} : { inEffect: [...differences] };
      return Object.assign({ decision, setting, reliedOn }, words, inEffect);
    });
    return accept({ storeId, assumptions });
  },
  checklist: async (context, { storeId }) =>
    mapValue(judgeStoreReadiness(context, storeId), ({ checklist }) => checklist),
  storeSummary: async (context, { storeId, caller }) =>
    mapValue(summarizeStore(context, storeId), (fields) =>
      caller.role === "viewer" ? { ...fields, apiKeys: [] } : fields,
    ),
  waiveDrill: (context, { storeId, body }) =>
    withStore(context, storeId, ({ waivers }, at) => {
      const waiver = { drill: body.drill, reason: redactStored(body.reason), at };
      waivers.insert({ ...waiver, storeId });
      return accept(waiver);
    }),
  recordExploration: (context, { storeId, body: { places, ...counts } }) =>
    withStore(context, storeId, ({ explorations }, at) => {
      const shownPlaces = places.map(({ place, ...results }) => ({ place: redactStored(place), ...results }));
      const exploration = { ...counts, places: shownPlaces, at };
      explorations.record({ ...exploration, storeId });
      return accept(exploration);
    }),
  requestProduction: (context, { storeId, body }) =>
    applyAction(context, {
      storeId,
      actor: "merchant",
      action: "request_production",
      subject: null,
      note: redactNote(body.note),
    }),
  adminAct: (context, { storeId, body }) =>
    applyAction(context, {
      storeId,
      actor: "administrator",
      action: body.action,
      subject: "subject" in body ? body.subject : null,
      note: redactNote(body.note),
    }),
  adminLog: async ({ store }, { storeId }) => accept({ storeId, acts: store.adminActions.of(storeId) }),
} satisfies HandlersOf<"readiness">;

/** Rows of the audit log are immutable, so no secret may get into one. */
function redactNote(note: string | undefined): string | null {
  return note === undefined ? null : redactStored(note);
}

function summarizeStore(
  { store }: Pick<ServiceContext, "store">,
  storeId: string,
): Outcome<AnswerOf<"storeSummary">> {
  const details = store.stores.details(storeId);
  if (details === undefined) return refuseUnknownStore(storeId);
  return accept({
    merchant: { id: details.merchantId, name: details.merchant },
    store: { id: details.id, name: details.store, active: details.active },
    capabilities: store.capabilities.of(storeId),
    prices: store.prices.of(storeId),
    apiKeys: selectActiveKeys(store.credentials.of(storeId)),
    returnOrigins: store.returnOrigins.list(storeId),
    endpoints: store.endpoints.of(storeId).length,
    dialect: store.stores.dialect(storeId),
  });
}
