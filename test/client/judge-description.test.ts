import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createCookieJar } from "../../src/client/judge/shop/cookies.ts";
import { shopOf } from "../../src/client/judge/shop/description.ts";
import { openReturnPage } from "../../src/client/judge/returns.ts";
import type { OutboundResult } from "../../src/world.ts";
import { english } from "../../src/core/language.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import { describedShop, type ShopKind } from "../support/described-shop.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const SHOP = "http://localhost:3000";
const COOKIE = "session=merchant-7";
const VIEW = ["--order-view", `${SHOP}/orders/{order_id}`, "--paid-when", '"paid"'];
/** Concurrent waits add up on the clock of a harness, so the limits are high. */
const PATIENT = ["--settle", "60s", "--budget", "1h", "--json"];

/** The section of a served shop that sells through its page. */
const PAGE_SHOP = {
  serve: "serve",
  endpoint: "/hooks",
  create: { post: "/buy", form: { cart: "{order_id}" } },
  order_view: "/orders/{order_id}",
  paid_when: '"paid"',
};

type Report = {
  readonly ok: boolean;
  readonly histories: number;
  readonly broken: readonly { readonly history: string; readonly rerun: string }[];
  readonly not_judged: readonly { readonly history: string | null; readonly reason: string; field: string }[];
};

const OK_ANSWER = { status: 200, headers: {}, body: "" };

/** Runs `checklist run duplicates` for a shop that a section or options describe. */
async function judge({
  kind = {},
  section,
  options = [],
  env = {},
  part = ["duplicates"],
}: {
  readonly kind?: ShopKind;
  readonly section?: object;
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly part?: readonly string[];
}) {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = describedShop(site, kind);
  shop.open();
  const { harness } = site;
  if (section !== undefined)
    writeFileSync(join(harness.cwd, "checkout.config.json"), JSON.stringify({ shop: section }));
  else if (kind.polls !== true) await site.addEndpoint(`${SHOP}/hooks`);
  const line = ["checklist", "run", ...part, ...options];
  const { code, stdout, stderr } = await harness.run(line, { env });
  const report = JSON.parse(stdout === "" ? "{}" : stdout) as Report;
  const findings = [...(report.broken ?? []), ...(report.not_judged ?? [])].filter(
    ({ history }) => history !== null,
  );
  return { site, shop, harness, code, stdout, stderr, report, findings };
}

test("checklist run starts a shop from checkout.config.json on the port in PORT, buys through its page, and judges the shop by its own order_ids", async () => {
  const { shop, code, stdout, stderr, report, findings, harness } = await judge({
    kind: { cookie: COOKIE, orderIdOf: (cart) => `W-${cart.slice(-20)}` },
    section: {
      serve: "serve",
      endpoint: "/hooks",
      create: { post: "/buy", form: { cart: "{order_id}" } },
      order_id_of: "/orders/(W-\\S+)",
      order_view: "/orders/{order_id}",
      paid_when: '"paid"',
      cookie: { env: "SHOP_COOKIE" },
    },
    options: ["--trust-config", ...PATIENT],
    env: { SHOP_COOKIE: COOKIE },
  });
  expect([stderr, findings, code]).toEqual([stderr, [], 0]);
  expect(report.histories).toBeGreaterThan(5);
  expect(shop.served.length).toBeGreaterThan(0);
  expect(harness.programOn(shop.served[0] ?? 0)).toBeUndefined();
  const recorded = await harness.run(["checklist", "--json"]);
  const page = await harness.run(["requests", "list", "--json"]);
  expect([stdout, stderr, recorded.stdout, page.stdout].filter((text) => text.includes(COOKIE))).toEqual([]);
});

test("a shop whose create takes no order_id passes checklist run, although the shop's second create makes another order", async () => {
  const create = { post: "/buy", form: { item: "knife" } };
  const section = { ...PAGE_SHOP, create, order_id_of: "/orders/(N-[\\w-]+)" };
  let count = 0;
  const kind = { orderIdOf: () => `N-${(count += 1)}` };
  const options = ["--only", "paid_late", "--trust-config", ...PATIENT];
  const { findings, report } = await judge({ kind, section, options });
  expect([findings, report.histories]).toEqual([[], 2]);
});

