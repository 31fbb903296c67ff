import { createServer } from "node:http";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { part, SEED } from "../support/campaign.ts";
import { listenUntilEnd, readBody } from "../support/http-receiver.ts";
import { openSignedIn } from "../support/portal-browser.ts";
import { untilDeadEnd, type HandCount } from "../support/portal-hand.ts";
import { handOn } from "../support/portal-hand-in-browser.ts";
import { PORTAL_TASKS, RECEIVERS, createTaskStore, type PortalTask } from "../support/portal-tasks.ts";
import { openShop, type Shop } from "../support/shop.ts";

/** A browser's message about a form that was refused with 400; it is not an error of the page. */
const REFUSED = /^Failed to load resource: the server responded with a status of 400/;

type TaskResult = {
  readonly task: PortalTask;
  readonly clicks: number;
  readonly ms: number;
  readonly deadEnds: readonly string[];
};

/** Does a task in a new store; returns its clicks, its time and its dead ends. */
async function doTask(
  shop: Shop,
  task: PortalTask,
  { page, receivers }: { readonly page: Page; readonly receivers: string },
): Promise<TaskResult> {
  const { base_url, control_token: controlToken } = shop.sandbox.ready;
  const { storeId, store } = await createTaskStore(
    async (path, { token, body, key }) => {
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      };
      const answer = await fetch(new URL(path, base_url), {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      return answer.json();
    },
    { name: task.name, receivers, controlToken },
  );
  await task.prepare?.(store);
  await page.goto(`${shop.sandbox.ready.portal_url ?? ""}/${storeId}/start`);
  shop.complaints.length = 0;
  const count: HandCount = { clicks: 0, refusals: 0, deadEnds: [] };
  const hand = handOn(page, count);
  const begun = performance.now();
  await untilDeadEnd(count, async () => {
    await task.act(hand, store);
    await hand.sees(task.ends);
  });
  const ms = Math.round(performance.now() - begun);
  const expected = shop.complaints.filter((one) => REFUSED.test(one)).length <= count.refusals;
  const errors = shop.complaints.filter((one) => !expected || !REFUSED.test(one));
  return { task, clicks: count.clicks, ms, deadEnds: [...count.deadEnds, ...errors] };
}

test(`every task in the portal can be done within its limit of clicks, and no page is a dead end (seed ${SEED})`, async () => {
  const shop = await openShop();
  const port = await listenUntilEnd(
    createServer((request, response) => {
      const status = Object.entries(RECEIVERS).find(([path]) => path === request.url)?.[1] ?? 404;
      void readBody(request).then(() => response.writeHead(status).end());
    }),
  );
  const results: TaskResult[] = [];
  const signIn = async (): Promise<Page> =>
    (await openSignedIn(shop, { viewport: { width: 1440, height: 900 } })).page;
  const shared = await signIn();
  // Tasks that would sign the shared browser out come last. All tasks without a browser: test/portal/tasks.test.ts.
  const tasks = part(PORTAL_TASKS, 4).toSorted(
    (one, other) => Number(one.changesBrowser ?? false) - Number(other.changesBrowser ?? false),
  );
  for (const task of tasks) {
    // An open page of the shared browser would be signed out, and would report an error.
    if (task.changesBrowser === true) await shared.close();
    const page = task.changesBrowser === true ? await signIn() : shared;
    results.push(await doTask(shop, task, { page, receivers: `http://127.0.0.1:${port}` }));
    if (task.changesBrowser === true) await page.close();
  }
  const rows = results.map(
    ({ task, clicks, ms, deadEnds }) =>
      `${task.name.padEnd(48)} ${String(clicks).padStart(2)} clicks ${String(ms).padStart(6)} ms  ${deadEnds.length} dead ends`,
  );
  process.stdout.write(`${rows.join("\n")}\n`);
  const wrong = results
    .filter(({ task, clicks, deadEnds }) => deadEnds.length > 0 || clicks > task.maxClicks)
    .map(({ task, clicks, deadEnds }) => ({
      name: task.name,
      clicks,
      maxClicks: task.maxClicks,
      deadEnds,
    }));
  expect(results.length).toBeGreaterThan(4);
  expect(wrong).toEqual([]);
});
