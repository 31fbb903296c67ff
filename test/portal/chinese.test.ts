import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { HISTORY_NAMES } from "../../src/core/judge/histories/histories.ts";
import { factOf, FACT_TABLES, stepTextWords } from "../../src/core/readiness/drills/said.ts";
import { WEBHOOK_STEP_TITLES } from "../../src/core/readiness/drills/webhook.ts";
import type { DrillKind } from "../../src/core/readiness/names.ts";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { LAUNCH_TEXTS } from "../../src/sandbox/pages/portal/readiness/texts.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { portalPages } from "../support/portal-addresses.ts";
import { signedIn, textOf } from "../support/portal.ts";
import { WRONG_FORMS, type Fields } from "../support/wrong-forms.ts";
import { askPortal, portalHost, signIn } from "../support/portal-sign-in.ts";
import type { DrillStep } from "../../src/core/readiness/drill-shapes.ts";

const NAMES: Readonly<Record<DrillKind, readonly string[]>> = {
  webhook: Object.keys(WEBHOOK_STEP_TITLES),
  duplicates: HISTORY_NAMES,
  idempotency: HISTORY_NAMES,
  browser_return: HISTORY_NAMES,
};

/** Failed steps of one kind of drill, with all facts. */
function failedSteps(kind: DrillKind): readonly DrillStep[] {
  const names = NAMES[kind];
  const facts = FACT_TABLES.flatMap((table) => Object.keys(table)).map((name) =>
    factOf(name, "1", "2", "3", "4"),
  );
  const length = Math.max(names.length, Math.ceil(facts.length / 3));
  return Array.from({ length }, (_, at) => ({
    name: names[at % names.length] ?? "",
    passed: false,
    expected: facts[(3 * at) % facts.length] ?? "",
    got: facts[(3 * at + 1) % facts.length] ?? "",
    cause: facts[(3 * at + 2) % facts.length] ?? null,
    reference: null,
  }));
}

/** Inserts a failed drill of each kind, whose steps together contain every fact of this version. */
function writeDrills({ cwd }: Harness, { storeId, endpoint }: { storeId: string; endpoint: string }): void {
  const database = new Database(join(cwd, ".checkout/sandbox.db"));
  const insert = database.prepare(
    "INSERT INTO drills (id, store_id, kind, subject, passed, steps, at) VALUES (?, ?, ?, ?, 0, ?, ?)",
  );
  for (const [at, kind] of (Object.keys(NAMES) as DrillKind[]).entries())
    insert.run(
      `0199a3c4-5d00-7000-8000-00000000000${at}`,
      storeId,
      kind,
      kind === "webhook" ? `${endpoint} ` : "",
      JSON.stringify(failedSteps(kind)),
      Date.UTC(2026, 0, 15, 11),
    );
  database.close();
}

/** Two or more Latin words in a row, except the keys of a shortcut such as `g c`. */
const SENTENCE = /(?<![\w/.[-])(?!g [a-z]\b)[A-Za-z][a-z']*(?: [A-Za-z][a-z']*)+/g;
/** Code, sent bytes, and quotations from v1 and the interface. */
const OF_CODE = /<(pre|code|script|style)\b.*?<\/\1>|<(\w+)[^>]* lang="en"[^>]*>.*?<\/\2>/gs;
const COMMAND = /\bcheckout(?: [a-z-]+)+/g;
const NAMED = /(?:title|aria-label|placeholder|alt|data-\w+)="([^"]*)"/g;

/** Half-width punctuation next to a Chinese character. */
const HALF_WIDTH =
  /.{0,12}(?:[\p{Script=Han}」】）](?: ?[,;:!()]|\?)|[,;:!()] ?[\p{Script=Han}「【（]).{0,12}/gu;

/** The English sentences of a page, in its text and its attributes. */
function englishIn(html: string, quoted: readonly string[]): readonly string[] {
  const shown = html.replace(OF_CODE, " ");
  const names = Array.from(shown.matchAll(NAMED), ([, name = ""]) => name);
  const text = `${textOf(shown.replace(/<[^>]*>/g, "$& · "))} · ${names.join(" · ")}`;
  const own = quoted.reduce((rest, one) => rest.replaceAll(one, "…"), text);
  return [...(own.replaceAll(COMMAND, "").match(SENTENCE) ?? []), ...(own.match(HALF_WIDTH) ?? [])];
}

