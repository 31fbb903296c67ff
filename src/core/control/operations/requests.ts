import { errorWords } from "../../shape/issue-words.ts";
import * as z from "zod/mini";
import { ERROR_CODES } from "../../errors.ts";
import { EXPLAINABLE_KINDS } from "../../explain/explained.ts";
import { explanation } from "../../explain/explanation.ts";
import { parseStatuses, STATUSES_SCHEMA } from "../../request/statuses.ts";
import { appliedFault } from "../../fault/shapes.ts";
import {
  moment,
  momentInRequest,
  nonEmptyText,
  storeOperation,
  wholeNumberInQuery,
  type DomainOf,
} from "../operation.ts";
import { nameSchemas } from "../../shape/wire-names.ts";

/** The longest time that a list request waits for the next entry, in milliseconds. */
export const MAX_REQUEST_WAIT_MS = 20_000;

const MAX_PAGE = 1000;

const logged = z.object({
  /** The id that the caller received; a replay contains the id of the first answer. */
  requestId: z.string(),
  /** The time of arrival by the store's clock. */
  at: moment,
  /** The time of arrival by the real clock. */
  realAt: moment,
  method: z.string(),
  path: z.string(),
  status: z.int(),
  /** Null if the request was not refused. */
  code: z.nullable(z.enum(ERROR_CODES)),
  /** The message of the refusal; null if the request was not refused. */
  message: z.nullable(z.string()),
  /** The order_id in the body or of the retrieved checkout; null if there is none. */
  orderId: z.nullable(z.string()),
  /** The duration in milliseconds, rounded up to a tenth. */
  durationMs: z.number(),
  /** Numbers of the decisions that the answer relied on. */
  decisions: z.array(z.int()),
  /** The injected fault that was applied to the request. */
  fault: z.nullable(appliedFault),
  /** Whether a drill sent the request itself: then it is not evidence about the merchant's programs. */
  byDrill: z.boolean(),
});
/** A v1 request and its answer, in the control API. */
export type RequestEntry = DomainOf<typeof logged>;

const refused = z.object({
  /** The message of the refusal. */
  message: z.string(),
  /** Names and values, alternating, in their original order. */
  headers: z.array(z.string()),
  body: z.string(),
});
/** The refused request and the reason. */
export type RefusedEntry = DomainOf<typeof refused>;

const MAX_ID = 64;

nameSchemas({ LoggedRequest: logged });

/** The operations on the request log, and `explain` (decisions 86, 87). */
export const requestOperations = {
  listRequests: storeOperation({
    path: "/requests",
    // It reads only the log, which is not part of the store.
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
              errorWords(["expected a status such as 404, 4xx, or 0", "应为 404、4xx 或 0 这样的状态码"]),
            ),
            z.meta(STATUSES_SCHEMA),
          ),
        ),
        method: z.optional(z.string()),
        path: z.optional(z.string()),
        orderId: z.optional(z.string()),
        /** `merchant`: without requests that a drill sent itself. */
        by: z.optional(z.literal("merchant")),
        after: z.optional(wholeNumberInQuery(0)),
        /** By the store's clock. */
        from: z.optional(momentInRequest),
        limit: z.optional(wholeNumberInQuery(1, MAX_PAGE)),
        waitMs: z.optional(wholeNumberInQuery(0, MAX_REQUEST_WAIT_MS)),
      }),
    /**
     * `position` is the position of the newest request seen, after which the next call continues. `failure`: why the
     * log is not being written, and the remedy.
     */
    answer: () => z.object({ requests: z.array(logged), position: z.int(), failure: z.nullable(z.string()) }),
  }),
  showRequest: storeOperation({
    path: "/requests/{id}",
    summary: "Shows a v1 request",
    description:
      "Returns a logged v1 request; if the request was refused, with its headers and body, from which secrets are removed. Refuses a request that is not, or no longer, in the log.",
    answer: () =>
      z.extend(logged, {
        refused: z.nullable(refused),
        /** The times of its replays. */
        replayedAt: z.array(moment),
      }),
  }),
  explain: storeOperation({
    path: "/explain",
    summary: "Explains a request, checkout, event, delivery or order",
    description:
      "Finds the request, checkout, event, delivery or order with this id, and returns its story: what happened, which rule applies, what is due, and the next command. Refuses an id that nothing in the store has.",
    request: () =>
      z.strictObject({
        id: nonEmptyText(MAX_ID),
        as: z.optional(z.enum(EXPLAINABLE_KINDS)),
      }),
    answer: () => explanation,
  }),
};
