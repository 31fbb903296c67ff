import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describedShop } from "../support/described-shop.ts";
import { EPHEMERAL, type CommandOptions } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const SHOP = "http://localhost:3000";
const PLAIN = { NO_COLOR: "1" };

type Typed = NonNullable<CommandOptions["typed"]>;

/** A site with a terminal, and what stands in its configuration. */
async function openSite() {
  const site = await openWebhookSite(EPHEMERAL);
  const { harness } = site;
  const init = (typed: Typed, env: CommandOptions["env"] = {}) =>
    harness.run(["shop", "init"], { typed, env: { ...PLAIN, ...env } });
  const section = (): unknown =>
    (JSON.parse(readFileSync(join(harness.cwd, "checkout.config.json"), "utf8")) as { shop: unknown }).shop;
  return { site, harness, init, section };
}

test("shop init tries each answer at once, asks again for a wrong one, and writes the section", async () => {
  const { site, harness, init, section } = await openSite();
  describedShop(site).open();
  const typed: Typed = [
    ["Command that serves", ""],
    ["Variable with the Cookie", "a=secret"],
    ["must be the name of a variable", ""],
    ["Command that creates", "no-such-command"],
    ["create made no order", "create-order"],
    ["create made order-", "created (\\S+)"],
    ["order_id_of finds order-", `${SHOP}/order/{order_id}`],
    ["matches the view of a paid", ""],
    ["answers 404 for an order that your shop created", `${SHOP}/orders/{order_id}`],
    ["Pattern that matches", "open"],
    ["but nobody has paid", '"paid"'],
    ["shows unpaid", ""],
    ["bookings: 0", ""],
    ["amount: ", "http://localhost:3000/thanks"],
    ["the return page answered 200", "restart"],
    ["the restart command ended with 0", "2m"],
    ["must be a duration from 0s to 60s", "20s"],
  ];
  const { code, stderr } = await init(typed);
  expect([code, stderr]).toEqual([0, stderr]);
  expect(section()).toEqual({
    create: "create-order",
    order_id_of: "created (\\S+)",
    order_view: `${SHOP}/orders/{order_id}`,
    paid_when: '"paid"',
    bookings: "times",
    amount: "amount_minor",
    return_url: `${SHOP}/thanks`,
    restart: "restart",
    settle: "20s",
  });
  // Who typed the commands has confirmed them.
  const check = await harness.run(["shop", "check", "--json"], { env: PLAIN });
  expect([check.code, check.stderr]).toEqual([0, ""]);
  const { trials } = JSON.parse(check.stdout) as { trials: readonly { field: string; ok: boolean }[] };
  expect(trials.map(({ field, ok }) => [field, ok])).toEqual(
    ["create", "order_id_of", "order_view", "paid_when", "bookings", "amount", "return_url", "restart"]
      .filter((field) => field !== "order_view")
      .map((field) => [field, true]),
  );
});

test("shop init describes a served shop with a sign-in, a page that buys and its own order numbers", async () => {
  const { site, init, section } = await openSite();
  const shop = describedShop(site, { cookie: "session=merchant-7", orderIdOf: (cart) => `W-${cart}` });
  const env = { SHOP_COOKIE: "session=merchant-7" };
  const typed: Typed = [
    ["Command that serves", "broken"],
    ["at which your shop receives", ""],
    ["the shop did not start", "serve"],
    ["your shop receives webhooks, or its path", ""],
    ["your shop listens", "SHOP_COOKIE"],
    ["Command that creates", "POST /buy"],
    ["Fields of the form", "cart={order_id}&gift=no"],
    ["create made W-", "/orders/(W-\\S+)"],
    ["order_id_of finds W-", "/orders/{order_id}"],
    ["Pattern that matches", ""],
    ["shows unpaid", ""],
    ["bookings: 0", ""],
    ["amount: ", ""],
    ["that customers return to", ""],
    ["How late", ""],
  ];
  const { code, stdout, stderr } = await init(typed, env);
  expect([code, stderr]).toEqual([0, stderr]);
  expect(section()).toEqual({
    serve: "serve",
    endpoint: "/hooks",
    cookie: { env: "SHOP_COOKIE" },
    create: { post: "/buy", form: { cart: "{order_id}", gift: "no" } },
    order_id_of: "/orders/(W-\\S+)",
    order_view: "/orders/{order_id}",
    paid_when: '"status": *"paid"',
    bookings: "times",
    amount: "amount_minor",
    settle: "3s",
  });
  // Each trial serves the shop on the port of its endpoint.
  expect(new Set(shop.served).size).toBe(1);
  expect([stdout, stderr, JSON.stringify(section())].filter((text) => text.includes("merchant-7"))).toEqual(
    [],
  );
});

test("shop check says what does not work", async () => {
  const { site, harness } = await openSite();
  describedShop(site).open();
  const line = ["shop", "check", "--create", "create-order", "--order-view", `${SHOP}/orders/{order_id}`];
  const wrong = await harness.run([...line, "--paid-when", "status", "--return-url", `${SHOP}/gone`]);
  expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining("✗ the view of order-")]);
  expect(wrong.stdout).toContain("✗ the return page answered 404");
  const right = await harness.run([...line, "--paid-when", "paid", "--return-url", `${SHOP}/thanks`]);
  expect([right.code, right.stdout]).toEqual([0, expect.not.stringContaining("✗")]);
});

test("shop init needs a terminal, and a file without a mistake", async () => {
  const { harness, init } = await openSite();
  const silent = await harness.run(["shop", "init"]);
  expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining("needs a terminal")]);
  writeFileSync(join(harness.cwd, "checkout.config.json"), '{ "shop": { "colour": "red" } }');
  const broken = await init([]);
  expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining("colour")]);
});
