import type { CreateRequest } from "../checkout/create-request.ts";

/**
 * A different create with the same order_id: with another amount, or with another description if the catalog determines
 * the amount. With a used key it must be refused.
 */
export function createOtherRequest(request: CreateRequest): CreateRequest {
  if ("price_id" in request) {
    const description = request.description === OTHER_DESCRIPTION ? "" : OTHER_DESCRIPTION;
    return { ...request, description };
  }
  const { amount_minor: amount } = request;
  return { ...request, amount_minor: amount > 1 ? amount - 1 : 2 };
}

const OTHER_DESCRIPTION = "another body under the same key";
