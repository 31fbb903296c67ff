import type { ControlTarget } from "../../client/control/control.ts";
import { STATUSES, type Status } from "../../core/checkout/checkout.ts";
import { toIso } from "../../core/clock.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { EVENT_TYPE_FORM, EVENT_TYPES } from "../../core/checkout/event-types.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import type { PayOutcome } from "../../core/checkout/reserved-order-id.ts";
import { isStoreToken } from "../../core/credential.ts";
import { printableLiteral, shortId } from "../../core/text.ts";
import { register, valueOption, type Context, type Group } from "../command.ts";
import { ORDER_LABELS, SESSION_LABELS, type CheckoutKind } from "../order/checkout-kinds.ts";
import { fieldLines } from "../printer.ts";
import { table } from "../table.ts";
import { EXIT, Refused, refuseUsage } from "../problem.ts";
import { createInSandbox, DEFAULT_PRICE, newPurchaseRequest } from "../order/sandbox-create.ts";
import { replaceTypedOptions } from "../hints/again.ts";
import { callAt } from "../target/call.ts";
import { callSandbox, requireControlTarget, withStoreKey } from "../target/control.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import type { World } from "../../world.ts";
import { answerOutput } from "../output/answer.ts";
import { output } from "../output/output.ts";

type TriggerOptions = ServiceOptions & { readonly orderId?: string; readonly priceId?: string };

type Goal = { readonly type: string; readonly kind: CheckoutKind; readonly status: Status };
type Checkout = AnswerOf<"inspectCheckout">;

const TEST_EVENT_TYPE = "webhook.test";

const KEY_TIMEOUT_MS = 3_600_000;

/** A declined attempt makes a checkout `pending`, so that the payer may pay again. */
const OUTCOMES: Readonly<Record<Exclude<Status, "created">, PayOutcome>> = {
  pending: "declined",
  succeeded: "succeeded",
  failed: "failed",
  cancelled: "cancelled",
  expired: "expired",
};

export function registerTrigger(group: Group): void {
  register<TriggerOptions>(group, {
    name: "trigger <type>",
    summary: "cause an event on a real order or session, new or existing",
    choices: EVENT_TYPES,
    exitCodes: { 5: "the order's status does not allow the event" },
    examples: [
      "checkout trigger order.succeeded",
      "checkout trigger checkout_session.expired --price-id price_ticket",
      "checkout trigger order.cancelled --order-id order-1001",
      "checkout trigger webhook.test",
    ],
    options: [
      valueOption("--order-id <id>", { text: "order_id, new or existing", default: "a new one" }),
      valueOption("--price-id <id>", {
        text: "catalog price of the new order or session",
        default: DEFAULT_PRICE,
      }),
    ],
    run: runTrigger,
  });
}

async function runTrigger(context: Context, options: TriggerOptions, type = ""): Promise<number> {
  if (type === TEST_EVENT_TYPE) return testEndpoints(context, options);
  const goal = goalOf(context.world, type);
  const control = await requireControlTarget(context);
  const { id, isNew } = await findOrCreateCheckout(context, options, { goal, control });
  const checkout = await inspectCheckout(context, control, id);
  // The earlier events of an existing checkout are not shown.
  const knownCount = isNew ? 0 : checkout.events.length;
  const reachedCheckout = await reachGoal(context, control, { goal, checkout, knownCount });
  return printCheckout(context, reachedCheckout, knownCount);
}

async function findOrCreateCheckout(
  context: Context,
  options: TriggerOptions,
  { goal: { kind }, control }: { readonly goal: Goal; readonly control: ControlTarget },
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { orderId, priceId } = options;
  if (orderId === undefined && context.around.apiKey === undefined && isStoreToken(control.token)) {
    const body = { object: kind.object, priceId: priceId ?? DEFAULT_PRICE };
    const { id } = await callAt(context, control, { name: "createTestOrder", body });
    return { id, isNew: true };
  }
  const request = newPurchaseRequest(context.world, { purpose: "trigger", orderId, priceId });
  const { response, isReplayed } = await withStoreKey(context, control, {
    timeoutMs: KEY_TIMEOUT_MS,
    act: (keyedContext) => createInSandbox(keyedContext, options, { kind, request, control }),
  });
  return { id: response.data.id, isNew: orderId === undefined || !isReplayed };
}

