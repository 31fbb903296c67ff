import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  storyLines,
  timelineOf,
  type CheckoutStory,
  type StoryRequest,
} from "../../src/core/explain/timeline.ts";
import type { StoryDelivery, StoryAttempt } from "../../src/core/explain/delivery.ts";
import { SEED, size } from "../support/campaign.ts";

/** The moves of a clock in milliseconds: mostly forward, sometimes zero or back. */
const steps = fc.array(
  fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 0, max: 5000 }) }, fc.integer({ min: -4000, max: -1 })),
  {
    minLength: 1,
    maxLength: 30,
  },
);

const REQUEST = {
  method: "POST",
  path: "/v1/orders",
  status: 201,
  code: null,
  fault: null,
  key: null,
  differences: [],
  durationMs: 0,
  answer: null,
  fingerprint: null,
  orderId: "order-1",
  decisions: [],
  refused: null,
} as const;

/** A checkout with a realistic history, on a clock that is moved. */
const history = fc.record({
  moves: steps,
  attempts: fc.integer({ min: 0, max: 5 }),
  ends: fc.boolean(),
  endpoints: fc.integer({ min: 0, max: 4 }),
  tries: fc.array(
    fc.constantFrom<Pick<StoryAttempt, "status" | "error">>(
      { status: 204, error: null },
      { status: 500, error: null },
      { status: null, error: "timeout" },
      { status: null, error: null },
    ),
    { minLength: 0, maxLength: 6 },
  ),
  requests: fc.integer({ min: 0, max: 5 }),
});

function tell({
  moves,
  attempts,
  ends,
  endpoints,
  tries,
  requests,
}: typeof history extends fc.Arbitrary<infer One> ? One : never) {
  let [now, step] = [1_000_000, 0];
  const tick = (): number => {
    now += moves[step % moves.length] ?? 0;
    step += 1;
    return now;
  };
  const seen: { id: string; type: string; createdAt: number }[] = [];
  const told: StoryRequest[] = [];
  const request = (status: number): void => {
    const at = tick();
    told.push({
      ...REQUEST,
      status,
      position: told.length + 1,
      requestId: `request-${told.length}`,
      at,
      storeAt: at,
    });
  };
  request(201);
  seen.push({ id: "created", type: "order.created", createdAt: now });
  const paid = Array.from({ length: attempts }, (_, index) => {
    const startedAt = tick();
    if (index === 0) seen.push({ id: "pending", type: "order.pending", createdAt: startedAt });
    return { number: index + 1, startedAt, outcome: "declined" as const, finishedAt: tick() };
  });
  if (ends) seen.push({ id: "final", type: "order.failed", createdAt: tick() });
  for (let count = 0; count < requests; count += 1) request(200);
  const deliveries = seen.flatMap(({ id: eventId }) =>
    Array.from({ length: endpoints }, (_, index): StoryDelivery => ({
      id: `${eventId}-${index}`,
      eventId,
      endpointId: `endpoint-${index}`,
      endpointUrl: `http://localhost:${3000 + (index % 2)}/hooks`,
      cause: "event",
      state: "due",
      nextAt: now,
      isHeld: false,
      fault: null,
      attempts: tries.map((one, at) => ({
        ...one,
        number: at + 1,
        startedAt: now,
        url: "",
        milliseconds: null,
        fault: null,
        answer: null,
        facts: null,
      })),
    })),
  );
  const story: CheckoutStory = {
    attempts: paid,
    lateResults: [],
    views: [],
    events: seen,
    deliveries,
    dueChanges: [],
  };
  return { checkouts: [story], requests: told, now };
}

test("an order's timeline goes back in time only where the clock was set back, and has each attempt once", () => {
  fc.assert(
    fc.property(history, (drawn) => {
      const story = tell(drawn);
      const lines = storyLines(story);
      let time = -Infinity;
      for (const { entry, deliveryLines } of lines) {
        if (entry.what !== "clock") expect(entry.at).toBeGreaterThanOrEqual(time);
        time = entry.at;
        for (const one of deliveryLines) expect(one.entry.at).toBe(entry.at);
      }
      const back = drawn.moves.every((move) => move >= 0);
      if (back) expect(lines.filter(({ entry }) => entry.what === "clock")).toEqual([]);
      const [checkout] = story.checkouts;
      const attempts = lines.flatMap(({ deliveryLines }) =>
        deliveryLines.flatMap(({ deliveries }) => deliveries.flatMap((one) => one.attempts)),
      );
      expect(new Set(attempts).size).toBe(attempts.length);
      expect(attempts).toHaveLength((checkout?.deliveries ?? []).flatMap((one) => one.attempts).length);
      const shown = timelineOf(story).entries.flatMap((one) => one.attempts ?? []);
      expect(shown).toHaveLength(attempts.length);
      const own = lines.filter(({ entry }) => entry.what !== "clock").length;
      expect(own).toBe(
        story.requests.length + (checkout?.events.length ?? 0) + Math.max(0, 2 * drawn.attempts - 1),
      );
    }),
    { seed: SEED, numRuns: size(50, 500) },
  );
});
