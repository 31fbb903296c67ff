import * as z from "zod/mini";
import { ERROR_CODES } from "../errors.ts";
import { appliedFault } from "../fault/shapes.ts";
import { moment, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";

export const requestEntry = z.object({
  /** A replay has the id of the first answer. */
  requestId: z.string(),
  /** The time of arrival by the store's clock. */
  at: moment,
  /** The time of arrival by the real clock. */
  realAt: moment,
  method: z.string(),
  path: z.string(),
  status: z.int(),
  code: z.nullable(z.enum(ERROR_CODES)),
  /** The message of the refusal; null if the request was not refused. */
  message: z.nullable(z.string()),
  /** The name of the refusal's sentence (core/refusals.ts); null without one. */
  fact: z.nullable(z.string()),
  /** The order_id in the body or of the retrieved checkout; null if there is none. */
  orderId: z.nullable(z.string()),
  /** The duration in real milliseconds, rounded up to a tenth; it differs from run to run. */
  durationMs: z.number(),
  /** Numbers of the decisions (docs/decisions.md) that the answer relied on. */
  decisions: z.array(z.int()),
  fault: z.nullable(appliedFault),
  /** True if a drill sent the request itself: then it proves nothing about the merchant's programs. */
  byDrill: z.boolean(),
});
export type RequestEntry = DomainOf<typeof requestEntry>;

export const refusedEntry = z.object({
  message: z.string(),
  /** Names and values, alternating, in their original order. */
  headers: z.array(z.string()),
  body: z.string(),
});
export type RefusedEntry = DomainOf<typeof refusedEntry>;

nameSchemas({ LoggedRequest: requestEntry });