test("a shop fails checklist run if a second payment method gets its own checkout while the first checkout can still be paid", async () => {
  const form = { cart: "{order_id}", method: "alipay_plus" };
  const section = { ...PAGE_SHOP, create: { post: "/buy", form } };
  const options = ["--only", "bought_other_method", "--trust-config", ...PATIENT];
  const run = (kind: ShopKind) => judge({ kind, section, options, part: [] });
  const [right, wrong] = [await run({}), await run({ hasOrderPerMethod: true })];
  expect([right.report.histories, right.findings, wrong.findings]).toEqual([
    2,
    [],
    [expect.objectContaining({ history: "bought_other_method", invariant: "one_order" })],
  ]);
});

test("a shop that sends a customer to an earlier open order instead of the new order fails checklist run", async () => {
  const section = { ...PAGE_SHOP, return_url: "/thanks" };
  const run = (kind: ShopKind) => {
    const only = ["--only", "return_one_browser", "--trust-config", ...PATIENT];
    return judge({ kind, section, options: only, part: [] });
  };
  const [right, wrong] = [await run({}), await run({ keepsOpenOrder: true })];
  expect([right.findings, wrong.findings]).toEqual([
    [],
    [expect.objectContaining({ history: "return_one_browser", invariant: "one_order" })],
  ]);
});

test("the shop's cookie is read from a file, never from the command line, and without the cookie no payment is judged", async () => {
  const kind = { cookie: COOKIE };
  const site = await openWebhookSite(EPHEMERAL);
  const shop = describedShop(site, kind);
  shop.open();
  await site.addEndpoint(`${SHOP}/hooks`);
  writeFileSync(join(site.harness.cwd, "cookie.txt"), `${COOKIE}\n`);
  const line = ["checklist", "run", "duplicates", "--create", "create-order", ...VIEW, ...PATIENT];
  const signedIn = await site.harness.run([...line, "--cookie-file", "cookie.txt"]);
  expect([signedIn.code, signedIn.stderr]).toEqual([0, signedIn.stderr]);
  const without = await site.harness.run(line);
  expect(without.code).not.toBe(0);
  expect(without.stdout).not.toContain("booked_when_paid");
  const typed = await site.harness.run([...line, "--cookie", COOKIE]);
  expect([typed.code, typed.stderr]).toEqual([2, expect.stringContaining("unknown option")]);
});

test("a view that shows payments late is judged only if --settle is long enough", async () => {
  const late = { kind: { late: 20_000 } };
  const options = ["--create", "create-order", ...VIEW, "--budget", "1h", "--json"];
  const impatient = await judge({ ...late, options });
  expect([impatient.code, impatient.report.broken]).toEqual([3, []]);
  expect(impatient.report.not_judged.map(({ field }) => field)).toContain("settle");
  const patient = await judge({ ...late, options: [...options, "--settle", "60s"] });
  expect([patient.findings, patient.code]).toEqual([[], 0]);
  const endless = await judge({ ...late, options: [...options, "--settle", "61s"] });
  expect([endless.code, endless.stderr]).toEqual([2, expect.stringContaining("at most 60s")]);
});

test("a shop whose only worker falls behind is judged again by checklist run, with fewer events at a time", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  describedShop(site, { jobMs: 300 }).open();
  await site.addEndpoint(`${SHOP}/hooks`);
  const options = ["--create", "create-order", ...VIEW, "--budget", "1h"];
  const { code, stderr } = await site.harness.run(["checklist", "run", "duplicates", ...options]);
  // Some payments seem lost at first, and none is in the end.
  expect([stderr, code]).toEqual([expect.stringMatching(/^✗ /m), 0]);
});

test("checklist run reports how many histories its budget left out, and the budget that runs all histories", async () => {
  const options = ["--create", "create-order", ...VIEW, "--settle", "60s", "--budget", "1s"];
  const { code, stdout, harness } = await judge({ options: [...options, "--json"] });
  const report = JSON.parse(stdout) as Report & { readonly not_run: number; readonly next_budget: string };
  // All histories except the plain purchase.
  expect([code, report.ok, report.not_run]).toEqual([3, false, report.histories - 1]);
  expect(report.next_budget).toMatch(/^\d+m$/);
  const people = await harness.run(["checklist", "run", "duplicates", ...options]);
  const said = / 1s: (\d+) \D+ (\d+) [^:]+: --budget \d+m/.exec(people.stdout);
  expect([people.code, Number(said?.[2]) - Number(said?.[1])]).toEqual([3, 1]);
  expect(people.stdout).not.toContain(englishOf(factOf("budget")));
  expect((await harness.run(["checklist", "--json"])).stdout).toContain(english(READINESS_SENTENCES.notRun));
});