function goalOf(world: World, type: string): Goal {
  const [object, name] = type.split(".");
  const status = STATUSES.find((candidate) => candidate === name);
  if (EVENT_TYPES.includes(type) && status !== undefined)
    return { type, status, kind: object === "order" ? ORDER_LABELS : SESSION_LABELS };
  const message = `expected an event type: ${EVENT_TYPE_FORM}; got ${printableLiteral(type)}`;
  throw refuseUsage(
    /refund/.test(type) ? `${message}; the v1 interface has no refunds` : message,
    replaceTypedOptions(
      { ...world, argv: world.argv.filter((word) => word !== type) },
      new Map(),
      "order.succeeded",
    ),
  );
}

async function reachGoal(
  context: Context,
  control: ControlTarget,
  triggerRequest: { readonly goal: Goal; readonly checkout: Checkout; readonly knownCount: number },
): Promise<Checkout> {
  const { goal, checkout, knownCount } = triggerRequest;
  const { id, status } = checkout;
  if (status === goal.status && knownCount === 0) return checkout;
  if (goal.status === "created" || status === goal.status || isFinal(status))
    throw refuseTooLate(goal, checkout);
  await callAt(context, control, {
    name: "pay",
    id,
    body: { outcome: OUTCOMES[goal.status] },
    remedies: { state_conflict: `checkout sessions get ${id} shows its state` },
  });
  return inspectCheckout(context, control, id);
}

function inspectCheckout(context: Context, control: ControlTarget, id: string): Promise<Checkout> {
  return callAt(context, control, { name: "inspectCheckout", id, body: undefined });
}

function refuseTooLate({ type }: Goal, checkout: Checkout): Refused {
  const { id, orderId, status, events } = checkout;
  const lastEventId = events.at(-1)?.eventId ?? "<event_id>";
  return new Refused({
    exitCode: EXIT.conflict,
    code: "state_conflict",
    message: `${printableLiteral(orderId)} is already ${status}, so ${type} cannot happen`,
    next: `leave out --order-id to use a new one, or deliver the last event again: checkout events replay ${lastEventId}`,
    details: { id, status },
  });
}

function printCheckout({ printer }: Context, checkout: Checkout, knownCount: number): Promise<number> {
  const { id, orderId, status } = checkout;
  const events = checkout.events.slice(knownCount);
  return printer.result(answerOutput("inspectCheckout", { ...checkout, events }), async () => {
    const fields = fieldLines([
      ["id", id],
      ["order_id", orderId],
      ["status", status],
    ]);
    const rows = events.map((event) => [toIso(event.createdAt), event.type, shortId(event.eventId)]);
    return `${fields}\n\n${await table(["AT", "TYPE", "EVENT"], rows, { width: printer.width })}`;
  });
}

async function testEndpoints(context: Context, options: TriggerOptions): Promise<number> {
  if (options.orderId !== undefined || options.priceId !== undefined) {
    const message = `${TEST_EVENT_TYPE} has no order, so --order-id and --price-id cannot be used`;
    throw refuseUsage(message, `checkout trigger ${TEST_EVENT_TYPE}`);
  }
  const endpointList = await callSandbox(context, { name: "listEndpoints", body: undefined });
  const enabledEndpoints = endpointList.endpoints.filter(({ state }) => state === "enabled");
  if (enabledEndpoints.length === 0)
    throw new Refused({
      code: "no_endpoint",
      message: "no endpoint is enabled, so there is nothing to test",
      next: "add one: checkout endpoints add http://localhost:3000/hooks, or enable one: checkout endpoints enable <id>",
    });
  const tests: { endpoint_id: string; url: string; event_id: string }[] = [];
  for (const { id, url } of enabledEndpoints) {
    const testResult = await callSandbox(context, { name: "testEndpoint", id, body: {} });
    tests.push({ endpoint_id: id, url, event_id: testResult.eventId });
  }
  return context.printer.result(output("new_tests", { tests }), () =>
    table(
      ["TYPE", "EVENT", "ENDPOINT"],
      tests.map(({ event_id: eventId, url }) => [TEST_EVENT_TYPE, shortId(eventId), url]),
      { width: context.printer.width, middle: ["ENDPOINT"] },
    ),
  );
}
