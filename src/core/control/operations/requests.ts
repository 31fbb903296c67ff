import { LANGUAGES } from "../../language.ts";
import * as z from "zod/mini";
import { EXPLAINABLE_KINDS } from "../../explain/explained.ts";
import { explanation } from "../../explain/explanation.ts";
import { refusedEntry, requestEntry } from "../../request/shapes.ts";
import { parseStatuses, STATUSES_SCHEMA } from "../../request/statuses.ts";
import { zodErrorOf, moment, momentInRequest, nonEmptyText, wholeNumberInQuery } from "../../shape/fields.ts";
import { storeOperation } from "../operation.ts";

export const MAX_REQUEST_WAIT_MS = 20_000;

const MAX_PAGE_LENGTH = 1000;

const MAX_ID_LENGTH = 64;

export const requestOperations = {
  listRequests: storeOperation("viewer", {
    route: ["GET", "/requests"],
    // The operation reads only the log, which is not part of the store.
    entersStore: false,
    summary: "Lists v1 requests",
    description:
      "Returns the newest logged v1 requests that match every filter, oldest first, and the position from which to continue. With `wait_ms` it waits for the next match, and returns an empty list if there is none in time.",
    request: () =>
      z.strictObject({
        /** `404` or `4xx`; `0` for no answer. */
        status: z.optional(
          z.string().check(
            z.refine(
              (text) => parseStatuses(text) !== undefined,
              zodErrorOf(["expected a status such as 404, 4xx, or 0", "应为 404、4xx 或 0 这样的状态码"]),
            ),
            z.meta(STATUSES_SCHEMA),
          ),
        ),
        method: z.optional(z.string()),
        path: z.optional(z.string()),
        orderId: z.optional(z.string()),
        /** `merchant` excludes requests that a drill sent. */
        by: z.optional(z.literal("merchant")),
        after: z.optional(wholeNumberInQuery(0)),
        /** By the store's clock. */
        from: z.optional(momentInRequest),
        limit: z.optional(wholeNumberInQuery(1, MAX_PAGE_LENGTH)),
        waitMs: z.optional(wholeNumberInQuery(0, MAX_REQUEST_WAIT_MS)),
      }),
    /** `position`: the number of the newest request read. `failure`: why the log cannot be written, and the remedy. */
    answer: () =>
      z.object({
        storeId: z.uuid(),
        requests: z.array(requestEntry),
        position: z.int(),
        failure: z.nullable(z.string()),
      }),
  }),
  showRequest: storeOperation("viewer", {
    route: ["GET", "/requests/{id}"],
    summary: "Shows a v1 request",
    description:
      "Returns a logged v1 request; if the request was refused, with its headers and body, from which secrets are removed. Refuses a request that is not, or no longer, in the log.",
    answer: () =>
      z.extend(requestEntry, {
        refused: z.nullable(refusedEntry),
        replayedAt: z.array(moment),
      }),
  }),
  explain: storeOperation("viewer", {
    route: ["GET", "/explain"],
    summary: "Explains a request, checkout, event, delivery or order",
    description:
      "Finds the request, checkout, event, delivery or order with this id, and returns its story: what happened, which rule applies, what is due, and the next command. With `without=durations`, lines do not say how long anything took, which differs from run to run. Refuses an id that nothing in the store has.",
    request: () =>
      z.strictObject({
        id: nonEmptyText(MAX_ID_LENGTH),
        as: z.optional(z.enum(EXPLAINABLE_KINDS)),
        without: z.optional(z.literal("durations")),
      }),
    answer: () => explanation,
  }),
  saveStory: storeOperation("viewer", {
    part: "portal",
    route: ["GET", "/explain/page"],
    summary: "Saves the page of an order as a file",
    description:
      "Returns the portal's page of a checkout as one HTML file, without scripts, links and secrets, in English or Chinese. The checkout is named as for `explain`: by its id, its newest order_id, or a request, an event or a delivery that is about it. Refuses an id without a checkout.",
    request: () =>
      z.strictObject({
        id: nonEmptyText(MAX_ID_LENGTH),
        as: z.optional(z.enum(EXPLAINABLE_KINDS)),
        language: z.optional(z.enum(LANGUAGES)),
      }),
    answer: () => z.object({ checkoutId: z.string(), html: z.string() }),
  }),
};