test("the printed command that repeats a finding has the options of the run", async () => {
  const options = ["--create", "create-order", ...VIEW, "--settle", "10s", "--budget", "1h", "--json"];
  const { report, code } = await judge({ kind: { books: 2 }, options });
  expect(code).toBe(1);
  const [{ rerun } = { rerun: "" }] = report.broken;
  expect(rerun).toMatch(
    /^checkout checklist run (duplicates )?--create create-order --order-view .* --only \w+ --seed \w+$/,
  );
  expect(rerun).toContain("--settle 10s");
  expect(rerun).toContain(`--paid-when '"paid"'`);
});

test("checklist run webhooks and checklist run idempotency also read the shop section", async () => {
  const { harness, site } = await judge({
    section: { create: "create-order", endpoint: `${SHOP}/hooks`, order_view: `${SHOP}/orders/{order_id}` },
    options: ["--only", "no_such_history"],
  });
  await site.addEndpoint(`${SHOP}/hooks`);
  await site.addEndpoint("http://localhost:3001/other");
  const hooks = await harness.run(["checklist", "run", "webhooks", "--json"]);
  const { drills } = JSON.parse(hooks.stdout) as { drills: readonly { url: string }[] };
  expect(drills.map(({ url }) => url)).toEqual([`${SHOP}/hooks`]);
  const client = ["checklist", "run", "idempotency", "--json"];
  const refused = await harness.run(client);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("create: create-order")]);
  expect(harness.commands).toEqual([]);
  const run = await harness.run([...client, "--trust-config"]);
  expect([run.stderr, harness.commands[0]?.commandLine]).toEqual([run.stderr, "create-order"]);
});

test("a served shop without a page at the described path is refused, and leaves no endpoint behind", async () => {
  const section = { ...PAGE_SHOP, endpoint: "/hook" };
  const { code, stderr, harness, shop } = await judge({ section, options: ["--trust-config", "--json"] });
  expect([code, stderr]).toEqual([2, expect.stringContaining("404")]);
  const { stdout } = await harness.run(["endpoints", "list", "--json"]);
  expect([JSON.parse(stdout), shop.served.length]).toEqual([expect.objectContaining({ endpoints: [] }), 1]);
});

test("a shop is not served while another program uses the port of its endpoint", async () => {
  const { site, harness } = await judge({ section: PAGE_SHOP, options: ["--only", "no_such_history"] });
  await site.addEndpoint(`${SHOP}/hooks`);
  harness.occupy(3000, { answer: () => Promise.resolve(OK_ANSWER), refuse: () => OK_ANSWER });
  const { code, stderr } = await harness.run(["checklist", "run", "--trust-config", "--json"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("3000")]);
  expect(harness.commands).toEqual([]);
});

test("a run names an endpoint at which nothing listens, if another endpoint answers", async () => {
  const { site, harness } = await judge({ options: ["--only", "no_such_history"] });
  const { id } = await site.addEndpoint("http://localhost:3001/old");
  const run = ["checklist", "run", "duplicates", ...VIEW, "--json"];
  const { code, stderr } = await harness.run(run);
  expect([code, stderr]).toEqual([5, expect.stringContaining(`checkout endpoints remove ${id}`)]);
});

test("a run that is refused before its purchase leaves no endpoint of the served shop", async () => {
  const { site, harness } = await judge({ section: PAGE_SHOP, options: ["--only", "no_such_history"] });
  const { id } = await site.addEndpoint("http://localhost:3001/old");
  const { code } = await harness.run(["checklist", "run", "--trust-config", "--json"]);
  const { stdout } = await harness.run(["endpoints", "list", "--json"]);
  const { endpoints } = JSON.parse(stdout) as { readonly endpoints: readonly { readonly id: string }[] };
  expect([code, endpoints.map((endpoint) => endpoint.id)]).toEqual([5, [id]]);
});

