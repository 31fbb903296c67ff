import { expect, test } from "vitest";
import { createHarness, type Harness, type RunningSandbox } from "./support/harness.ts";
import { signedIn, textOf, type Page } from "./support/portal.ts";

type Entry = { readonly text: string; readonly of: string | null; readonly at: string };

const TERMS = { order_id: "order-1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
const NO_JAVASCRIPT = { Authorization: "", "Sec-Fetch-Site": "same-origin" };

/** A sandbox with a merchant's receiver, and a browser that is signed in to its portal. */
async function openShop(harness: Harness = createHarness()) {
  const sandbox = await harness.start();
  const portal = await signedIn(harness, sandbox);
  const answer = { status: 204, body: "" };
  harness.occupy(3000, {
    answer: () => Promise.resolve({ headers: {}, ...answer }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  const create = async (body: object, key = "the-first-key", path = "/v1/orders"): Promise<string> => {
    const created = await sandbox.request({
      path,
      headers: { "Idempotency-Key": key },
      body: JSON.stringify(body),
    });
    const { data } = JSON.parse(String(created.body)) as { readonly data?: { readonly id: string } };
    return data?.id ?? "";
  };
  const show = (id: string): Promise<Page> => portal.get(`${portal.home}/checkouts/${id}`);
  const explain = async (
    id: string,
  ): Promise<{ summary: string; entries: readonly Entry[]; next: string[] }> => {
    const { stdout } = await harness.run(["explain", id, "--json"]);
    return JSON.parse(stdout) as { summary: string; entries: readonly Entry[]; next: string[] };
  };
  return { harness, sandbox, portal, answer, create, show, explain };
}

/** The lines of the story on a page: time, words, and whether they stand further in. */
function linesOf({ html }: Page): readonly { at: string; text: string; isUnder: boolean }[] {
  const lines = html.matchAll(
    /<a class="at"[^>]*>\s*<time datetime="([^"]+)".*?(?:<div class="line">(.*?)<\/div>|<summary>(.*?)<\/summary>)/gs,
  );
  return [...lines].map((found) => ({
    at: found[1] ?? "",
    text: textOf(found[2] ?? found[3] ?? ""),
    isUnder:
      html.slice(0, found.index).split('<ol class="under">').length >
      html.slice(0, found.index).split("</ol>").length,
  }));
}

/** Says what the payment page's script says. */
async function tellView(sandbox: RunningSandbox, id: string, kind: string): Promise<void> {
  const html = String((await sandbox.request({ path: `/pay/${id}`, headers: { Authorization: "" } })).body);
  const [, to = "", token = ""] = /<page-views hidden to="([^"]+)" token="([^"]+)"/.exec(html) ?? [];
  const { status } = await sandbox.request({
    path: to,
    headers: { ...NO_JAVASCRIPT, "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ kind, token }).toString(),
  });
  expect(status).toBe(204);
}

test("a checkout's page tells its whole story, line for line as checkout explain does", async () => {
  const { harness, sandbox, answer, create, show, explain } = await openShop();
  await harness.run(["return-origins", "add", "https://shop.example", "--path", "/thanks"]);
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  const id = await create(TERMS);
  await harness.clock.sleep(8000);
  await tellView(sandbox, id, "opened");
  await harness.clock.sleep(12_000);
  Object.assign(answer, { status: 500, body: "TypeError: x is undefined\n  at shop.js" });
  await harness.run(["sandbox", "pay", id, "--outcome", "succeeded"]);
  await harness.clock.sleep(1000);
  Object.assign(answer, { status: 204, body: "" });
  await harness.clock.sleep(30_000);
  await tellView(sandbox, id, "returned");
  await harness.clock.sleep(8000);
  await create({ ...TERMS, amount_minor: 2999 });

  const page = await show(id);
  expect(page.status).toBe(200);
  const told = await explain(id);
  expect(linesOf(page)).toEqual(told.entries.map(({ at, text, of }) => ({ at, text, isUnder: of !== null })));
  expect(
    linesOf(page).map(({ text, isUnder }) => `${isUnder ? "  " : ""}${text.replaceAll(/ in \d+ ms/g, "")}`),
  ).toEqual([
    "POST /v1/orders: 201, key the-first-key",
    "order.created",
    "  delivery to http://localhost:3000/hooks, try 1: 204",
    "payment page opened",
    "payment attempt 1 started",
    "order.pending",
    expect.stringMatching(
      /^ {2}delivery to http:\/\/localhost:3000\/hooks, try 1: 500, "TypeError: x is undefined at shop.js" \(the receiver failed/,
    ),
    expect.stringMatching(/^ {2}delivery to http:\/\/localhost:3000\/hooks, try 2, \d+ s later: 204$/),
    "payment attempt 1 succeeded",
    "order.succeeded",
    "  delivery to http://localhost:3000/hooks, try 1: 204",
    "browser returned to https://shop.example/thanks (proves nothing)",
    "POST /v1/orders: 409 idempotency_key_reused, key the-first-key: amount_minor 1999 → 2999",
  ]);
  expect(page.text).toContain(told.summary);
  for (const part of ["€19.99 Alipay+", "paid", id, "checkout explain order-1001", "Open payment page"])
    expect(page.text).toContain(part);
});
