import { MANUAL_REASONS, type Endpoint } from "../../../../core/webhook/endpoint.ts";
import { POSITION_AFTER_ALL } from "../../../../store/checkout/checkout-lists.ts";
import { judgeStoreReadiness } from "../../../readiness/facts.ts";
import type { PortalContext } from "../view.ts";

type MenuCounts = {
  readonly openCount: string;
  readonly failingCount: number;
  readonly launchCount: string;
};

export const MAX_COUNT = 99;

export function cappedCountText(count: number): string {
  return count > MAX_COUNT ? `${MAX_COUNT}+` : String(count);
}

export function menuCounts(context: PortalContext, storeId: string): MenuCounts {
  const failingEndpoints = context.store.endpoints.of(storeId).filter(isFailingEndpoint);
  const judgement = judgeStoreReadiness(context, storeId);
  const items = judgement.ok ? judgement.value.checklist.items : [];
  const passedItems = items.filter(({ status }) => status === "pass");
  return {
    openCount: cappedCountText(openCheckoutPositions(context, storeId).length),
    failingCount: failingEndpoints.length,
    launchCount: `${passedItems.length}/${items.length}`,
  };
}

export function openCheckoutPositions({ store }: PortalContext, storeId: string): readonly number[] {
  const filter = { storeId, object: null, paymentMethod: null, orderId: null };
  const range = { before: POSITION_AFTER_ALL, limit: MAX_COUNT + 1 };
  return (["created", "pending"] as const).flatMap((status) =>
    store.checkoutLists.newest({ ...filter, status }, range),
  );
}

export function hasFailingEndpoint({ store }: Pick<PortalContext, "store">, storeId: string): boolean {
  return store.endpoints.of(storeId).some(isFailingEndpoint);
}

export function isFailingEndpoint({ failingSince, state, reason }: Endpoint): boolean {
  return failingSince !== null || (state === "disabled" && !MANUAL_REASONS.has(reason));
}
