import { CLOCK_DECISIONS } from "../../core/readiness/relied.ts";
import { moveClock, showClock } from "../runtime/clock.ts";
import type { HandlersOf } from "./handler.ts";

export const clockHandlers = {
  showClock: async (context, { storeId }) => showClock(context, storeId),
  moveClock: async (context, { storeId, requestId, body }) => {
    const moved = await moveClock(context, storeId, body);
    if (!moved.ok) return moved;
    context.assumptions.note(CLOCK_DECISIONS, { storeId, requestId, at: moved.value.now });
    await context.wakeStores([storeId]);
    return moved;
  },
} satisfies HandlersOf<"clock">;
