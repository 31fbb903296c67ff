import { setImmediate as nextTurn } from "node:timers/promises";
import { openCheckout } from "../../src/core/checkout/checkout.ts";
import { createEvent } from "../../src/core/checkout/event.ts";
import { checkoutJson } from "../../src/core/checkout/wire.ts";
import { drillSteps } from "../../src/core/judge/forms/causes.ts";
import { stepInEnglish } from "../../src/core/readiness/drills/said.ts";
import { sendForms, type FormsContext, type FormReceiver } from "../../src/client/judge/forms/forms.ts";
import type { Dialect } from "../../src/core/shape/dialect.ts";
import { createWire } from "./drill-wire.ts";
import { serve, type Receiver } from "./merchant-receivers.ts";
import { HOOKS, type ShownDrills } from "./drill-site.ts";
import { someTerms } from "./rows.ts";

const SECRET = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const STARTED_AT = Date.UTC(2026, 0, 15, 12);
const ENDPOINT = { id: idOf(1), storeId: idOf(2) };

/**
 * Runs the drill of webhooks against a receiver, with the requests and causes of a sandbox, but without its database,
 * control API and command line. With consent it also sends events of an order that the receiver has accepted.
 */
export async function drillWebhooksInMemory(
  receiver: Receiver,
  { consent = false, dialect }: { readonly consent?: boolean; readonly dialect?: Dialect | undefined } = {},
): Promise<ShownDrills & { readonly passed: boolean }> {
  let [now, ids] = [STARTED_AT, 10];
  const pass = (milliseconds: number): void => void (now += milliseconds);
  const wire = createWire();
  const answer = serve(receiver, {
    secret: () => SECRET,
    now: () => now,
    pass,
    connection: wire.connection,
  });
  const post: FormsContext["post"] = ({ method, suffix, headers, lines, body }, connection) => {
    const { pathname, host } = new URL(HOOKS);
    const rawHeaders = Object.entries({ Host: host, ...headers }).flatMap(([name, value]) =>
      (lines?.[name] ?? [value]).flatMap((line) => [name, line]),
    );
    const header = wire.take(connection);
    const begun = now;
    const {
      status,
      headers: answered,
      body: text,
      isDropped,
    } = answer({
      method,
      target: pathname + suffix,
      rawHeaders: [...rawHeaders, "Connection", header],
      body: Buffer.from(body),
    });
    const milliseconds = now - begun;
    const none = { url: HOOKS, milliseconds, status: null, body: "", retryAfter: null, fault: null };
    if (isDropped === true)
      return Promise.resolve({ ...none, error: "connection_lost", message: "socket hang up" });
    return Promise.resolve({
      ...none,
      status,
      retryAfter: answered["retry-after"] ?? null,
      body: typeof text === "string" ? text : "",
      error: null,
      message: "",
    });
  };
  const world: FormsContext["world"] = {
    now: () => now,
    uuid: () => idOf((ids += 1)),
    sleep: async (milliseconds) => {
      pass(milliseconds);
      await nextTurn();
    },
  };
  const subject: FormReceiver = {
    endpointId: ENDPOINT.id,
    storeId: ENDPOINT.storeId,
    url: HOOKS,
    secret: SECRET,
    olderSecrets: [],
    retiredSecret: undefined,
    dialect,
    order: consent ? acceptedEvent() : null,
    now,
  };
  const drilled = await sendForms({ world, post, mayRun: () => true }, subject);
  const steps = drillSteps(drilled, subject).map(stepInEnglish);
  return { passed: steps.every((step) => step.passed), drills: [{ steps, endpoint_id: ENDPOINT.id }] };
}

/** The event of an order that was created and delivered a moment ago. */
function acceptedEvent(): FormReceiver["order"] {
  const store = { id: ENDPOINT.storeId, active: true, paymentMethods: ["alipay_plus"], currencies: ["EUR"] };
  const terms = someTerms({ orderId: "order-1", amountMinor: 450 });
  const wanted = {
    id: idOf(3),
    object: "order",
    terms,
    store,
    blocker: undefined,
    lifetimeMs: 3_600_000,
  } as const;
  const opened = openCheckout(wanted, STARTED_AT);
  if (!opened.ok) throw new Error(opened.refusal.message);
  const json = checkoutJson(opened.value, "http://127.0.0.1:4242");
  const made = { id: idOf(4), checkout: opened.value, checkoutJson: json, previousStatus: null, sequence: 1 };
  return { ...createEvent(made, STARTED_AT), otherEvents: [] };
}

function idOf(number: number): string {
  return `019bc1f0-4e20-7000-8000-${String(number).padStart(12, "0")}`;
}