/** Bytes from outside. */
const FOREIGN_TEXTS = ["[object Promise]", "connect ECONNREFUSED"];
const TERMS = { order_id: "1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

/** A store with an entry in every list, and a browser that prefers Chinese. */
async function openShop() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const portal = await signedIn(harness, sandbox);
  await portal.post("/portal/preferences", { language: "zh", back: portal.home });
  const answer = { status: 500, headers: {}, body: "no" };
  harness.occupy(3000, { answer: () => Promise.resolve({ ...answer }), refuse: () => answer });
  const messages: string[] = [];
  const create = async (key: string, body: object): Promise<string> => {
    const headers = { "Idempotency-Key": key };
    const made = await sandbox.request({ path: "/v1/orders", headers, body: JSON.stringify(body) });
    const { data, error } = JSON.parse(String(made.body)) as {
      readonly data?: { readonly id: string };
      readonly error?: { readonly message: string };
    };
    if (error !== undefined) messages.push(error.message, ...error.message.split("; "));
    return data?.id ?? "";
  };
  const run = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await harness.run(line.split(" "));
    expect([line, code, stderr]).toEqual([line, 0, expect.anything()]);
    return stdout;
  };
  const { stores } = JSON.parse(await run("stores list --json")) as {
    readonly stores: readonly { readonly name: string; readonly merchant_name: string }[];
  };
  // The names and descriptions that a first start gives the merchant.
  messages.push(...stores.flatMap(({ name, merchant_name }) => [name, merchant_name]));
  const { prices } = JSON.parse(await run("prices list --json")) as {
    readonly prices: readonly { readonly description: string | null }[];
  };
  messages.push(...prices.flatMap(({ description }) => description ?? []));
  return { harness, sandbox, portal, answer, messages, create, run };
}

/** Actions that are refused on a separate page, or in a rarely opened form. */
function refusedActs({
  checkout,
  endpoint,
}: Readonly<Record<"checkout" | "endpoint", string>>): readonly (readonly [string, Fields])[] {
  const unknown = "00000000-0000-7000-8000-00000000dead";
  const names = ["new", "茶  店", "Ｔea", unknown, "x".repeat(65)];
  return [
    ...names.map((name) => ["/stores", { name }] as const),
    ["/snapshots", { name: "../x" }],
    ["/snapshots/remove", { name: "nothing" }],
    ["/snapshots/restore", { name: "nothing" }],
    ["/launch/production", {}],
    ["/launch/waivers", { drill: "browser_return", reason: "" }],
    ["/launch/waivers", { drill: "everything", reason: "无" }],
    ["/launch/waivers", { drill: "webhook", reason: "无".repeat(2000) }],
    [`/checkouts/${checkout}/pay`, { outcome: "everything" }],
    [`/checkouts/${unknown}/pay`, { outcome: "succeeded" }],
    [`/checkouts/${checkout}/events/${unknown}/replay`, {}],
    [`/webhooks/events/${unknown}/replay`, {}],
    [`/webhooks/endpoints/${unknown}/test`, {}],
    [`/webhooks/endpoints/${endpoint}/state`, { action: "everything" }],
    [`/webhooks/endpoints/${endpoint}/rotate`, { overlap_ms: "-1" }],
    [`/faults/${unknown}/remove`, {}],
    ["/faults", { action: "status", status: "503", times: "0" }],
    ["/faults", { action: "everything" }],
    ["/clock", { action: "everything" }],
    ["/settings/return-origins", { origin: "https://localhost/x?y" }],
    ["/keys", { scopes: "everything" }],
    ["/delete", { name: "nothing" }],
    ["/nothing", {}],
  ];
}

