import { expect, test } from "vitest";
import type { HttpBody } from "../../src/world.ts";
import { eventually, runOn } from "../support/eventually.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { onWire } from "../support/portal-sign-in.ts";
import { signedIn } from "../support/portal.ts";

/** A message of a stream, or a comment. */
type Message = Readonly<Record<string, string>>;

/** A sandbox with its portal signed in to, and streams that are read by hand. */
async function openPortal(args: readonly string[] = []) {
  const harness = createHarness();
  const sandbox = await harness.start([...EPHEMERAL, ...args]);
  const portal = await signedIn(harness, sandbox);
  const service = harness.programOn(Number(new URL(sandbox.ready.base_url).port));
  if (service === undefined) throw new Error("the sandbox does not run");

  const ask = (query: string, headers: Readonly<Record<string, string>> = {}, storeId?: string) => {
    const own = { Host: portal.host, Cookie: portal.cookie, ...headers };
    return service.answer({
      method: "GET",
      target: onWire(sandbox, `${storeId === undefined ? portal.home : `/portal/${storeId}`}/live?${query}`),
      rawHeaders: Object.entries(own).flat(),
      body: new Uint8Array(),
    });
  };
  /** Opens a stream and reads that it follows. */
  const follow = async (query: string, headers?: Readonly<Record<string, string>>, storeId?: string) => {
    const answer = await ask(query, headers, storeId);
    expect([answer.status, answer.headers["Content-Type"]]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
    const stream = reading(answer.body);
    expect(await stream.next()).toEqual({ retry: "250", event: "follows", data: "" });
    return stream;
  };
  const create = async (orderId: string): Promise<string> => {
    const line = ["orders", "create", "--json", "--order-id", orderId, "--price-id", "price_coffee"];
    const { stdout } = await harness.run(line);
    return (JSON.parse(stdout) as { readonly data: { readonly id: string } }).data.id;
  };
  const pass = async (milliseconds: number): Promise<void> => {
    harness.clock.advance(milliseconds);
    await settled();
  };
  return { harness, sandbox, portal, ask, follow, create, pass };
}

/** A stream's messages, one after the other; a message that has not come yet is `undefined`. */
function reading(body: HttpBody) {
  if (typeof body === "string" || body instanceof Uint8Array) throw new Error("no stream");
  const stream = body[Symbol.asyncIterator]();
  let coming: Promise<IteratorResult<Uint8Array>> | undefined;
  const next = async (): Promise<Message | "end" | undefined> => {
    coming ??= stream.next();
    const step = await Promise.race([coming, settled()]);
    if (step === undefined) return undefined;
    coming = undefined;
    return step.done === true ? "end" : messageOf(Buffer.from(step.value).toString("utf8"));
  };
  return { next, leave: () => stream.return?.() };
}

function messageOf(text: string): Message {
  const lines = text.trimEnd().split("\n");
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", value = ""] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
      return [name === "" ? "comment" : name, value];
    }),
  );
}

async function settled(): Promise<undefined> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test("a list is told of all that its page shows, at most four times a second", async () => {
  const { follow, create, pass } = await openPortal();
  const list = await follow("topic=checkouts");
  expect(await list.next()).toBeUndefined();
  for (const order of ["a", "b", "c"]) await create(order);
  await pass(20);
  expect(await list.next()).toMatchObject({ event: "changed", data: "3 changes" });
  await create("d");
  await pass(100);
  await create("e");
  await pass(149);
  expect(await list.next()).toBeUndefined();
  await pass(1);
  expect(await list.next()).toMatchObject({ event: "changed", data: "2 changes" });
});

test("a checkout's page is told of its own events, deliveries and requests, and of nobody else's", async () => {
  const { follow, create, pass, harness, sandbox } = await openPortal();
  const [own, other] = [await create("own"), await create("other")];
  await pass(1000);
  const page = await follow(`topic=checkout&id=${own}`);
  await harness.run(["sandbox", "pay", other, "--outcome", "succeeded"]);
  await sandbox.request({ path: `/v1/checkout-sessions/${other}` });
  await pass(1000);
  expect(await page.next()).toBeUndefined();
  await harness.run(["sandbox", "pay", own, "--outcome", "declined"]);
  await pass(20);
  expect(await page.next()).toMatchObject({ event: "changed", data: "2 changes" });
  await sandbox.request({ path: `/v1/checkout-sessions/${own}` });
  await pass(1000);
  expect(await page.next()).toMatchObject({ event: "changed", data: "1 change" });
});

