import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { MAX_EVENT_WAIT_MS } from "../../core/control/operations/webhook.ts";
import type { World } from "../../world.ts";
import { poll } from "../poll.ts";
import { callControl, type ControlResult, type ControlTarget } from "./control.ts";
import type { DeliveryEntry } from "../../core/webhook/shapes.ts";

type WaitLimits = { readonly waitMs: number; readonly signal: AbortSignal };

type WaitWorld = Pick<World, "send" | "sleep" | "monotonic">;

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;

export async function waitForEvents(
  world: WaitWorld,
  target: ControlTarget,
  options: WaitLimits & { readonly query: RequestOf<"listEvents"> },
): Promise<ControlResult<AnswerOf<"listEvents">>> {
  const { query, signal } = options;
  const deadline = world.monotonic() + options.waitMs;
  for (;;) {
    const remainingMs = Math.max(0, Math.ceil(deadline - world.monotonic()));
    const body = { ...query, waitMs: Math.min(remainingMs, MAX_EVENT_WAIT_MS) };
    const eventList = await callControl(world, target, { name: "listEvents", body, signal });
    if (eventList.end !== "success" || eventList.value.events.length > 0) return eventList;
    if (world.monotonic() >= deadline) return eventList;
  }
}

export async function waitForDeliveries(
  world: WaitWorld,
  target: ControlTarget,
  options: WaitLimits & {
    readonly eventId: string;
    readonly until: (deliveries: readonly DeliveryEntry[]) => boolean;
  },
): Promise<ControlResult<AnswerOf<"showEvent">>> {
  const { eventId: id, signal } = options;
  const show = () => callControl(world, target, { name: "showEvent", id, body: undefined, signal });
  return poll(world, show, {
    isEnough: (result) => result.end !== "success" || options.until(result.value.deliveries),
    waitMs: options.waitMs,
    firstPauseMs: FIRST_PAUSE_MS,
    maxPauseMs: MAX_PAUSE_MS,
    signal,
  });
}
