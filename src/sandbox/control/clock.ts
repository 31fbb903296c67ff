import { CLOCK_DECISIONS } from "../../core/readiness/relied.ts";
import { moveClock, showClock } from "../runtime/clock.ts";
import type { HandlersOf } from "./handler.ts";

export const clockHandlers = {
  showClock: async (context, { storeId }) => showClock(context, storeId),
  moveClock: async (context, { storeId, requestId, body }) => {
    const moveOutcome = await moveClock(context, storeId, body);
    if (!moveOutcome.ok) return moveOutcome;
    context.assumptions.note(CLOCK_DECISIONS, { storeId, requestId, at: moveOutcome.value.now });
    await context.wakeStores([storeId]);
    return moveOutcome;
  },
} satisfies HandlersOf<"clock">;