test("a checkout's page is told when a delivery of it has ended, and of nobody else's", async () => {
  const { follow, create, pass, harness } = await openPortal();
  const waiting: (() => void)[] = [];
  harness.occupy(3000, {
    answer: () =>
      new Promise((settle) => void waiting.push(() => settle({ status: 200, headers: {}, body: "" }))),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  expect((await harness.run(["endpoints", "add", "http://127.0.0.1:3000/hooks"])).code).toBe(0);
  const own = await create("own");
  await eventually("it is under way", () => expect(waiting).toHaveLength(1));
  await create("other");
  await eventually("so is the other one", () => expect(waiting).toHaveLength(2));
  await pass(1000);
  const page = await follow(`topic=checkout&id=${own}`);
  waiting.pop()?.();
  await runOn();
  await pass(1000);
  expect(await page.next()).toBeUndefined();
  waiting.pop()?.();
  await runOn();
  await pass(1000);
  expect(await page.next()).toMatchObject({ event: "changed", data: "1 change" });
});

test("a page that was away goes on from its last message", async () => {
  const { follow, create, pass, harness } = await openPortal();
  const [own, other] = [await create("own"), await create("other")];
  await pass(1000);
  const query = `topic=checkout&id=${own}`;
  const first = await follow(query);
  await harness.run(["sandbox", "pay", own, "--outcome", "declined"]);
  await pass(20);
  const heard = await first.next();
  const id = typeof heard === "object" ? (heard["id"] ?? "") : "";
  await first.leave();
  await harness.run(["sandbox", "pay", other, "--outcome", "succeeded"]);
  const second = await follow(`${query}&since=${id}`);
  expect(await second.next()).toBeUndefined();
  await second.leave();
  await harness.run(["sandbox", "pay", own, "--outcome", "succeeded"]);
  const third = await follow(`${query}&since=1-1`, { "Last-Event-ID": id });
  expect(await third.next()).toMatchObject({ event: "changed" });
});

test("a position of another run loads the page anew, and the stream ends", async () => {
  const { follow } = await openPortal();
  for (const since of ["1-1", "1", "", "x"]) {
    const list = await follow(`topic=checkouts&since=${since}`);
    expect(await list.next()).toEqual({ event: "end", data: "reload" });
    expect(await list.next()).toBe("end");
  }
});

test("an act changes the pages of its store, and one of another store does not", async () => {
  const { follow, pass, harness } = await openPortal();
  await harness.run(["stores", "create", "--name", "Other"]);
  await pass(100);
  const page = await follow("topic=webhooks");
  const added = ["endpoints", "add", "http://localhost:3000/hooks"];
  expect((await harness.run([...added, "--store", "Other"])).code).toBe(0);
  await pass(1000);
  expect(await page.next()).toBeUndefined();
  expect((await harness.run(added)).code).toBe(0);
  await pass(20);
  expect(await page.next()).toMatchObject({ event: "changed" });
});

test("a page whose news do not end is shown anew every five seconds, and at once after a pause", async () => {
  const { follow, sandbox, pass } = await openPortal();
  const page = await follow("topic=store");
  const messages: number[] = [];
  for (let at = 0; at < 20_000; at += 100) {
    await sandbox.request({ path: "/v1/orders/none" });
    await pass(100);
    const heard = await page.next();
    if (typeof heard === "object" && "event" in heard) messages.push(at);
  }
  expect(messages.filter((at) => at < 3000)).toHaveLength(5);
  expect(messages.filter((at) => at >= 5000)).toHaveLength(3);
  await pass(10_000);
  await page.next();
  await sandbox.request({ path: "/v1/orders/none" });
  await pass(200);
  expect(await page.next()).toMatchObject({ event: "changed" });
});

test("a stream says every 15 seconds that it is there, and is silent otherwise", async () => {
  const { follow, pass } = await openPortal();
  const page = await follow("topic=store");
  await pass(14_999);
  expect(await page.next()).toBeUndefined();
  await pass(1);
  expect(await page.next()).toEqual({ comment: "still there" });
  await pass(14_000);
  expect(await page.next()).toBeUndefined();
});

test("a stream ends when the sandbox stops, and when its browser is signed out", async () => {
  const { follow, pass, sandbox, harness } = await openPortal();
  const page = await follow("topic=store");
  const { control_token: token } = sandbox.ready;
  await sandbox.request({
    method: "DELETE",
    path: "/__sandbox/portal/sessions",
    headers: { Authorization: `Bearer ${token}` },
  });
  await pass(1000);
  expect(await page.next()).toEqual({ event: "end", data: "signed_out" });
  expect(await page.next()).toBe("end");
  const again = await signedIn(harness, sandbox);
  const last = await follow("topic=checkouts", { Cookie: again.cookie });
  const stopped = sandbox.stop();
  await settled();
  expect(await last.next()).toEqual({ event: "end", data: "stopped" });
  expect(await last.next()).toBe("end");
  await stopped;
});

test("a reset loads the pages of its store anew, and a deletion ends them", async () => {
  const { follow, pass, harness } = await openPortal();
  const page = await follow("topic=store");
  expect((await harness.run(["sandbox", "reset", "--yes"])).code).toBe(0);
  await pass(250);
  expect(await page.next()).toEqual({ event: "end", data: "reload" });
  const { stdout } = await harness.run(["stores", "create", "--name", "Other", "--json"]);
  const { store_id: id } = JSON.parse(stdout) as { readonly store_id: string };
  const other = await follow("topic=store", {}, id);
  expect((await harness.run(["stores", "delete", id, "--yes"])).code).toBe(0);
  await pass(250);
  expect(await other.next()).toEqual({ event: "end", data: "gone" });
});

test("a page that was loaded after a reset stays, with the line that says what came of it", async () => {
  const { follow, pass, portal } = await openPortal();
  const store = portal.home.replace("/portal/", "");
  const old = await follow("topic=store");
  const page = await portal.act("/portal/stores/reset", { store, name: "Sandbox Store" });
  expect(page.text).toContain("Sandbox Store was reset.");
  const [, since = ""] = /&amp;since=([\d-]+)/.exec(page.html) ?? [];
  const next = await follow(`topic=store&since=${since}`);
  await pass(250);
  expect(await old.next()).toEqual({ event: "end", data: "reload" });
  // The reset itself is a change, and no reason to load the page anew.
  expect(await next.next()).toMatchObject({ event: "changed" });
  await pass(5000);
  expect(await next.next()).toBeUndefined();
});

test("of many windows of one browser four are live, and the others take turns", async () => {
  const { follow } = await openPortal();
  const streams = [];
  for (let count = 0; count < 5; count += 1) streams.push(await follow("topic=store"));
  const [first, ...others] = streams;
  expect(await first?.next()).toEqual({ retry: "10000", event: "crowded", data: "" });
  expect(await first?.next()).toBe("end");
  for (const other of others) expect(await other.next()).toBeUndefined();
  for (const other of others) await other.leave();
  for (let count = 0; count < 4; count += 1) await follow("topic=store");
});

test("nobody follows what is not there, or without being signed in", async () => {
  const { ask, create } = await openPortal();
  const id = await create("own");
  const unknown = "00000000-0000-7000-8000-00000000ffff";
  const asked = [
    ["topic=checkout", 404],
    [`topic=checkout&id=${unknown}`, 404],
    [`topic=delivery&id=${id}`, 404],
    ["topic=everything", 400],
    ["", 400],
  ] as const;
  for (const [query, status] of asked) expect([query, (await ask(query)).status]).toEqual([query, status]);
  expect((await ask("topic=store", { Cookie: "" })).status).toBe(401);
});

test("a drill moves the pages of its store when it begins, and when its command is gone", async () => {
  const { follow, sandbox, pass } = await openPortal();
  const { control_token: token } = sandbox.ready;
  const page = await follow("topic=store");
  await sandbox.request({
    path: "/__sandbox/stores/default/leases",
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify({ drill: "duplicates", timeout_ms: 10_000 }),
  });
  await pass(20);
  expect(await page.next()).toMatchObject({ event: "changed" });
  expect(await page.next()).toBeUndefined();
  await pass(10_000);
  await pass(250);
  expect(await page.next()).toMatchObject({ event: "changed" });
});
