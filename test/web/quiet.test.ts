import { expect, test } from "vitest";
import { notifyWhenQuiet } from "../../src/web/quiet.ts";
import type { HttpRequest, Service } from "../../src/world.ts";

const QUIET_MS = 10_000;
const REQUEST: HttpRequest = { method: "GET", target: "/", rawHeaders: [], body: new Uint8Array() };
/** The poll of an open page. */
const CONDITIONAL: HttpRequest = { ...REQUEST, rawHeaders: ["If-None-Match", '"store-1-2-3"'] };

/** A service that counts how often it became quiet, on a clock moved by the test. */
function watched() {
  let now = 5000;
  let quiets = 0;
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  const asked: HttpRequest[] = [];
  const answer: Service["answer"] = async (request) => {
    asked.push(request);
    return { status: 200, headers: {}, body: "" };
  };
  const refuse: Service["refuse"] = () => ({ status: 400, headers: {}, body: "" });
  const service = notifyWhenQuiet(
    { answer, refuse },
    {
      after: (milliseconds, run) => void timers.push({ at: now + milliseconds, run }),
      monotonic: () => now,
      quietMs: QUIET_MS,
      onQuiet: () => (quiets += 1),
    },
  );
  const pass = (milliseconds: number): void => {
    now += milliseconds;
    const due = timers.filter(({ at }) => at <= now);
    timers = timers.filter(({ at }) => at > now);
    for (const { run } of due) run();
  };
  return { service, asked, pass, quiets: () => quiets, waiting: () => timers.length };
}

test("a server counts as quiet once after 10 seconds without requests, and again only after another request", async () => {
  const { service, asked, pass, quiets, waiting } = watched();
  pass(QUIET_MS);
  expect([quiets(), waiting()]).toEqual([0, 0]);
  for (let count = 0; count < 3; count += 1) {
    expect(await service.answer(REQUEST)).toMatchObject({ status: 200 });
    pass(QUIET_MS - 1);
    expect([quiets(), waiting()]).toEqual([0, 1]);
  }
  expect(asked).toHaveLength(3);
  pass(QUIET_MS);
  expect([quiets(), waiting()]).toEqual([1, 0]);
  pass(QUIET_MS * 10);
  expect(quiets()).toBe(1);
  await service.answer(REQUEST);
  pass(QUIET_MS);
  expect([quiets(), waiting()]).toEqual([2, 0]);
});

test("a server counts as quiet while open pages only ask whether they have changed", async () => {
  const { service, asked, pass, quiets, waiting } = watched();
  await service.answer(CONDITIONAL);
  expect(waiting()).toBe(0);
  await service.answer(REQUEST);
  for (let second = 0; second < 10; second += 1) {
    expect(await service.answer(CONDITIONAL)).toMatchObject({ status: 200 });
    pass(1000);
  }
  expect([asked.length, quiets(), waiting()]).toEqual([12, 1, 0]);
});
