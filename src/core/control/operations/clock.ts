import * as z from "zod/mini";
import { statusChange } from "../../checkout/shapes.ts";
import { moment, momentInRequest, wholeNumber } from "../../shape/fields.ts";
import { nameSchemas } from "../../shape/wire-names.ts";
import { dispatchedAttempt } from "../../webhook/shapes.ts";
import { storeOperation } from "../operation.ts";

const MAX_ADVANCE_MS = 366 * 24 * 3_600_000;

const clock = z.object({
  now: moment,
  frozen: z.boolean(),
  fired: z.array(statusChange),
  delivered: z.array(dispatchedAttempt),
  undelivered: wholeNumber(0),
});

nameSchemas({ Clock: clock });

export const clockOperations = {
  showClock: storeOperation("viewer", {
    route: ["GET", "/clock"],
    summary: "Shows the store's time",
    description: "Returns the store's time, and whether its clock is frozen.",
    answer: () => clock,
  }),
  moveClock: storeOperation("store", {
    route: ["POST", "/clock"],
    summary: "Moves the store's clock",
    description:
      "Freezes, advances or sets the clock, or returns it to real time, and processes everything that becomes due before it answers. Returns the new time with the status changes and deliveries that became due. Refuses a time beyond the year 9999.",
    request: () =>
      z.discriminatedUnion("action", [
        z.strictObject({ action: z.enum(["freeze", "real"]) }),
        z.strictObject({
          action: z.literal("advance"),
          byMs: wholeNumber(1, MAX_ADVANCE_MS),
        }),
        z.strictObject({ action: z.literal("set"), to: momentInRequest }),
      ]),
    answer: () => clock,
  }),
};
