import * as z from "zod/mini";
import { MAX_PRICE_ID_LENGTH } from "../../checkout/create-request.ts";
import { SIMULATED_OUTCOMES } from "../../checkout/reserved-order-id.ts";
import { RETURN_ORIGIN_SCHEMA, RETURN_PATH_SCHEMA } from "../../checkout/return-origin.ts";
import {
  checkoutDetails,
  checkoutEntry,
  checkoutObject,
  checkoutStatus,
  MAX_SUBJECT_LENGTH,
  paymentMethod,
  price,
  refusedOrder,
  statusChange,
} from "../../checkout/shapes.ts";
import { requestedPrice, returnOrigin } from "../../config/store-fields.ts";
import { moment, nonEmptyText, wholeNumberInQuery } from "../../shape/fields.ts";
import { nameSchemas } from "../../shape/wire-names.ts";
import { storeOperation } from "../operation.ts";

const MAX_PAGE_LENGTH = 200;
/** In code points. */
const MAX_TEXT_LENGTH = 512;

const originInput = z.string().check(z.meta(RETURN_ORIGIN_SCHEMA));
const pathInput = z.string().check(z.meta(RETURN_PATH_SCHEMA));
const returnOrigins = z.object({ storeId: z.uuid(), returnOrigins: z.array(returnOrigin) });
nameSchemas({ ReturnOrigin: returnOrigin, ReturnOrigins: returnOrigins });

export const checkoutOperations = {
  pay: storeOperation("store", {
    route: ["POST", "/checkouts/{id}/pay"],
    summary: "Acts as the payer of an order or a session",
    description:
      "Starts (`pending`), declines or ends the payment of a checkout as its payer would, and returns the new status with every change that followed; `late` is a success after the end. Refuses an outcome that the status does not allow, and a checkout that the store does not have.",
    /** `leaseId`: the lease of the drill that pays; assumptions used by a drill are not recorded. */
    request: () => z.strictObject({ outcome: z.enum(SIMULATED_OUTCOMES), leaseId: z.optional(z.uuid()) }),
    answer: () =>
      z.object({ id: z.uuid(), status: checkoutStatus, late: z.boolean(), moves: z.array(statusChange) }),
    refusals: ["session_not_found", "state_conflict"],
  }),
  listCheckouts: storeOperation("viewer", {
    route: ["GET", "/checkouts"],
    summary: "Lists orders and sessions",
    description:
      "Returns a page of orders and sessions, newest first, and, if there are more, the id to pass as `before`. A text search covers only the newest checkouts, and returns how many. Refuses an unknown `before`.",
    request: () =>
      z.strictObject({
        q: z.optional(nonEmptyText(MAX_TEXT_LENGTH)),
        status: z.optional(checkoutStatus),
        object: z.optional(checkoutObject),
        paymentMethod: z.optional(paymentMethod),
        orderId: z.optional(nonEmptyText(MAX_TEXT_LENGTH)),
        /** `next_before` of the previous page. */
        before: z.optional(z.uuid()),
        limit: z.optional(wholeNumberInQuery(1, MAX_PAGE_LENGTH)),
      }),
    answer: () =>
      z.object({
        storeId: z.uuid(),
        checkouts: z.array(checkoutEntry),
        now: moment,
        nextBefore: z.nullable(z.uuid()),
        searched: z.nullable(z.int()),
        searchedBackTo: z.nullable(moment),
        /**
         * Matching order_ids without a checkout, because every create was refused; only on the first page of a search.
         */
        refused: z.array(refusedOrder),
      }),
    refusals: ["session_not_found"],
  }),
  createTestOrder: storeOperation("store", {
    route: ["POST", "/test-orders"],
    summary: "Creates a test order without an API key",
    description:
      "Creates an order or a session by a price of the catalog, or by an amount with the first active payment method and currency of the store (default: 1000), and returns its id, order_id and status. Refuses a store that is inactive, or that has no active method or currency, an unknown price, and an amount beside a price.",
    request: () =>
      z.strictObject({
        /** Default: an order. */
        object: z.optional(checkoutObject),
        priceId: z.optional(nonEmptyText(MAX_PRICE_ID_LENGTH)),
        amountMinor: z.optional(z.int().check(z.minimum(1))),
      }),
    answer: () => z.object({ id: z.uuid(), orderId: z.string(), status: checkoutStatus }),
    refusals: ["conflicting_parameters", "state_conflict", "store_inactive", "capability_missing"],
  }),
  inspectCheckout: storeOperation("viewer", {
    route: ["GET", "/checkouts/{id}"],
    summary: "Shows an order or a session",
    description:
      "Returns an order or a session with its payment attempts, late results and events, after applying everything that is due. Refuses an id that is not a checkout of the store.",
    answer: () => checkoutDetails,
    refusals: ["session_not_found"],
  }),
  listPrices: storeOperation("viewer", {
    route: ["GET", "/prices"],
    summary: "Lists the catalog",
    description:
      "Returns all prices in the store's catalog, ordered by id, including unapproved and retired prices.",
    answer: () => z.object({ storeId: z.uuid(), prices: z.array(price) }),
  }),
  addPrice: storeOperation("store", {
    route: ["POST", "/prices"],
    summary: "Adds a price to the catalog",
    description:
      "Adds a price, approved by default, and returns it with the capabilities that the store is missing for it. An identical price stays unchanged. Refuses an existing id with other terms, and a price beyond the limit of the catalog.",
    request: () => z.omit(requestedPrice, { retired: true }),
    answer: () =>
      z.extend(price, {
        added: z.boolean(),
        missingCapabilities: z.array(z.string()),
      }),
    refusals: ["state_conflict"],
  }),
  retirePrice: storeOperation("store", {
    route: ["POST", "/prices/retire"],
    summary: "Retires a price",
    description:
      "Retires a price, so that new checkouts cannot use it, and returns the price. Existing checkouts, and a price that is already retired, stay unchanged. Refuses an id that is not in the catalog.",
    request: () => z.strictObject({ id: nonEmptyText(MAX_SUBJECT_LENGTH) }),
    answer: () => price,
  }),
  listReturnOrigins: storeOperation("viewer", {
    route: ["GET", "/return-origins"],
    summary: "Lists the return origins",
    description:
      "Returns the return origins of the store, oldest first, each with its path if it has one. Payment pages link back to the first one.",
    answer: () => returnOrigins,
  }),
  changeReturnOrigins: storeOperation("store", {
    route: ["POST", "/return-origins"],
    summary: "Adds or removes a return origin",
    description:
      "Adds or removes a return origin of the store, and returns the whole list. Refuses an origin that a browser would write differently, the removal of an origin that is not registered, and more origins than a store may have.",
    request: () =>
      z.discriminatedUnion("action", [
        /** Without `path`, a registered origin keeps its path, and a new one gets `/`. */
        z.strictObject({ action: z.literal("add"), origin: originInput, path: z.optional(pathInput) }),
        z.strictObject({ action: z.literal("remove"), origin: originInput }),
      ]),
    answer: () => returnOrigins,
    refusals: ["state_conflict"],
  }),
};
