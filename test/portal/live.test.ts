import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { NOTICE_TEXTS } from "../../src/sandbox/pages/portal/store/texts.ts";
import { eventually, runOn } from "../support/eventually.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { askPortal } from "../support/portal-sign-in.ts";
import { signedIn } from "../support/portal.ts";

/** The tag with which an open page polls, in its markup. */
const TAG = /hx-headers="\{&quot;If-None-Match&quot;:&quot;(.+?)&quot;\}"/;

/** A sandbox with a signed-in portal, and open pages that poll when the test says so. */
async function openPortal() {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const portal = await signedIn(harness, sandbox);

  const ask = async (path: string, tag?: string, cookie = portal.cookie) => {
    const headers = { Authorization: "", Host: portal.host, Cookie: cookie };
    const conditional = tag === undefined ? {} : { "If-None-Match": tag };
    const { body, ...answer } = await askPortal(sandbox, { path, headers: { ...headers, ...conditional } });
    const [, found = ""] = TAG.exec(String(body)) ?? [];
    return { ...answer, text: String(body), tag: found.replaceAll("\\&quot;", '"') };
  };
  /** Opens a page, which then polls with the ETag of its last answer, as its script does. */
  const open = async (path: string, from = portal.home) => {
    let { tag } = await ask(from + path);
    expect(tag).toMatch(/^"\w+-\d+-\d+-\d+"$/);
    const asked = async (as = tag) => {
      const answer = await ask(from + path, as);
      if (answer.status === 200) ({ tag } = answer);
      return answer;
    };
    return { ask: async (as?: string) => (await asked(as)).status, answer: asked, tag: () => tag };
  };
  const create = async (orderId: string): Promise<string> => (await harness.order(orderId)).id;
  const pass = async (milliseconds: number): Promise<void> => {
    harness.clock.advance(milliseconds);
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { harness, sandbox, portal, ask, open, create, pass };
}

test("a poll gets 304 until something on the page has changed", async () => {
  const { open, create, pass } = await openPortal();
  const pages = await Promise.all(
    ["/checkouts", "/requests", "/webhooks", "/overview"].map((path) => open(path)),
  );
  const asked = () => Promise.all(pages.map(({ ask }) => ask()));
  expect(await asked()).toEqual([304, 304, 304, 304]);
  await create("a");
  expect(await asked()).toEqual([200, 200, 200, 200]);
  await pass(200);
  await asked();
  expect(await asked()).toEqual([304, 304, 304, 304]);
});

test("a 304 to a poll is not logged, has no body and is not cached", async () => {
  const { open, harness } = await openPortal();
  const { answer } = await open("/checkouts");
  const { status, text, headers } = await answer();
  expect([status, text, headers["Cache-Control"]]).toEqual([304, "", "no-store"]);
  expect((await harness.run(["requests", "list", "--json"])).stdout).toContain('"requests":[]');
});

test("a checkout's page changes only with its own events and requests and with the clock", async () => {
  const { open, create, pass, harness, sandbox } = await openPortal();
  const [own, other] = [await create("own"), await create("other")];
  await pass(1000);
  const page = await open(`/checkouts/${own}`);
  await harness.run(["sandbox", "pay", other, "--outcome", "succeeded"]);
  await sandbox.request({ path: `/v1/checkout-sessions/${other}` });
  await pass(1000);
  expect(await page.ask()).toBe(304);
  await harness.run(["sandbox", "pay", own, "--outcome", "declined"]);
  expect(await page.ask()).toBe(200);
  expect(await page.ask()).toBe(304);
  await sandbox.request({ path: `/v1/checkout-sessions/${own}` });
  await pass(1000);
  expect(await page.ask()).toBe(200);
  await harness.run(["sandbox", "clock", "freeze"]);
  expect(await page.ask()).toBe(200);
  expect(await page.ask()).toBe(304);
});

test("the pages of a checkout and its delivery change when that delivery ends, but not when another delivery ends", async () => {
  const { open, create, harness, ask, portal } = await openPortal();
  const waiting: (() => void)[] = [];
  harness.occupy(3000, {
    answer: () =>
      new Promise((settle) => void waiting.push(() => settle({ status: 200, headers: {}, body: "" }))),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  expect((await harness.run(["endpoints", "add", "http://127.0.0.1:3000/hooks"])).code).toBe(0);
  const own = await create("own");
  await eventually("it is under way", () => expect(waiting).toHaveLength(1));
  const [, delivery = ""] =
    /(\/webhooks\/deliveries\/[0-9a-f-]+)/.exec((await ask(`${portal.home}/webhooks`)).text) ?? [];
  await create("other");
  await eventually("so is the other one", () => expect(waiting).toHaveLength(2));
  await open("/requests");
  const pages = [await open(`/checkouts/${own}`), await open(delivery)];
  const asked = () => Promise.all(pages.map((page) => page.ask()));
  waiting.pop()?.();
  await runOn();
  expect(await asked()).toEqual([304, 304]);
  waiting.pop()?.();
  await runOn();
  expect(await asked()).toEqual([200, 200]);
});

test("a poll after a pause gets a 304 or the page, depending on the changes since its own ETag", async () => {
  const { open, create, pass, harness } = await openPortal();
  const [own, other] = [await create("own"), await create("other")];
  await pass(1000);
  const page = await open(`/checkouts/${own}`);
  const before = page.tag();
  await harness.run(["sandbox", "pay", own, "--outcome", "declined"]);
  expect(await page.ask()).toBe(200);
  await harness.run(["sandbox", "pay", other, "--outcome", "succeeded"]);
  await pass(60_000);
  expect([await page.ask(page.tag()), await page.ask(before)]).toEqual([304, 200]);
});

test("an ETag that is invalid or from an earlier run makes the browser reload the page or list", async () => {
  const { open, create } = await openPortal();
  await create("a");
  const [page, list] = [await open("/overview"), await open("/checkouts?seen=1")];
  for (const tag of ['"store-1-1-1"', '"none-1-1-1"', "", "x", "*"]) {
    expect([tag, (await page.answer(tag)).headers["HX-Refresh"], await page.ask(tag)]).toEqual([
      tag,
      undefined,
      200,
    ]);
    const { status, headers, text } = await list.answer(tag);
    expect([tag, status, headers["HX-Refresh"], text]).toEqual([tag, 204, "true", ""]);
  }
});

test("a page that the server no longer remembers is sent in full, and remembered again", async () => {
  const { open, create, pass, ask, portal } = await openPortal();
  const ids = [await create("first"), await create("second")];
  await pass(1000);
  const [first = "", second = ""] = ids;
  const [page, other] = [await open(`/checkouts/${first}`), await open(`/checkouts/${second}`)];
  expect([await page.ask(), await other.ask()]).toEqual([304, 304]);
  // Each checkout has two keys, its id and its order, so 500 checkouts fill the memory of 1,000 keys.
  for (let count = 0; count < 500; count += 1) {
    const { location = "" } = await portal.post(`${portal.home}/checkouts/test-orders`);
    await ask(location.replace(/\?.*/, ""));
  }
  expect([await page.ask(), await page.ask()]).toEqual([200, 304]);
});

test("an action in one store updates only the open pages of that store", async () => {
  const { open, harness } = await openPortal();
  await harness.run(["stores", "create", "--name", "Other"]);
  const page = await open("/webhooks");
  const added = ["endpoints", "add", "http://localhost:3000/hooks"];
  expect((await harness.run([...added, "--store", "Other"])).code).toBe(0);
  expect(await page.ask()).toBe(304);
  expect((await harness.run(added)).code).toBe(0);
  expect(await page.ask()).toBe(200);
});

test("a page is updated immediately, and in a very busy store every five seconds", async () => {
  const { open, create, pass, portal } = await openPortal();
  const page = await open("/checkouts");
  for (let count = 0; count <= 50; count += 1) await portal.post(`${portal.home}/checkouts/test-orders`);
  expect(await page.ask()).toBe(304);
  await pass(4999);
  expect(await page.ask()).toBe(304);
  await pass(1);
  expect(await page.ask()).toBe(200);
  await create("one-more");
  expect(await page.ask()).toBe(200);
});

test("polls are refused after a sign-out and after the deletion of the store", async () => {
  const { open, sandbox, harness } = await openPortal();
  const { stdout } = await harness.run(["stores", "create", "--name", "Other", "--json"]);
  const { store_id: id } = JSON.parse(stdout) as { readonly store_id: string };
  const [page, other] = [await open("/overview"), await open("/overview", `/portal/${id}`)];
  expect((await harness.run(["stores", "delete", id, "--yes"])).code).toBe(0);
  expect([await page.ask(), await other.ask()]).toEqual([304, 404]);
  const { control_token: token } = sandbox.ready;
  await sandbox.request({
    method: "DELETE",
    path: "/__sandbox/portal/sessions",
    headers: { Authorization: `Bearer ${token}` },
  });
  expect(await page.ask()).toBe(401);
});

test("a reset updates each open page of its store once", async () => {
  const { open, create, portal, sandbox } = await openPortal();
  const { store_name: name } = sandbox.ready;
  await create("a");
  const [page, list] = [await open("/overview"), await open("/checkouts?seen=1")];
  const store = portal.home.replace("/portal/", "");
  const after = await portal.act("/portal/stores/reset", { store, name });
  expect(after.text).toContain(english(NOTICE_TEXTS.storeReset(name)));
  expect((await list.answer()).headers["HX-Refresh"]).toBe("true");
  expect([await page.ask(), await page.ask()]).toEqual([200, 304]);
});

test("a drill updates the Launch page of its store when it begins and when it ends", async () => {
  const { open, sandbox, pass } = await openPortal();
  const { control_token: token } = sandbox.ready;
  const page = await open("/launch");
  await sandbox.request({
    path: "/__sandbox/stores/default/leases",
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify({ drill: "duplicates", timeout_ms: 10_000 }),
  });
  expect([await page.ask(), await page.ask()]).toEqual([200, 304]);
  await pass(10_250);
  expect(await page.ask()).toBe(200);
});

test("a page that shows a secret once does not poll, because an update would lose the secret", async () => {
  const { ask, portal } = await openPortal();
  const { location = "" } = await portal.post(`${portal.home}/keys`, { "orders:write": "yes" });
  const [first, again] = [await ask(location), await ask(location)];
  expect([first.text.includes("svc_test_"), first.tag]).toEqual([true, ""]);
  expect([/svc_test_\w{20}/.test(again.text), again.tag === ""]).toEqual([false, false]);
});
