import * as z from "zod";
import { drill } from "./drills.ts";
import { ERROR_CODES } from "../errors.ts";

/** The longest that a drill watches, in milliseconds: a day and a bit, as long as a command may run. */
const MAX_WATCH_MS = 25 * 3_600_000;

const MAX_EXIT_CODE = 2 ** 32 - 1;

const seenCreate = z.object({
  request_id: z.uuid(),
  idempotency_key: z.string().nullable(),
  order_id: z.string().nullable(),
  result: z.enum(["created", "replayed", ...ERROR_CODES]),
  checkout_id: z.uuid().nullable(),
  /** Whether its answer was dropped after the commit. */
  lost: z.boolean(),
});
/** A create that came in while the drill watched, as the control API tells it. */
export type SeenCreateWire = z.infer<typeof seenCreate>;

const clientEnd = z.strictObject({
  ending: z.enum(["exited", "timeout", "aborted", "not_run"]),
  exit_code: z.int().min(0).max(MAX_EXIT_CODE).nullable(),
});

/** The operations of the idempotency drill (decision 50), in the order in which a drill calls them. */
export const idempotencyOperations = {
  beginIdempotencyDrill: {
    method: "POST",
    path: "/__sandbox/drills/idempotency",
    summary: "Drops the answer of the next create that succeeds, after its commit, and watches what follows",
    request: z.strictObject({ timeout_ms: z.int().min(1).max(MAX_WATCH_MS) }),
    answer: z.object({ id: z.uuid(), store_id: z.uuid() }),
    bare: false,
    refusals: ["not_found"],
  },
  closeIdempotencyDrill: {
    method: "POST",
    path: "/__sandbox/drills/idempotency/{id}/close",
    summary: "Watches no longer, and tells which request to send with the key of the lost create",
    request: clientEnd,
    answer: z.object({
      /** null where no answer was dropped. */
      reuse: z
        .object({ path: z.string(), idempotency_key: z.string(), body: z.record(z.string(), z.unknown()) })
        .nullable(),
    }),
    bare: false,
    refusals: ["not_found"],
  },
  judgeIdempotencyDrill: {
    method: "POST",
    path: "/__sandbox/drills/idempotency/{id}/judge",
    summary: "Judges what was seen by the service's own log and tables, and keeps what that has shown",
    request: z.strictObject({}),
    answer: z.object({
      verdict: z.enum(["passed", "failed", "unknown"]),
      /** null where nothing was shown, and nothing kept. */
      drill_id: z.uuid().nullable(),
      steps: drill.shape.steps,
      creates: z.array(seenCreate),
    }),
    bare: false,
    refusals: ["not_found"],
  },
} as const;