test("no Chinese page of the portal contains one of the program's English sentences", async () => {
  const { harness, sandbox, portal, answer, messages, create, run } = await openShop();
  const { home } = portal;
  const found: (readonly [string, readonly string[]])[] = [];
  const read = (where: string, html: string): void => {
    const sentences = englishIn(html, [...FOREIGN_TEXTS, ...messages]);
    if (sentences.length > 0) found.push([where, sentences]);
  };
  const act = async (path: string, fields: Readonly<Record<string, string>> = {}): Promise<void> => {
    const page = await portal.act(`${home}${path}`, fields);
    expect([path, page.status]).toEqual([path, 200]);
    read(path, page.html);
  };
  for (const page of ["start", "overview", "checkouts", "requests", "webhooks", "webhooks/events"])
    read(`empty ${page}`, (await portal.get(`${home}/${page}`)).html);

  await act("/webhooks/endpoints", { url: "http://localhost:3000/hooks" });
  const listed = JSON.parse(await run("endpoints list --json")) as { endpoints: { id: string }[] };
  const endpoint = listed.endpoints[0]?.id ?? "";
  await run("endpoints add http://127.0.0.1:9/hooks");
  const checkout = await create("the-first-key", TERMS);
  await create("the-first-key", { ...TERMS, amount_minor: 1 });
  await create("another-key", { ...TERMS, currency: "euro" });
  const other = await create("a-third-key", { ...TERMS, order_id: "1002" });
  await act(`/checkouts/${checkout}/pay`, { outcome: "declined" });
  await act(`/checkouts/${other}/pay`, { outcome: "cancelled" });
  await act("/faults", { action: "status", status: "503", times: "2" });
  await act("/faults", { action: "delay", latency: "2s" });
  await act("/clock", { action: "advance", by: "20m" });
  await act(`/webhooks/endpoints/${endpoint}/test`);
  await act(`/webhooks/endpoints/${endpoint}/state`, { action: "pause" });
  read("paused", (await portal.get(`${home}/webhooks`)).html);
  await act(`/webhooks/endpoints/${endpoint}/state`, { action: "disable" });
  read("disabled", (await portal.get(`${home}/webhooks`)).html);
  answer.status = 204;
  await act(`/webhooks/endpoints/${endpoint}/state`, { action: "enable" });
  expect((await harness.run(["checklist", "run", "webhooks"])).code).toBe(1);
  await act("/launch/waivers", { drill: "duplicates", reason: "无" });
  await act("/launch/production", { note: "请开放" });
  const { store_id: storeId } = sandbox.ready;
  writeDrills(harness, { storeId, endpoint });

  type Listed = Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>;
  const ids = async (what: string, name: string): Promise<readonly string[]> =>
    ((JSON.parse(await run(`${what} list --json`)) as Listed)[what] ?? []).map((row) => row[name] ?? "");
  const several = {
    checkouts: [checkout, other],
    requests: await ids("requests", "request_id"),
    deliveries: await ids("deliveries", "id"),
    endpoints: await ids("endpoints", "id"),
    events: await ids("events", "event_id"),
  };
  const most = Math.max(...Object.values(several).map(({ length }) => length));
  const pages = Array.from({ length: Math.min(most, 12) }, (_, at) => {
    const pick = Object.fromEntries(
      Object.entries(several).map(([name, all]) => [name, all[at % all.length] ?? ""]),
    );
    const fixed = { store_id: storeId, portal: storeId, admin: storeId, anything: "start" };
    return portalPages(PORTAL_AREA.routes, { ...pick, ...fixed });
  }).flat();
  const { cookie } = await signIn(harness, sandbox, "administrator");
  const administrator = {
    Authorization: "",
    Host: portalHost(sandbox),
    Cookie: cookie,
    "Accept-Language": "zh",
  };
  const addresses = [...new Set(pages.map(({ address }) => address))];
  for (const address of addresses) {
    const isAdmin = address.startsWith("/portal/admin");
    const html = isAdmin
      ? String((await askPortal(sandbox, { path: address, headers: administrator })).body)
      : (await portal.get(address)).html;
    read(address, html);
  }
  for (const text of ["100", "nothing", "hooks", "order"]) {
    const { location, html } = await portal.get(`${home}/find?q=${text}`);
    read(`find ${text}`, location === undefined ? html : (await portal.get(location)).html);
  }
  const launch = await portal.get(`${home}/launch`);
  for (const cause of ["takes_all", "books_again", "new_key", "believes_return"])
    expect(launch.text).toContain(stepTextWords(factOf(cause))[1]);
  const unknown = "00000000-0000-7000-8000-00000000dead";
  for (const path of [
    "checkouts",
    "requests",
    "webhooks/events",
    "webhooks/deliveries",
    "webhooks/endpoints",
  ])
    read(`unknown ${path}`, (await portal.get(`${home}/${path}/${unknown}`)).html);
  for (const [path, fields] of [...WRONG_FORMS, ...refusedActs({ checkout, endpoint })]) {
    const refused = await portal.post(`${home}${path}`, fields);
    const where = JSON.stringify([path, fields]);
    if (refused.status < 400) found.push([where, ["it was accepted"]]);
    read(where, refused.html);
  }
  expect(addresses.length).toBeGreaterThan(25);
  expect(found).toEqual([]);
});

test("the Chinese page of a running drill contains none of the program's English sentences", async () => {
  const { harness, sandbox, portal, messages, run } = await openShop();
  const launch = `${portal.home}/launch`;
  const pages: string[] = [];
  harness.vacate(3000);
  const answer = { status: 204, headers: {}, body: "" };
  harness.occupy(3000, {
    answer: async () => {
      pages.push((await portal.get(launch)).html);
      return answer;
    },
    refuse: () => answer,
  });
  await run("endpoints add http://localhost:3000/hooks");
  await run("endpoints add http://127.0.0.1:9/hooks");
  expect((await harness.run(["checklist", "run", "webhooks"])).code).toBe(1);
  expect(pages.length).toBeGreaterThan(3);
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const control = async (path: string, body: object): Promise<Readonly<Record<string, string>>> => {
    const asked = { path: `/__sandbox/stores/default${path}`, body: JSON.stringify(body) };
    const { body: text } = await sandbox.request({
      ...asked,
      headers: { Authorization: `Bearer ${token}` },
    });
    return (JSON.parse(String(text)) as { data: Readonly<Record<string, string>> }).data;
  };
  const lease = { timeout_ms: 60_000 };
  const { id = "" } = await control("/leases", { drill: "duplicates", ...lease });
  pages.push((await portal.get(launch)).html);
  await control(`/leases/${id}/end`, {});
  expect(textOf(pages.at(-1) ?? "")).toContain(`${LAUNCH_TEXTS.checklist[1]} ${LAUNCH_TEXTS.running[1]}`);
  expect([...new Set(pages.flatMap((html) => englishIn(html, [...FOREIGN_TEXTS, ...messages])))]).toEqual([]);
});