test("explore reads order_view and serve from the shop section, and runs no unconfirmed command", async () => {
  const site = await openWebhookSite();
  const { harness } = site;
  describedShop(site).open();
  await site.addEndpoint(`${SHOP}/hooks`);
  const write = (shop: object): void =>
    writeFileSync(join(harness.cwd, "checkout.config.json"), JSON.stringify({ shop }));
  const view = { order_view: `${SHOP}/orders/{order_id}`, paid_when: '"paid"' };
  // `create` is not used here, so it needs no confirmation.
  write({ ...view, create: "rm -r everything" });
  const line = ["explore", "--budget", "1s", "--depth", "1", "--json"];
  const running = await harness.run([...line, "--receiver", `${SHOP}/hooks`, "--", "create-order"]);
  expect([running.code, running.stderr]).toEqual([0, running.stderr]);
  expect(harness.commands.map(({ commandLine }) => commandLine)).not.toContain("rm -r everything");
  const count = harness.commands.length;
  write({ ...view, order_view: "/orders/{order_id}", serve: "serve --all" });
  const refused = await harness.run([...line, "--", "create-order"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("serve: serve --all")]);
  expect(harness.commands.length).toBe(count);
  const served = await harness.run([...line, "--trust-config", "--", "create-order"]);
  expect([served.code, harness.commands[count]?.commandLine]).toEqual([3, "serve --all"]);
});

test("checklist run judges a shop without an endpoint by its requests to the API, and names the missing field", async () => {
  const described = ["--create", "create-order", ...VIEW, ...PATIENT];
  const right = await judge({ kind: { polls: true }, options: described });
  expect([right.code, right.findings, right.report.not_judged.map(({ field }) => field)]).toEqual([
    0,
    [],
    expect.arrayContaining(["endpoint"]),
  ]);
  const wrong = await judge({ kind: { polls: true, books: 2 }, options: described });
  expect(wrong.code).toBe(1);
});

test.each([
  ["/thanks?order_id={order_id}", "/thanks"],
  ["/thanks?session_id={session_id}&lang=en", "/thanks?lang=en"],
  ["/orders/{order_id}/thanks?lang=en&order_id={order_id}", "/orders/{order_id}/thanks?lang=en"],
])("the return page %s is opened as %s, and the service adds the ids", (described, opened) => {
  const { returnUrl } = shopOf({ returnUrl: described }, {}, (_flag, text) => text);
  expect(returnUrl).toBe(opened);
});

/** Opens a return page that answers with a status; returns the result and the opened addresses. */
async function openPage(status: number, more: { readonly firstFailureStatus?: 600 } = {}) {
  const urls: string[] = [];
  const send = ({ url }: { readonly url: string }): Promise<OutboundResult> => {
    urls.push(url);
    return Promise.resolve({ ok: true, status, headers: {}, body: "" });
  };
  const bench: Parameters<typeof openReturnPage>[0] = {
    world: {
      send,
      sleep: () => Promise.resolve(),
      monotonic: () => 0,
      now: () => 0,
      uuid: () => "",
      run: () => Promise.reject(new Error("no command is run")),
    },
    target: { origin: "http://127.0.0.1:4242" },
    shop: { env: {} },
    signal: new AbortController().signal,
  };
  const visit = await openReturnPage(bench, {
    page: `${SHOP}/orders/{order_id}/thanks`,
    checkout: { id: "session-1", orderId: "order 1" },
    session: "session-1",
    cookies: createCookieJar(),
    ...more,
  });
  return { ...visit, urls };
}

test("a return page with an order_id in its path is opened with the order_id of the order", async () => {
  expect(await openPage(200)).toMatchObject({
    hasArrived: true,
    urls: [`${SHOP}/orders/order%201/thanks?order_id=order%201&session_id=session-1`],
  });
});

test("a return page that answers 503 counts as reached only while the service's API fails", async () => {
  expect([
    (await openPage(503)).hasArrived,
    (await openPage(503, { firstFailureStatus: 600 })).hasArrived,
  ]).toEqual([false, true]);
});
