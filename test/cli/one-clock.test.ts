import { expect, test } from "vitest";
import { createHarness, type Harness } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";
import { english } from "../../src/core/language.ts";
import { CLOCK_TEXTS } from "../../src/sandbox/pages/portal/store/texts.ts";
import { COMMON_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";

const TERMS = { order_id: "order-1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
/** The store's date at the start; the real date is in 2026. */
const STORE_DAY = "2027-03-01";
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** A store whose clock is set to another year, with a declined order and an endpoint that fails. */
async function openMoved() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const down = { status: 500, headers: {}, body: "" };
  harness.occupy(3000, { answer: () => Promise.resolve(down), refuse: () => down });
  const type = async (line: string): Promise<string> => {
    const { stdout, stderr, code } = await harness.run(line.split(" "));
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
    return stdout;
  };
  await type(`sandbox clock set ${STORE_DAY}T10:00:00Z`);
  await type("endpoints add http://localhost:3000/hooks");
  const post = async (body: object) => {
    const headers = { "Idempotency-Key": "the-first-key" };
    const answer = await sandbox.request({ path: "/v1/orders", headers, body: JSON.stringify(body) });
    return JSON.parse(String(answer.body)) as { request_id: string; data?: { id: string } };
  };
  const created = await post(TERMS);
  const refused = await post({ ...TERMS, amount_minor: 1 });
  await type("sandbox pay order-1001 --outcome declined");
  await harness.clock.sleep(1000);
  return { harness, sandbox, type, created, refused };
}

/** Every time in a JSON value, except labelled real times. */
function momentsIn(value: unknown, name = ""): readonly string[] {
  if (typeof value === "string") return name === "real_at" ? [] : (value.match(MOMENT) ?? []);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => momentsIn(one, Array.isArray(value) ? name : key));
}

/** The id of the first object in a list; `key` is the name of the id's field. */
async function firstId(type: (line: string) => Promise<string>, list: string, key: string): Promise<string> {
  const found = JSON.parse(await type(`${list} --json`)) as Record<string, readonly Record<string, string>[]>;
  return Object.values(found).find(Array.isArray)?.[0]?.[key] ?? "";
}

test("commands about orders, events, deliveries, endpoints and requests show the store's time, and label the real time", async () => {
  const { type, created, refused } = await openMoved();
  const event = await firstId(type, "events list", "event_id");
  const commands = [
    "orders list",
    "orders get order-1001",
    "events list",
    `events get ${event}`,
    "deliveries list",
    "endpoints list",
    "requests list",
    `requests get ${created.request_id}`,
    `requests get ${refused.request_id}`,
    "explain order-1001",
    `explain ${refused.request_id}`,
    `explain ${event}`,
    "sandbox clock show",
  ];
  for (const command of commands) {
    const told = momentsIn(JSON.parse(await type(`${command} --json`)));
    expect([command, told.filter((at) => !at.startsWith(STORE_DAY))]).toEqual([command, []]);
    expect([command, told.length > 0]).toEqual([command, true]);
  }
  const [first] = (
    JSON.parse(await type("requests list --json")) as { requests: { at: string; real_at: string }[] }
  ).requests;
  const story = JSON.parse(await type("explain order-1001 --json")) as {
    entries: { what: string; at: string }[];
  };
  expect(story.entries.find(({ what }) => what === "request")?.at).toBe(first?.at);
  expect(first?.real_at).toMatch(/^2026-01-15T12:/);
  expect(await type("requests list")).toMatch(/ 10:00:0/);
  expect(await type(`requests get ${created.request_id}`)).toMatch(
    / 2027-03-01T10:00:0\S+\n .* 2026-01-15T12:00:/,
  );
  const since = JSON.parse(await type("requests list --since 10m --json")) as { requests: unknown[] };
  expect(since.requests).toHaveLength(2);
  const later = JSON.parse(await type(`requests list --since ${STORE_DAY}T11:00:00Z --json`)) as {
    requests: unknown[];
  };
  expect(later.requests).toEqual([]);
});

