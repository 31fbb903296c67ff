import { purchaseTerms, type CreateRequest } from "../../core/checkout/create-request.ts";
import {
  blocksOrderId,
  openCheckout,
  type Checkout,
  type CheckoutObject,
  type PurchaseTerms,
} from "../../core/checkout/checkout.ts";
import { realTimeOf, storeNow, type StoreClock } from "../../core/clock.ts";
import { createEvent } from "../../core/checkout/event.ts";
import {
  fingerprint,
  replayStoredResponse,
  type StoredResponse,
} from "../../core/checkout/idempotency-key.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { priceForCheckout } from "../../core/checkout/price.ts";
import { settlementOf } from "../../core/checkout/reserved-order-id.ts";
import { checkoutJson, successBody } from "../../core/checkout/wire.ts";
import type { Store } from "../../store/store.ts";
import type { ServiceContext } from "../context.ts";
import { emitEvent } from "../webhook/outbox.ts";
import { applyDueChanges, currentCheckout } from "./payments.ts";

type CreateCommand = {
  readonly storeId: string;
  readonly object: CheckoutObject;
  readonly path: string;
  readonly idempotencyKey: string;
  readonly request: CreateRequest;
  readonly requestId: string;
  /** True for requests of this program's commands, which are not evidence about the merchant's client. */
  readonly isOwnCommand: () => boolean;
};

type CreateResponse = Pick<StoredResponse, "requestId" | "body"> & { readonly replayed: boolean };

/** May replay an earlier answer (decision 5). Refuses in the order of decision 3. */
export function createCheckout(
  context: ServiceContext,
  command: CreateCommand,
): Promise<Outcome<CreateResponse>> {
  const { store, world, checkoutOrigin, checkoutLifetimeMs: lifetimeMs } = context;
  return store.write(() => {
    const { storeId, idempotencyKey, request, object } = command;
    const facts = store.stores.facts(storeId);
    if (facts === undefined) throw new Error(`credential of the unknown store ${storeId}`);
    const now = storeNow(facts.clock, world.now());
    const digest = fingerprint(command.path, request);
    const answer = store.idempotencyKeys.findAnswer(storeId, idempotencyKey, now);
    if (answer !== undefined) return answerUsedKey(context, command, { response: answer, digest, now });

    const terms = resolveTerms(store, storeId, request);
    if (!terms.ok) return terms;
    const storedCheckout = store.checkouts.findBlocker(storeId, terms.value.orderId);
    const updatedCheckout = storedCheckout && applyDueChanges(context, storedCheckout, now);
    const blocker = updatedCheckout && blocksOrderId(updatedCheckout.status) ? updatedCheckout : undefined;
    const outcome = openCheckout(
      { id: world.uuid(storeId), object, terms: terms.value, store: facts, blocker, lifetimeMs },
      now,
    );
    if (!outcome.ok) return outcome;

    const checkout = outcome.value;
    const { requestId } = command;
    const json = checkoutJson(checkout, checkoutOrigin);
    const body = successBody(requestId, json);
    const response = { fingerprint: digest, status: 201, requestId, body } as const;
    const id = world.uuid(storeId);
    store.checkouts.insert(checkout);
    store.idempotencyKeys.insert({
      ...response,
      storeId,
      key: idempotencyKey,
      checkoutId: checkout.id,
      createdAt: now,
    });
    emitEvent(
      context,
      createEvent({ id, checkout, previousStatus: null, sequence: 1, checkoutJson: json }, now),
    );
    schedule(context, checkout, facts.clock);
    return accept({ requestId, body, replayed: false });
  });
}

/** Applies due changes first. Another store's checkout is `session_not_found`. */
export async function retrieveCheckout(
  context: ServiceContext,
  credential: { readonly storeId: string; readonly clock: StoreClock },
  id: string,
): Promise<Outcome<Checkout>> {
  const { store, world } = context;
  const checkout = store.checkouts.find(credential.storeId, id);
  if (checkout === undefined) {
    return refuseFact("session_not_found", { received: id });
  }
  const now = storeNow(credential.clock, world.now());
  return accept(await currentCheckout(context, checkout, now));
}

/** A reserved order_id settles its checkout without a payer (decision 37). */
function schedule(context: ServiceContext, checkout: Checkout, clock: StoreClock): void {
  const { id: checkoutId, storeId, expiresAt } = checkout;
  const settlement = settlementOf(checkout);
  if (settlement !== undefined) context.store.settlements.insert({ checkoutId, storeId, ...settlement });
  const realTime = realTimeOf(clock, settlement?.dueAt ?? expiresAt);
  if (realTime !== undefined) context.expectDue(storeId, realTime);
}

/** Returns refusals instead of throwing, which would roll back the record of the use. */
function answerUsedKey(
  { store }: ServiceContext,
  { storeId, idempotencyKey: key, requestId, isOwnCommand }: CreateCommand,
  usedKey: { readonly response: StoredResponse; readonly digest: string; readonly now: number },
): Outcome<CreateResponse> {
  const answer = replayStoredResponse(usedKey.response, { key, fingerprint: usedKey.digest });
  const kind = answer.ok ? "replayed" : "refused";
  if (!isOwnCommand()) store.idempotencyUses.insert({ storeId, key, kind, requestId, at: usedKey.now });
  if (!answer.ok) {
    const conflictingCheckoutId = store.idempotencyKeys.checkoutIdOf(storeId, key);
    return { ok: false, refusal: { ...answer.refusal, conflictingCheckoutId } };
  }
  const { requestId: firstRequestId, body } = answer.value;
  return accept({ requestId: firstRequestId, body, replayed: true });
}

function resolveTerms(store: Store, storeId: string, request: CreateRequest): Outcome<PurchaseTerms> {
  if (!("price_id" in request)) return accept(purchaseTerms(request, undefined));
  return mapValue(priceForCheckout(request.price_id, store.prices.find(storeId, request.price_id)), (price) =>
    purchaseTerms(request, price),
  );
}
