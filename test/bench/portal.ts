import { readFileSync } from "node:fs";
import { Agent, request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { v7 } from "uuid";
import { type Figure } from "./figures.ts";
import { openFilled, timed } from "./lists.ts";
import type { Bench, Sandbox } from "./processes.ts";

const CHECKOUTS = 100_000;
const SMALL = 200;
/** Number of requests in the log of each store, which is the most that a log keeps. */
const LOGGED = 10_000;
/** Maximum time of a page on the server, and its maximum ratio to the time of the same page in a small store. */
const MAX_PAGE_MS = 20;
const MAX_GROWTH = 4;
const BODY = "{}";
const HASH = "e".repeat(64);

/** Pages of checkouts, by name; `<id>` is a checkout in the middle of the list, `<last>` the newest checkout. */
const PAGES: Readonly<Record<string, string>> = {
  "page, checkouts": "/checkouts",
  "page, checkouts of a rare kind": "/checkouts?status=failed&object=checkout_session&method=wechat_pay",
  "page, a search in descriptions": "/checkouts?q=needle",
  "page, checkouts further on": "/checkouts?before=<id>",
  "page, a checkout": "/checkouts/<id>",
  "page, the newest checkout": "/checkouts/<last>",
  "page, find an order": "/find?q=o-000007",
};

/** Portal pages of a store of 100,000 checkouts, each with a webhook, compared with pages of a store of 200. */
export async function measurePortal(bench: Bench): Promise<Figure[]> {
  const [small, large] = [await openPortal(bench, SMALL), await openPortal(bench, CHECKOUTS)];
  const figures: Figure[] = [];
  for (const [name, path] of Object.entries(PAGES)) {
    const [baseline, measured] = [await small(path), await large(path)];
    figures.push({ name: `${name} p99`, value: measured.p99, unit: "ms", target: { atMost: MAX_PAGE_MS } });
    figures.push({
      name: `${name} p50`,
      value: measured.p50,
      unit: "ms",
      ratio: measured.p50 / baseline.p50,
      baseline: `${baseline.p50.toFixed(2)} ms of ${SMALL}`,
      ...(path.includes("needle") ? {} : { target: { atMost: MAX_GROWTH } }),
    });
  }
  return figures;
}

/** Signs in to the portal of a sandbox with `count` checkouts, and returns a function that measures a page. */
async function openPortal(bench: Bench, count: number) {
  const { sandbox, ids } = await openFilled(bench, count, addDeliveries);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = sender(sandbox, agent);
  const authorization = `Bearer ${sandbox.apiKey}`;
  const [middle = "", last = ""] = [ids[Math.floor(ids.length / 2)], ids.at(-1)];
  // In each store, 50 requests for each retrieved checkout, one checkout after the other.
  const asked = [middle, ...ids.slice(1 - SMALL)];
  for (let round = 0; round < LOGGED; round += 1)
    await send(`/v1/checkout-sessions/${asked[Math.floor(round / (LOGGED / SMALL))] ?? ""}`, {
      headers: { authorization },
    });
  const { cookie, portal } = await signIn(sandbox, send);
  const host = `localhost:${sandbox.port}`;
  return (path: string) => {
    const named = path.replace("<id>", middle).replace("<last>", last);
    return timed(async () => {
      const { statusCode = 0 } = await send(`${portal}/${sandbox.storeId}${named}`, {
        headers: { cookie, host },
      });
      if (statusCode !== 200 && statusCode !== 303) throw new Error(`${named}: ${statusCode}`);
    });
  };
}

type Sending = { readonly headers: Readonly<Record<string, string>>; readonly body?: string };
type Answer = IncomingMessage & { readonly text: string };

/**
 * Sends requests to a sandbox, and reads their answers to the end. A GET is sent again if the sandbox has closed its
 * idle connection, as in a browser.
 */
export function sender({ port }: Sandbox, agent: Agent) {
  const send = (path: string, { headers, body }: Sending): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST";
      const sent = request({ agent, host: "127.0.0.1", port, path, headers, method }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => (text += part));
        answer.once("end", () => resolve(Object.assign(answer, { text })));
      });
      sent.once("error", (error: NodeJS.ErrnoException) => {
        const wasIdle = sent.reusedSocket && error.code === "ECONNRESET";
        if (wasIdle && method === "GET") resolve(send(path, { headers }));
        else reject(error);
      });
      sent.end(body);
    });
  return send;
}

/** Signs a merchant in to the portal; returns the Cookie header and the path of the portal. */
export async function signIn(
  { folder, port }: Sandbox,
  send: (path: string, sending: Sending) => Promise<Answer>,
): Promise<{ readonly cookie: string; readonly portal: string }> {
  const run = JSON.parse(readFileSync(join(folder, "run.json"), "utf8")) as {
    readonly control_token: string;
  };
  const issued = await send("/__sandbox/portal/sign-ins", {
    headers: { authorization: `Bearer ${run.control_token}`, "content-type": "application/json" },
    body: "{}",
  });
  const { data } = JSON.parse(issued.text) as { readonly data: { readonly sign_in_url: string } };
  const { hash, pathname } = new URL(data.sign_in_url);
  const code = new URLSearchParams(hash.slice(1)).get("t") ?? "";
  const entered = await send(pathname, {
    headers: {
      host: `localhost:${port}`,
      "content-type": "application/x-www-form-urlencoded",
      "sec-fetch-site": "same-origin",
    },
    body: new URLSearchParams({ code }).toString(),
  });
  const [cookie = ""] = (entered.headers["set-cookie"]?.[0] ?? "").split(";");
  return { cookie, portal: pathname.replace(/\/sign-in$/, "") };
}

/** Adds an endpoint, and for each checkout an event whose delivery failed once and then succeeded. */
export function addDeliveries(database: Database.Database, storeId: string, ids: readonly string[]): void {
  const endpointId = v7();
  database
    .prepare(
      `INSERT INTO endpoints (id, store_id, kind, url, event_types, state, created_at, in_order)
       VALUES (?, ?, 'url', 'http://localhost:9/', '*', 'enabled', 1, 0)`,
    )
    .run(endpointId, storeId);
  const addEvent = database.prepare(
    `INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
     VALUES (?, ?, ?, 'order.created', 1, '${BODY}', 1)`,
  );
  const addDelivery = database.prepare(
    `INSERT INTO deliveries (id, store_id, endpoint_id, event_id, checkout_id, sequence, cause, in_order, state, tries,
       next_at, created_at)
     VALUES (?, ?, ?, ?, ?, 1, 'event', 0, 'succeeded', 2, 1, 1)`,
  );
  const addTry = database.prepare(
    `INSERT INTO delivery_attempts (delivery_id, number, started_at, url, headers, body_hash, finished_at, milliseconds,
       status) VALUES (?, ?, 1, 'http://localhost:9/', '{}', '${HASH}', 2, 1, ?)`,
  );
  for (const id of ids) {
    const [eventId, deliveryId] = [v7(), v7()];
    addEvent.run(eventId, storeId, id);
    addDelivery.run(deliveryId, storeId, endpointId, eventId, id);
    addTry.run(deliveryId, 1, 500);
    addTry.run(deliveryId, 2, 204);
  }
}
