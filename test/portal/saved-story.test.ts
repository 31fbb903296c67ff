import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { CHECKOUTS_TEXTS } from "../../src/sandbox/pages/portal/checkout/texts.ts";
import { createHarness } from "../support/harness.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { portalPathOf } from "../support/portal-sign-in.ts";
import { signedIn, textOf } from "../support/portal.ts";
import { linesOf } from "../support/portal-story.ts";

const GIVEN = {
  CHECKOUT_SANDBOX_CONTROL_TOKEN: "given-control-token-0123",
  CHECKOUT_SANDBOX_ADMIN_TOKEN: "given-admin-token-4567890",
};

/** A sandbox with a paid order, and a receiver that answers with the sandbox's secrets. */
async function openShop() {
  const harness = createHarness();
  const sandbox = await harness.start([], { env: GIVEN });
  const portal = await signedIn(harness, sandbox);
  const [, cookie = ""] = portal.cookie.split("=");
  const secrets = [
    sandbox.ready.api_key ?? "",
    sandbox.ready.signing_secret ?? "",
    ...Object.values(GIVEN),
    portalPathOf(sandbox).replace("/portal/", ""),
    cookie,
    portal.formToken,
  ];
  harness.occupy(3000, {
    answer: () =>
      Promise.resolve({
        status: 500,
        headers: {},
        body: `<script>alert(1)</script> ${secrets.slice(0, -2).join(" ")}`,
      }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  const { id } = await harness.order("order-1001");
  await harness.run("orders create --order-id order-1001 --price-id price_tea --new-attempt".split(" "));
  await harness.clock.sleep(1000);
  await harness.run(["sandbox", "pay", "order-1001"]);
  await harness.clock.sleep(1000);
  return { harness, sandbox, portal, secrets, id };
}

/** Parts that a saved file must not have: scripts, forms and external addresses. */
const OUTSIDE = [
  /<script|<form|<button|<iframe|<img|<link(?! rel="icon" href="data:,")|javascript:|hx-|\son\w+=/i,
  /\s(?:href|src|action|formaction|poster|srcset)="(?!#|data:,")/,
  /@import|url\((?!"data:)/,
];

test("a saved story has no script, form, external reference or secret, in both languages", async () => {
  const { harness, portal, secrets, id } = await openShop();
  const files = [
    (await harness.run(["explain", id, "--html"])).stdout,
    (await harness.run(["explain", id, "--html", "--lang", "zh"])).stdout,
    (await portal.get(`${portal.home}/checkouts/${id}/story.html`)).html,
  ];
  expect(secrets.every((secret) => secret.length > 10)).toBe(true);
  for (const html of files) {
    expect(OUTSIDE.map((pattern) => pattern.exec(html)?.[0])).toEqual([undefined, undefined, undefined]);
    expect(secrets.filter((secret) => html.includes(secret))).toEqual([]);
    expect(html).toContain("&lt;script&gt;alert(1)");
    expect(html).toMatch(/^<!doctype html>/);
  }
});

test("a saved story has every line, even if the portal's page shows only the last lines", async () => {
  const { harness, sandbox, portal, id } = await openShop();
  const page = await portal.get(`${portal.home}/checkouts/${id}`);
  const { stdout: html } = await harness.run(["explain", "order-1001", "--html"]);
  expect(linesOf({ html })).toEqual(linesOf(page));
  expect(linesOf({ html }).length).toBeGreaterThan(5);
  for (let count = 0; count < 70; count += 1)
    await sandbox.request({ path: `/v1/checkout-sessions/${id}`, method: "GET" });
  const long = await portal.get(`${portal.home}/checkouts/${id}`);
  const whole = (await harness.run(["explain", id, "--html"])).stdout;
  const hiddenCount = linesOf({ html: whole }).length - linesOf(long).length;
  const earlier = english(CHECKOUTS_TEXTS.earlier(hiddenCount));
  expect([long.text.includes(earlier), textOf(whole).includes(earlier)]).toEqual([true, false]);
  expect(linesOf({ html: whole }).length).toBeGreaterThan(70);
  expect(linesOf(long).length).toBeLessThan(70);
});

test("explain --html accepts an order_id, event, delivery or request, and writes the page in the language of the locale or of --lang", async () => {
  const { harness, id } = await openShop();
  const ids = async (line: string, list: string, field: string): Promise<string> => {
    const { stdout } = await harness.run([...line.split(" "), "--json"]);
    const listed = JSON.parse(stdout) as Readonly<
      Record<string, readonly Readonly<Record<string, string>>[]>
    >;
    return listed[list]?.at(-1)?.[field] ?? "";
  };
  const named = [
    "order-1001",
    id.slice(-8),
    await ids("events list", "events", "event_id"),
    await ids("deliveries list", "deliveries", "id"),
    await ids("requests list", "requests", "request_id"),
  ];
  for (const name of named) {
    const { code, stdout } = await harness.run(["explain", name, "--html"]);
    expect([name, code]).toEqual([name, 0]);
    expect(stdout).toContain(`<title>order-1001 · `);
    expect(stdout).toContain(`<code class="copy">${id}</code>`);
  }
  const asJson = JSON.parse((await harness.run(["explain", id, "--html", "--json"])).stdout) as object;
  expect(asJson).toEqual({ checkout_id: id, html: (await harness.run(["explain", id, "--html"])).stdout });
  const languages = [
    [{}, [], "en"],
    [{ LANG: "zh_CN.UTF-8" }, [], "zh-Hans"],
    [{ LANG: "en_US.UTF-8", LC_ALL: "zh_TW" }, [], "zh-Hans"],
    [{ LANG: "zh_CN.UTF-8" }, ["--lang", "en"], "en"],
  ] as const;
  for (const [env, typed, tag] of languages) {
    const { stdout } = await harness.run(["explain", id, "--html", ...typed], { env });
    expect(/<html lang="([^"]+)"/.exec(stdout)?.[1]).toBe(tag);
  }
});

test("explain --html refuses an unknown id and a request without a checkout, and --lang needs --html", async () => {
  const { harness, sandbox, id } = await openShop();
  const { body } = await sandbox.request({ path: "/v1/orders", body: "{}" });
  const { request_id: refused } = JSON.parse(String(body)) as { readonly request_id: string };
  const typed = [
    [["explain", id, "--lang", "zh"], 2, /--lang.*--html/],
    [["explain", "nothing", "--html"], 1, refusalText("no_checkout_for", { received: '"nothing"' })],
    [["explain", refused, "--html"], 1, refusalText("no_checkout_for")],
  ] as const;
  for (const [words, code, message] of typed) {
    const ran = await harness.run(words);
    expect([words, ran.code, ran.stdout]).toEqual([words, code, ""]);
    expect(ran.stderr).toMatch(message);
  }
});

test("the portal downloads a story as a file that is named after the order", async () => {
  const { portal, id } = await openShop();
  const page = await portal.get(`${portal.home}/checkouts/${id}`);
  expect(page.html).toMatch(/<a class="plain" href="[^"]*\/story\.html" download>/);
  const { status, headers } = await portal.get(`${portal.home}/checkouts/${id}/story.html`);
  expect([status, headers["Content-Disposition"]]).toEqual([
    200,
    `attachment; filename="order-1001-${id.slice(-8)}.html"`,
  ]);
});
