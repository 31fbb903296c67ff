import * as z from "zod";
import { ADMINISTRATOR_ACTIONS, MAX_NOTE_LENGTH, type RecordedAct } from "../readiness/admin-act.ts";
import type { DrillFact, KeyUseFact, ReadinessFacts } from "../readiness/checklist.ts";
import { PAYMENT_METHODS } from "../checkout/checkout.ts";
import { drill, type DrillEntry } from "./drills.ts";
import { SCOPES } from "../credential.ts";

const moment = z.string().meta({ format: "date-time" });
const NOTHING = z.undefined();

const note = z.string().min(1).max(MAX_NOTE_LENGTH);
const act = z.object({
  /** Its place in the audit log. */
  number: z.int().min(1),
  at: moment,
  actor: z.enum(["merchant", "administrator"]),
  action: z.enum([...ADMINISTRATOR_ACTIONS, "request_production"]),
  subject: z.string().nullable(),
  note: z.string().nullable(),
});
/** An entry of the audit log, as the control API tells it. */
export type ActWire = z.infer<typeof act>;

const capability = z.object({
  kind: z.enum(["payment_method", "currency"]),
  name: z.string(),
  active: z.boolean(),
});

const keyUse = z.object({ key: z.string(), request_id: z.string(), at: moment });
/** A create that met a key which was used before, as the control API tells it. */
export type KeyUseWire = z.infer<typeof keyUse>;

const readinessFacts = z.object({
  store_id: z.uuid(),
  /** The store's. */
  now: moment,
  active: z.boolean(),
  active_since: moment,
  capabilities: z.array(capability),
  production: z.object({ request: act.nullable(), approval: act.nullable(), gate: act.nullable() }),
  return_origins: z.array(z.object({ origin: z.string(), created_at: moment })),
  endpoints: z.array(
    z.object({
      id: z.uuid(),
      kind: z.enum(["url", "listener"]),
      url: z.string(),
      state: z.enum(["enabled", "paused", "disabled"]),
      subject: z.string(),
      drill: drill.nullable(),
    }),
  ),
  idempotency: z.object({
    replayed: keyUse.nullable(),
    refused: keyUse.nullable(),
    drill: drill.nullable(),
  }),
  browser_return: drill.nullable(),
});
/** All that readiness is judged by, as the control API tells it. */
export type ReadinessWire = z.infer<typeof readinessFacts>;

const storeSummary = z.object({
  merchant: z.object({ id: z.uuid(), name: z.string() }),
  store: z.object({ id: z.uuid(), name: z.string(), active: z.boolean() }),
  capabilities: z.array(capability),
  prices: z.array(
    z.object({
      id: z.string(),
      description: z.string(),
      amount_minor: z.int().min(1),
      currency: z.string(),
      payment_method: z.enum(PAYMENT_METHODS),
      approved: z.boolean(),
    }),
  ),
  api_keys: z.array(z.object({ id: z.uuid(), last_four: z.string(), scopes: z.array(z.enum(SCOPES)) })),
  return_origins: z.array(z.string()),
  endpoints: z.int().min(0),
});
/** What there is to know of a store without its secrets, as the control API tells it. */
export type StoreSummaryWire = z.infer<typeof storeSummary>;

const capabilityAction = z.enum(["enable_capability", "disable_capability"]);
const actRequest = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.enum(ADMINISTRATOR_ACTIONS).exclude(capabilityAction.options),
    note: note.optional(),
  }),
  z.strictObject({ action: capabilityAction, subject: z.string().min(1).max(64), note: note.optional() }),
]);
/** What an administrator wants to do, as the control API takes it. */
export type ActRequest = z.infer<typeof actRequest>;

/** The operations on launch readiness (decisions 20, 49): the merchant's, and those that want the admin token. */
export const readinessOperations = {
  readiness: {
    method: "GET",
    path: "/__sandbox/readiness",
    summary: "Tells the facts that the launch checklist is judged by",
    request: NOTHING,
    answer: readinessFacts,
    bare: false,
    refusals: ["not_found"],
  },
  storeSummary: {
    method: "GET",
    path: "/__sandbox/store",
    summary: "Shows the store: what it is, may do and has, without its secrets",
    request: NOTHING,
    answer: storeSummary,
    bare: false,
    refusals: ["not_found"],
  },
  requestProduction: {
    method: "POST",
    path: "/__sandbox/production-requests",
    summary: "Asks, as the merchant, for production; it opens nothing",
    request: z.strictObject({ note: note.optional() }),
    answer: act,
    bare: false,
    refusals: ["not_found", "state_conflict"],
  },
  adminAct: {
    method: "POST",
    path: "/__sandbox/admin/acts",
    summary: "Does what only an administrator can: approvals, activity, capabilities, the production gate",
    role: "administrator",
    request: actRequest,
    answer: act,
    bare: false,
    refusals: ["not_found", "state_conflict"],
  },
  adminLog: {
    method: "GET",
    path: "/__sandbox/admin/acts",
    summary: "Lists the audit log: what administrators did and the merchant asked for, first to last",
    role: "administrator",
    request: NOTHING,
    answer: z.object({ store_id: z.uuid(), acts: z.array(act) }),
    bare: false,
    refusals: ["not_found"],
  },
} as const;

/** The facts as they are judged, and the time that they are judged at. */
export function readinessFrom(wire: ReadinessWire): { readonly facts: ReadinessFacts; readonly now: number } {
  const { store_id: storeId, production } = wire;
  const facts: ReadinessFacts = {
    storeId,
    active: wire.active,
    activeSince: Date.parse(wire.active_since),
    capabilities: wire.capabilities,
    production: {
      request: actFrom(production.request, storeId),
      approval: actFrom(production.approval, storeId),
      gate: actFrom(production.gate, storeId),
    },
    returnOrigins: wire.return_origins.map(({ origin, created_at: createdAt }) => ({
      origin,
      createdAt: Date.parse(createdAt),
    })),
    endpoints: wire.endpoints.map(({ drill: last, ...endpoint }) => ({
      ...endpoint,
      drill: drillFrom(last),
    })),
    idempotency: {
      replayed: keyUseFrom(wire.idempotency.replayed),
      refused: keyUseFrom(wire.idempotency.refused),
      drill: drillFrom(wire.idempotency.drill),
    },
    browserReturn: drillFrom(wire.browser_return),
  };
  return { facts, now: Date.parse(wire.now) };
}

function actFrom(wire: ActWire | null, storeId: string): RecordedAct | null {
  return wire && { ...wire, storeId, at: Date.parse(wire.at) };
}

function drillFrom(wire: DrillEntry | null): DrillFact | null {
  return wire && { ...wire, at: Date.parse(wire.at) };
}

function keyUseFrom(wire: KeyUseWire | null): KeyUseFact | null {
  return wire && { key: wire.key, requestId: wire.request_id, at: Date.parse(wire.at) };
}
