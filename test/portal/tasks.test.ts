import { expect, test } from "vitest";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { untilDeadEnd, type HandCount } from "../support/portal-hand.ts";
import { handHere } from "../support/portal-hand-here.ts";
import { portalHost, signIn } from "../support/portal-sign-in.ts";
import { PORTAL_TASKS, RECEIVERS, createTaskStore } from "../support/portal-tasks.ts";
import type { Cookies } from "../support/tab.ts";

test("every task in the portal can be done without JavaScript, within its limit of clicks, and no page is a dead end", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const { portal_url: portal, control_token: controlToken } = sandbox.ready;
  harness.occupy(3000, {
    answer: ({ target }) => {
      const status = Object.entries(RECEIVERS).find(([path]) => path === target)?.[1] ?? 404;
      return Promise.resolve({ status, headers: {}, body: "" });
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  const newBrowser = async (): Promise<Cookies> => {
    const [, name = "", value = ""] =
      /^([^=]+)=(.*)$/.exec((await signIn(harness, sandbox, "merchant")).cookie) ?? [];
    return new Map([[portalHost(sandbox), new Map([[name, value]])]]);
  };
  const shared = await newBrowser();
  const wrong = [];
  // Tasks that sign the shared browser out come last.
  const tasks = PORTAL_TASKS.toSorted(
    (one, other) => Number(one.changesBrowser ?? false) - Number(other.changesBrowser ?? false),
  );
  for (const { name, changesBrowser, prepare, act, ends, maxClicks } of tasks) {
    const { storeId, store } = await createTaskStore(
      async (path, { token, body, key }) => {
        const headers = {
          Authorization: `Bearer ${token}`,
          ...(key === undefined ? {} : { "Idempotency-Key": key }),
        };
        return JSON.parse(
          String((await sandbox.request({ path, headers, body: JSON.stringify(body) })).body),
        ) as unknown;
      },
      { name, receivers: "http://localhost:3000", controlToken },
    );
    await prepare?.(store);
    const count: HandCount = { clicks: 0, refusals: 0, deadEnds: [] };
    await untilDeadEnd(count, async () => {
      const cookies = changesBrowser === true ? await newBrowser() : shared;
      const hand = await handHere(sandbox, { address: `${portal}/${storeId}/start`, cookies }, count);
      await act(hand, store);
      await hand.sees(ends);
    });
    if (count.deadEnds.length > 0 || count.clicks > maxClicks) wrong.push({ name, maxClicks, ...count });
  }
  expect(wrong).toEqual([]);
});