test("pages of checkouts, webhooks, requests and the clock show the store's time, and label the real time", async () => {
  const { harness, sandbox, type, created, refused } = await openMoved();
  const portal = await signedIn(harness, sandbox);
  const [event, delivery, endpoint] = [
    await firstId(type, "events list", "event_id"),
    await firstId(type, "deliveries list", "id"),
    await firstId(type, "endpoints list", "id"),
  ];
  const pages = [
    "/checkouts",
    `/checkouts/${created.data?.id}`,
    "/webhooks",
    `/webhooks/endpoints/${endpoint}`,
    "/webhooks/events",
    `/webhooks/events/${event}`,
    `/webhooks/deliveries/${delivery}`,
    "/requests",
    `/requests/${created.request_id}`,
    `/requests/${refused.request_id}`,
    "/clock",
  ];
  const labels = [COMMON_TEXTS.realTime, CLOCK_TEXTS.realNow].map(english).join("|");
  const real = new RegExp(
    String.raw`(?:${labels})\s*(?:</dt>\s*<dd>\s*)?<time datetime="2026-01-15T12:[^>]*>`,
    "g",
  );
  for (const path of pages) {
    const { html } = await portal.get(`${portal.home}${path}`);
    const times = [...html.replaceAll(real, "").matchAll(/<time\s+datetime="([^"]+)"/g)].map(
      ([, at]) => at ?? "",
    );
    expect([path, times.filter((at) => !at.startsWith(STORE_DAY))]).toEqual([path, []]);
    expect([path, times.length > 1]).toEqual([path, true]);
  }
  const request = `${portal.home}/requests/${created.request_id}`;
  for (const path of [request, `${portal.home}/requests`, `${portal.home}/checkouts/${created.data?.id}`])
    expect((await portal.get(path)).html).toMatch(real);
  await type("sandbox clock real");
  expect((await portal.get(request)).html).toMatch(real);
});

test("listen shows the store's time first, and labels the real time", async () => {
  const { harness, type } = await openMoved();
  const lines = await listenLines(harness, type, ["listen"]);
  expect(lines[0]).toMatch(/^10:\d\d:\d\dZ {2}\S+ {2}order\.expired .* 12:\d\d:\d\dZ$/);
  const [told] = await listenLines(harness, type, ["listen", "--json"]);
  expect(JSON.parse(told ?? "")).toMatchObject({
    at: expect.stringMatching(/^2027-03-01T1/) as string,
    real_at: expect.stringMatching(/^2026-01-15T12/) as string,
  });
  await type("sandbox clock real");
  const [real] = await listenLines(harness, type, ["listen"]);
  expect(real?.match(/\d\d:\d\d:\d\dZ/g)).toEqual([expect.stringMatching(/^12:/)]);
});

test("listen reports a disconnection in labelled real time, and the reconnection in the store's time", async () => {
  const { harness, sandbox, type } = await openMoved();
  const beat = async (): Promise<void> => {
    for (let second = 0; second < 5; second += 1) {
      harness.clock.advance(1000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const listener = await harness.launch(["listen"]);
  const before = listener.text().stdout.length;
  await beat();
  await sandbox.stop();
  await beat();
  await harness.start();
  await beat();
  await beat();
  await type("sandbox clock real");
  const { stdout } = await listener.stop();
  const [gone, back] = stdout.slice(before).split("\n").filter(Boolean);
  expect(gone).toMatch(/^12:\d\d:\d\dZ {2}disconnected .* {2}\D+$/);
  expect(back).toMatch(/^1\d:\d\d:\d\dZ {2}reconnected .* 12:\d\d:\d\dZ$/);
});

let orders = 0;

/** The lines that `listen` prints about an order that ends while it runs. */
async function listenLines(
  harness: Harness,
  type: (line: string) => Promise<string>,
  line: readonly string[],
): Promise<readonly string[]> {
  const listener = await harness.launch([...line, "--events", "order.expired"]);
  const before = listener.text().stdout.length;
  orders += 1;
  await type(`orders create --order-id expires-${orders} --price-id price_coffee`);
  await type(`sandbox pay expires-${orders} --outcome expired`);
  await harness.clock.sleep(1000);
  const { stdout } = await listener.stop();
  return stdout.slice(before).split("\n").filter(Boolean);
}
