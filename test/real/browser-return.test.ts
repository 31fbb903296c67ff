import { english, type Words } from "../../src/core/language.ts";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RETURN_CAUSES, type ReturnCause } from "../../src/core/readiness/drills/browser-return.ts";
import type { HttpRequest, HttpResponse } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { run, startSandboxHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import type { WireAnswerOf } from "../support/wire.ts";
import type { DrillStep } from "../../src/core/readiness/drill-shapes.ts";

type Report = {
  readonly verdict: string;
  readonly drill_id: string | null;
  readonly steps: readonly DrillStep[];
};
type Site = Awaited<ReturnType<typeof openWebhookSite>>;
type Merchant = {
  readonly orders: Map<string, string>;
  readonly visits: string[];
};
/** What a merchant does when a customer comes back with an order and a session. */
type OnReturn = (merchant: Merchant, order: string, session: string) => Promise<Partial<HttpResponse> | void>;

const SHOP = "http://localhost:3000";
const OK: HttpResponse = { status: 200, headers: {}, body: "thanks" };
const RETURN = ["checklist", "run", "browser-return", "--return-url", `${SHOP}/thanks?shop=7`];
const VIEW = ["--order-view", `${SHOP}/orders/{order_id}`, "--paid-when", '"status":"paid"'];

/** A shop with a page to come back to, a receiver of webhooks, and a page that says what it thinks of an order. */
function openShop(site: Pick<Site, "harness">, onReturn: OnReturn): Merchant {
  const merchant: Merchant = { orders: new Map(), visits: [] };
  const answer = async ({ method, target, body }: HttpRequest): Promise<HttpResponse> => {
    const url = new URL(target, SHOP);
    if (url.pathname === "/hooks") {
      const event = JSON.parse(Buffer.from(body).toString("utf8")) as {
        readonly type: string;
        readonly data: { readonly order_id: string };
      };
      merchant.orders.set(event.data.order_id, event.type.endsWith(".succeeded") ? "paid" : "open");
      return OK;
    }
    if (url.pathname === "/thanks") {
      merchant.visits.push(`${method} ${url.pathname}${url.search}`);
      const { searchParams: query } = url;
      const said = await onReturn(merchant, query.get("order_id") ?? "", query.get("session_id") ?? "");
      return { ...OK, ...said };
    }
    const status = merchant.orders.get(url.pathname.slice("/orders/".length));
    if (status === undefined) return { status: 404, headers: {}, body: "" };
    return { status: 200, headers: {}, body: JSON.stringify({ status }) };
  };
  site.harness.occupy(3000, { answer, refuse: () => ({ ...OK, status: 400 }) });
  return merchant;
}

const waits: OnReturn = () => Promise.resolve();
const believes: OnReturn = ({ orders }, order) => Promise.resolve(void orders.set(order, "paid"));

async function openSite(onReturn: OnReturn) {
  const site = await openWebhookSite(EPHEMERAL);
  const merchant = openShop(site, onReturn);
  const endpoint = await site.addEndpoint(`${SHOP}/hooks`);
  return { ...site, merchant, state: async () => (await site.endpoint(endpoint.id)).state };
}

async function drill(site: Pick<Site, "harness">, args: readonly string[] = VIEW) {
  const { code, stdout, stderr } = await site.harness.run([...RETURN, ...args, "--json"]);
  expect(stderr).toBe("");
  return { code, ...(JSON.parse(stdout) as Report) };
}

/** The steps that did not pass, with the code of their cause. */
function causesOf({ steps }: Pick<Report, "steps"> = { steps: [] }): Record<string, ReturnCause | null> {
  const codes = Object.entries(RETURN_CAUSES) as [ReturnCause, Words][];
  const failed = steps.filter(({ passed }) => !passed);
  return Object.fromEntries(
    failed.map(({ name, cause }) => [
      name,
      codes.find(([, sentence]) => english(sentence) === cause)?.[0] ?? null,
    ]),
  );
}

async function kept(site: Pick<Site, "control">) {
  return (await site.control<WireAnswerOf<"listDrills">>("/drills?kind=browser_return")).data.drills;
}

test("a merchant that waits for the webhook passes, and it is kept", async () => {
  const site = await openSite(waits);
  const report = await drill(site);
  expect([report.code, report.verdict, causesOf(report)]).toEqual([0, "passed", {}]);
  const { reference: session } = report.steps[0] ?? {};
  const [order = "", other = "", cancelled = ""] = site.merchant.orders.keys();
  expect(order).toMatch(/^order-[0-9a-f]{12}$/);
  const visit = `GET /thanks?shop=7&order_id=${order}&session_id=${session}`;
  const ofOthers = site.merchant.visits.filter((one) => {
    const shown = /session_id=([^&]*)/.exec(one)?.[1];
    return shown !== undefined && shown !== session;
  });
  const [mixed = "", ended = ""] = ofOthers;
  expect((await site.told(mixed.split("session_id=")[1] ?? "")).order_id).toBe(other);
  const otherwise = [
    `${visit}&status=succeeded&paid=true&redirect_status=succeeded&trade_status=TRADE_SUCCESS`,
    `${visit}&status=paid&payment_status=paid&success=true&result=success&result_code=SUCCESS`,
    visit.replace("GET", "POST"),
    `${visit}&status=success&state=completed&success=1&paid=1`,
    visit,
    visit.replace(/&session_id=.*/, ""),
    visit,
    mixed,
    ended,
  ];
  expect(ended).toContain(`order_id=${cancelled}&`);
  expect(site.merchant.visits).toEqual([visit, ...otherwise, visit, visit]);
  expect(await kept(site)).toMatchObject([
    { id: report.drill_id, passed: true, subject: `${SHOP}/thanks?shop=7`, steps: report.steps },
  ]);
  expect(report.steps.map(({ got }) => got)).toEqual([
    'not paid: {"status":"open"}',
    'not paid: {"status":"open"}; page: 200',
    'not paid: {"status":"open"}; returned in other ways',
    'not paid: {"status":"open"}; page: 200',
    'paid: {"status":"paid"}',
    'paid: {"status":"paid"}',
  ]);
  // Its webhooks waited, and nothing else has changed.
  expect(await site.state()).toBe("enabled");
  await eventually("every delivery is noted", async () =>
    expect(new Set((await site.deliveries()).map(({ state }) => state))).toEqual(new Set(["succeeded"])),
  );
});

test("a merchant that believes the return fails", async () => {
  const site = await openSite(believes);
  const shown = await site.harness.run([...RETURN, ...VIEW]);
  const drills = await kept(site);
  expect([shown.code, drills.map(({ passed }) => passed), causesOf(drills[0])]).toEqual([
    1,
    [false],
    { return_without_payment: "believes_return", return_before_webhook: "believes_return" },
  ]);
  expect(shown.stdout).toContain(
    "✗ a return to http://localhost:3000/thanks?shop=7 was treated as a payment",
  );
  expect(shown.stdout).toContain(english(RETURN_CAUSES.believes_return));
});

/** How often the drill's customer comes back before the payment. */
const UNPAID_RETURNS = 10;

test("who asks about another order, or before the payment, has not asked", async () => {
  const asking = async (when: "before" | "another"): Promise<Report> => {
    let returns = 0;
    const site: Awaited<ReturnType<typeof openSite>> = await openSite(async ({ orders }, order, session) => {
      returns += 1;
      if (returns < UNPAID_RETURNS + 1) return void (await site.statusOf(session));
      if (when === "another") {
        const other = await site.order();
        await site.pay(other, "succeeded");
        await site.statusOf(other);
      }
      orders.set(order, "paid");
    });
    return drill(site);
  };
  for (const when of ["before", "another"] as const)
    expect([when, causesOf(await asking(when))]).toEqual([
      when,
      { return_before_webhook: "paid_without_asking" },
    ]);
});

test("what a command of this program asks does not count as the shop's", async () => {
  const site: Awaited<ReturnType<typeof openSite>> = await openSite(async ({ orders }, order, session) => {
    const asked = await site.harness.run(["sessions", "get", session, "--json"]);
    if (asked.stdout.includes('"status":"succeeded"') && asked.stdout.includes(order))
      orders.set(order, "paid");
  });
  expect(causesOf(await drill(site))).toEqual({ return_before_webhook: "paid_without_asking" });
});

test("without a view nothing is done, and it is unknown", async () => {
  const site = await openSite(believes);
  const report = await drill(site, []);
  expect([report.code, report.verdict, report.steps, report.drill_id]).toEqual([3, "unknown", [], null]);
  expect([site.merchant.visits, await site.events(), await kept(site)]).toEqual([[], [], []]);
  const { stdout } = await site.harness.run(RETURN);
  expect(stdout).toContain("→ add --order-view URL, or --order-view-command CMD, and --paid-when REGEX");
});

test("a view or a page that cannot be relied on makes it unknown, and nothing is kept", async () => {
  const unknown = async (
    site: Awaited<ReturnType<typeof openSite>>,
    args: readonly string[],
  ): Promise<Record<string, ReturnCause | null>> => {
    const report = await drill(site, args);
    expect([report.code, report.verdict, await kept(site)]).toEqual([3, "unknown", []]);
    expect(await site.state()).toBe("enabled");
    return causesOf(report);
  };
  // A pattern that fits everything, and a page that is not there. Other shops: test/client/return-course.test.ts.
  const site = await openSite(believes);
  const view = VIEW.slice(0, 2);
  expect(await unknown(site, [...view, "--paid-when", "."])).toMatchObject({
    before_the_return: "paid_from_the_start",
  });
  const nowhere = ["--order-view", "http://localhost:3999/{session_id}", "--paid-when", "paid"];
  expect(new Set(Object.values(await unknown(site, nowhere)))).toEqual(new Set(["view_unreadable"]));
  // It follows redirects, but not to another machine.
  const redirects: OnReturn = () =>
    Promise.resolve({ status: 303, headers: { Location: "https://elsewhere.example/" } });
  expect(await unknown(await openSite(redirects), VIEW)).toMatchObject({
    return_without_payment: "page_unreachable",
  });
});

test("a shop that makes its orders itself names one of them", async () => {
  const site = await openSite(waits);
  const id = await site.order("its own order");
  const view = ["--order-view", `${SHOP}/orders/{order_id}`, "--paid-when", "paid"];
  const report = await drill(site, [...view, "--checkout", id]);
  expect([report.code, report.verdict, report.steps[0]?.reference]).toEqual([3, "unknown", id]);
  // Its view knows the order by a name that needs no escapes.
  const other = await site.order("order-7");
  expect((await drill(site, [...VIEW, "--checkout", other])).verdict).toBe("passed");
  const again = await site.harness.run([...RETURN, ...VIEW, "--checkout", other]);
  expect([again.code, again.stderr]).toEqual([5, expect.stringContaining("succeeded")]);
});

test("a command can say what the merchant thinks", async () => {
  const site = await openSite(waits);
  const byCommand = ["--order-view-command", "status", "--paid-when", "^paid$"];
  site.harness.setShell(({ env }) => {
    const stdout = site.merchant.orders.get(env["CHECKOUT_ORDER_ID"] ?? "") ?? "none";
    return Promise.resolve({ ending: "exited", exitCode: 0, stdout, stderr: "" });
  });
  expect((await drill(site, byCommand)).verdict).toBe("passed");
  const [first] = site.harness.commands;
  expect(first?.commandLine).toBe("status");
  expect(first?.env).toMatchObject({
    CHECKOUT_ORDER_ID: expect.stringMatching(/^order-[0-9a-f]{12}$/) as string,
    CHECKOUT_SESSION_ID: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
  });
  site.harness.setShell(() =>
    Promise.resolve({ ending: "exited", exitCode: 2, stdout: "paid", stderr: "no database" }),
  );
  const broken = await drill(site, byCommand);
  expect([broken.verdict, broken.steps[0]?.got]).toEqual(["unknown", "unknown: exit code 2: no database"]);
});

test("a command that asks the service for the shop is not the shop's own word", async () => {
  const site = await openSite(waits);
  const { harness } = site;
  const asking = ["--order-view-command", 'checkout sessions get "$CHECKOUT_SESSION_ID" --json'];
  harness.setShell(async ({ env }) => {
    const words = ["sessions", "get", env["CHECKOUT_SESSION_ID"] ?? "", "--json"];
    const { code, stdout, stderr } = await harness.run(words);
    return { ending: "exited", exitCode: code, stdout, stderr };
  });
  const report = await drill(site, [...asking, "--paid-when", '"status":"succeeded"']);
  expect([report.code, causesOf(report)]).toEqual([1, { return_before_webhook: "paid_without_asking" }]);
});

test("what cannot be run is said before anything is done", async () => {
  const site = await openSite(believes);
  const rows: readonly (readonly [line: string, said: string])[] = [
    ["checklist run browser-return", "missing: --return-url"],
    ["checklist run browser-return --return-url https://shop.example/thanks", "only to this machine"],
    ["checklist run browser-return --return-url http://localhost:4242/", "the sandbox itself"],
    [`${RETURN.join(" ")} --order-view ${SHOP}/x`, "--order-view needs --paid-when"],
    [`${RETURN.join(" ")} --order-view http://shop.example/ --paid-when x`, "only to this machine"],
    [`${RETURN.join(" ")} --order-view ${SHOP} --order-view-command x --paid-when x`, "exclude each other"],
    [`${RETURN.join(" ")} --order-view ${SHOP} --paid-when (`, "a regular expression"],
  ];
  for (const [line, said] of rows) {
    const { code, stderr } = await site.harness.run(line.split(" "));
    expect([line, code, stderr]).toEqual([line, 2, expect.stringContaining(said)]);
  }
  expect([site.merchant.visits, await site.events()]).toEqual([[], []]);
});

test("webhooks are let go when the drill is cut off", async () => {
  const site = await openSite(waits);
  site.harness.setFault((request, pass) =>
    request.url.endsWith("/pay")
      ? Promise.resolve({ ok: false, failure: "connection_lost", message: "cut" })
      : pass(),
  );
  const { code } = await site.harness.run([...RETURN, ...VIEW]);
  expect([code, await site.state()]).toEqual([7, "enabled"]);
});

test("the real program, with a real shop and a real command", async () => {
  const cwd = tempFolder();
  const { ready } = await startSandboxHere({ cwd });
  const visits: string[] = [];
  const ask = async (session: string): Promise<string> => {
    const headers = { Authorization: `Bearer ${ready.api_key ?? ""}` };
    return (await fetch(`${ready.base_url}/checkout-sessions/${session}`, { headers })).text();
  };
  // A shop that asks the service whenever a customer comes back, and writes down what it says.
  const shop = createServer((request, response) => {
    visits.push(`${request.method} ${request.headers["sec-fetch-mode"] ?? ""}`);
    const session = new URL(request.url ?? "", ready.base_url).searchParams.get("session_id") ?? "none";
    void ask(session).then((text) => {
      writeFileSync(join(cwd, session), text);
      response.end("thanks");
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void shop.close());
  await once(shop, "listening");
  const { port } = shop.address() as AddressInfo;
  const line = ["checklist", "run", "browser-return", "--return-url", `http://127.0.0.1:${port}/thanks`];
  const command = 'cat "$CHECKOUT_SESSION_ID" 2>/dev/null || echo unknown';
  const view = ["--order-view-command", command, "--paid-when", '"status":"succeeded"'];
  const drilled = await run([...line, ...view, "--json"], { cwd });
  expect([drilled.code, drilled.stderr]).toEqual([0, ""]);
  const report = JSON.parse(drilled.stdout) as Report;
  expect(report.steps[0]?.got).toBe("not paid: unknown");
  expect(report.steps[3]?.got).toMatch(/^paid: .* \(it has asked the API\); page: 200$/);
  const gets = (length: number): string[] => Array.from({ length }, () => "GET navigate");
  // Unpaid in seven ways, while the payment is pending, with another session, cancelled, and twice after the payment.
  expect(visits).toEqual([...gets(3), "POST navigate", ...gets(8)]);
});
