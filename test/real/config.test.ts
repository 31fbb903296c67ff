import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import Database from "better-sqlite3";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { deriveIdempotencyKey, LOCAL_SANDBOX_SERVICE } from "../../src/core/checkout/idempotency-key.ts";
import { environmentVariableOf } from "../../src/cli/option-rules.ts";
import { createProgram } from "../../src/cli/program.ts";
import { parseConfig } from "../../src/core/config/read.ts";
import { targetVariable } from "../../src/core/config/secrets.ts";
import { configJsonSchema } from "../../src/core/config/schema.ts";
import { formatTestKey } from "../../src/core/credential.ts";
import { SECRET_KINDS } from "../../src/core/text.ts";
import { REAL } from "../support/real.ts";
import { launchHere, runHere, startSandboxHere } from "../support/program.ts";
import { SEED, size } from "../support/campaign.ts";
import { CERTIFICATE } from "../support/certificate.ts";
import { createHarness, type CommandOptions, type Harness } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { inOrder } from "../support/in-order.ts";

const FILE = "checkout.config.json";
const FIRST = "00000000-0000-4000-8000-00000000000a";
const SECOND = "00000000-0000-4000-8000-000000000001";
const KEY = formatTestKey(new Uint8Array(20).fill(7));
const SECRET = `whsec_${"s".repeat(43)}`;

const PRICE = { id: "espresso", amount_minor: 300, currency: "EUR", payment_method: "alipay_plus" };
const SHOP = {
  id: FIRST,
  name: "Coffee Shop",
  prices: [PRICE],
  capabilities: { payment_methods: ["alipay_plus"], currencies: ["EUR", "GBP"] },
  return_origins: ["http://localhost:3000"],
  endpoints: [{ url: "http://localhost:3000/hooks", events: ["order.*"] }],
};
const TEA = { id: SECOND, name: "Tea Shop" };

type Entry = { readonly action: string; readonly kind: string; readonly name: string };

function save(folder: string, config: unknown, name = FILE): string {
  const path = join(folder, name);
  writeFileSync(path, typeof config === "string" ? config : JSON.stringify(config));
  return path;
}

/** Runs a command with --json; returns its parsed output, stderr and exit code. */
async function ask(harness: Harness, words: string, command: CommandOptions = {}) {
  const { code, stdout, stderr } = await harness.run([...words.split(" "), "--json"], command);
  return { code, said: JSON.parse(stdout || stderr) as Record<string, never>, stderr };
}

async function plan(harness: Harness, words: string, command: CommandOptions = {}): Promise<string[]> {
  const { said } = await ask(harness, words, command);
  const { changes } = said as unknown as { readonly changes: readonly Entry[] };
  return changes
    .filter(({ action }) => action !== "keep")
    .map(({ action, kind, name }) => `${action} ${kind} ${name}`);
}

function withShop(change: (shop: Record<string, unknown>) => void): string {
  const shop: Record<string, unknown> = structuredClone(SHOP);
  change(shop);
  return JSON.stringify({ stores: [shop] }, null, 2);
}

/** Matches a message that suggests one name instead of listing all names. */
function suggesting(name: string): RegExp {
  return new RegExp(String.raw`(?<!, )\b${name}\b(?!,)`);
}

/** Wrong files: the text, the field, line and column of its mistake, and the values in the message. */
const FAULTS: readonly (readonly [what: string, text: string, place: string, message?: RegExp])[] = [
  ["no content", "", ":1:1"],
  ["a list at the top level", "[]", ":1:1"],
  ["a missing comma", '{\n  "stores": []\n  "sandbox": {}\n}', ":3:3"],
  ["a comma at the end", '{\n  "sandbox": {},\n}', ":3:1"],
  ["an unclosed string", '{ "sandbox', ":1:3"],
  ["an unclosed comment", "{ /* ", ":1:3"],
  ["an unclosed object", '{\n "sandbox": {', ":2:14"],
  ["text after the end of the JSON", "{}\n{}", ":2:1"],
  ["a value that is not JSON", '{ "sandbox": nope }', ":1:14"],
  ["too many levels of nesting", `{ "a": ${"[".repeat(40)}`, ":1:23", inOrder("16")],
  ["far too many levels of nesting", "[".repeat(150_000), ":1:17", inOrder("16")],
  ["too many characters", " ".repeat(2_000_001), ":1:1", inOrder("2000000")],
  ["a duplicate key", '{\n "sandbox": {},\n "sandbox": {}\n}', "sandbox:3:2"],
  [
    "an unknown key",
    '{\n  "sandbox": {\n    "rate_limt": "5/s"\n  }\n}',
    "sandbox.rate_limt:3:5",
    suggesting("rate_limit"),
  ],
  ["an unknown key at the top level", '{ "shops": [] }', "shops:1:3", suggesting("shop")],
  [
    "a key unlike any field",
    '{ "zzzzzzzzzz": 1 }',
    "zzzzzzzzzz:1:3",
    inOrder("$schema, sandbox, shop, dialect, stores, targets"),
  ],
  ["the key __proto__", '{ "__proto__": {} }', "__proto__:1:3"],
  [
    "the key rateLimit",
    '{ "sandbox": { "rateLimit": "5/s" } }',
    "sandbox.rateLimit:1:16",
    suggesting("rate_limit"),
  ],
  ["a wrong type", '{ "sandbox": { "port": "80" } }', "sandbox.port:1:24"],
  ["null as a section", '{ "sandbox": null }', "sandbox:1:14"],
  ["an impossible port", '{ "sandbox": { "port": 65536 } }', "sandbox.port:1:24", inOrder("65535")],
  [
    "an invalid rate limit",
    '{ "sandbox": { "rate_limit": "5" } }',
    "sandbox.rate_limit:1:30",
    inOrder("5/s"),
  ],
  [
    "a checkout lifetime that is too short",
    '{ "sandbox": { "checkout_lifetime": "1m" } }',
    "sandbox.checkout_lifetime:1:37",
    inOrder("5m", "24h"),
  ],
  [
    "an invalid allowed host",
    '{ "sandbox": { "allow_hosts": ["a", "b/c"] } }',
    "sandbox.allow_hosts[1]:1:37",
    inOrder("HOST:PORT"),
  ],
  [
    "a forbidden target host",
    '{ "sandbox": { "allow_targets": ["169.254.169.254"] } }',
    "sandbox.allow_targets[0]:1:34",
    refusalText("target_never"),
  ],
  ["an empty list of stores", '{ "stores": [] }', "stores:1:13", inOrder(">=1")],
  ["a store without a name", `{ "stores": [\n  { "id": "${FIRST}" }] }`, "stores[0].name:2:3"],
  ["an invalid store id", '{ "stores": [{ "id": "shop", "name": "x" }] }', "stores[0].id:1:22"],
  [
    "an invisible character in a store's name",
    withShop((shop) => (shop["name"] = "a\u202eb")),
    "stores[0].name:5:15",
  ],
  [
    "an amount with a fraction",
    withShop((shop) => (shop["prices"] = [{ ...PRICE, amount_minor: 1.5 }])),
    "stores[0].prices[0].amount_minor:9:27",
  ],
  [
    "an amount that is too large for a number",
    withShop(() => undefined).replace(": 300", ": 9007199254740993"),
    "stores[0].prices[0].amount_minor:9:27",
  ],
  [
    "a currency in lower case",
    withShop((shop) => (shop["prices"] = [{ ...PRICE, currency: "eur" }])),
    "stores[0].prices[0].currency:10:23",
  ],
  [
    "an unknown payment method",
    withShop((shop) => (shop["prices"] = [{ ...PRICE, payment_method: "cash" }])),
    "stores[0].prices[0].payment_method:11:29",
    inOrder("alipay_plus", "wechat_pay"),
  ],
  [
    "an unsupported billing model",
    withShop((shop) => (shop["prices"] = [{ ...PRICE, billing_model: "monthly" }])),
    "stores[0].prices[0].billing_model:12:28",
    inOrder("one_time"),
  ],
  [
    "a duplicate price",
    withShop((shop) => (shop["prices"] = [PRICE, PRICE])),
    "stores[0].prices[1].id:14:17",
  ],
  [
    "an origin without https",
    withShop((shop) => (shop["return_origins"] = ["http://shop.example"])),
    "stores[0].return_origins[0]:24:9",
    inOrder("https://"),
  ],
  [
    "an origin with an invalid path",
    withShop((shop) => (shop["return_origins"] = [{ origin: "https://shop.example", path: "thanks" }])),
    "stores[0].return_origins[0].path:26:19",
  ],
  [
    "an origin object without https",
    withShop((shop) => (shop["return_origins"] = [{ origin: "http://shop.example" }])),
    "stores[0].return_origins[0].origin:25:21",
    inOrder("https://"),
  ],
  [
    "a path without an origin",
    withShop((shop) => (shop["return_origins"] = [{ path: "/thanks" }])),
    "stores[0].return_origins[0].origin:24:9",
  ],
  [
    "an origin with a misspelled path",
    withShop((shop) => (shop["return_origins"] = [{ origin: "https://shop.example", pth: "/" }])),
    "stores[0].return_origins[0].pth:26:11",
    suggesting("path"),
  ],
  [
    "an origin that is a number",
    withShop((shop) => (shop["return_origins"] = [7])),
    "stores[0].return_origins[0]:24:9",
  ],
  [
    "an origin that occurs twice with two paths",
    withShop(
      (shop) =>
        (shop["return_origins"] = ["https://a.example", { origin: "https://a.example", path: "/thanks" }]),
    ),
    "stores[0].return_origins[1]:25:9",
  ],
  [
    "a delivery schedule that begins with a delay",
    '{ "sandbox": { "delivery_schedule": ["5s", "10s"] } }',
    "sandbox.delivery_schedule[0]:1:38",
    inOrder("0s"),
  ],
  [
    "an invalid delivery delay",
    '{ "sandbox": { "delivery_schedule": ["0s", "5s", "soon"] } }',
    "sandbox.delivery_schedule[2]:1:50",
    inOrder("1ms", "24h"),
  ],
  [
    "a second delivery delay of 0s",
    '{ "sandbox": { "delivery_schedule": ["0s", "0s"] } }',
    "sandbox.delivery_schedule[1]:1:44",
    inOrder("1ms", "24h"),
  ],
  [
    "a delivery delay of more than a day",
    '{ "sandbox": { "delivery_schedule": ["0s", "25h"] } }',
    "sandbox.delivery_schedule[1]:1:44",
    inOrder("1ms", "24h"),
  ],
  [
    "an empty delivery schedule",
    '{ "sandbox": { "delivery_schedule": [] } }',
    "sandbox.delivery_schedule:1:37",
    inOrder("20"),
  ],
  [
    "a delivery schedule with too many delays",
    JSON.stringify({ sandbox: { delivery_schedule: ["0s", ...Array.from({ length: 20 }, () => "1s")] } }),
    "sandbox.delivery_schedule:1:33",
    inOrder("20"),
  ],
  [
    "a delivery schedule that takes too long",
    '{ "sandbox": { "delivery_schedule": ["0s", "24h", "24h", "24h", "24h", "1ms"] } }',
    "sandbox.delivery_schedule:1:37",
    inOrder("96h", "120h"),
  ],
  [
    "a delivery schedule as one string",
    '{ "sandbox": { "delivery_schedule": "0s,5s" } }',
    "sandbox.delivery_schedule:1:37",
  ],
  [
    "an unknown event type",
    withShop((shop) => (shop["endpoints"] = [{ url: "http://localhost/", events: ["paid"] }])),
    "stores[0].endpoints[0].events[0]:30:13",
    refusalText("not_event_type"),
  ],
  [
    "a duplicate endpoint address",
    withShop((shop) => (shop["endpoints"] = [{ url: "http://localhost" }, { url: "http://localhost/" }])),
    "stores[0].endpoints[1].url:31:18",
  ],
  [
    "two stores with the same id",
    JSON.stringify({ stores: [TEA, { ...TEA, name: "x" }] }),
    "stores[1].id:1:82",
  ],
  [
    "a text in place of an API key's variable",
    withShop((shop) => (shop["api_keys"] = ["0000"])),
    "stores[0].api_keys[0]:35:9",
  ],
  [
    "a text in place of the signing secret's variable",
    withShop((shop) => (shop["signing_secret"] = "hush")),
    "stores[0].signing_secret:34:25",
  ],
  [
    "a real signing secret",
    withShop((shop) => (shop["signing_secret"] = SECRET)),
    "stores[0].signing_secret:34:25",
    inOrder(SECRET_KINDS),
  ],
  [
    "a real API key as the name of a variable",
    withShop((shop) => (shop["api_keys"] = [{ env: KEY }])),
    "stores[0].api_keys[0].env:36:18",
    inOrder(SECRET_KINDS),
  ],
  [
    "a real API key as the name of a field",
    withShop((shop) => (shop[KEY] = 1)),
    "stores[0].…:34:7",
    inOrder(SECRET_KINDS),
  ],
  [
    "a real API key in a description",
    withShop((shop) => (shop["prices"] = [{ ...PRICE, description: KEY }])),
    "stores[0].prices[0].description:12:26",
    inOrder(SECRET_KINDS),
  ],
  ["an invalid target name", '{ "targets": { "A B": {} } }', "targets.A B:1:23"],
  [
    "a target address with a password",
    '{ "targets": { "a": { "base_url": "http://u:p@x/", "api_key": { "env": "A" } } } }',
    "targets.a.base_url:1:35",
  ],
];

test.for(FAULTS)(
  "a configuration file with %s is refused, with field, line and column",
  ([, text, place, message = inOrder()]) => {
    const read = parseConfig(text);
    const faults = read.ok ? [] : read.refusal;
    const [fault] = faults;
    expect(`${fault?.field}:${fault?.line}:${fault?.column}`).toBe(place);
    expect(fault?.message).toMatch(message);
    expect(JSON.stringify(faults)).not.toMatch(/hush|u:p|svc_test_\w|whsec_s/);
  },
);

test("the JSON schema for editors agrees with the configuration parser, and comments are allowed anywhere", () => {
  const validate = new Ajv2020({ strict: false }).compile(configJsonSchema());
  const whole = {
    $schema: "./schema.json",
    sandbox: {
      port: 0,
      rate_limit: "off",
      checkout_lifetime: "30m",
      delivery_schedule: ["0s", "5s"],
      allow_hosts: ["a.example:80"],
    },
    stores: [
      {
        ...SHOP,
        return_origins: ["http://localhost:3000", { origin: "https://shop.example", path: "/thanks" }],
        api_keys: [{ env: "SHOP_KEY" }],
        signing_secret: { env: "SHOP_SECRET" },
      },
      TEA,
    ],
    targets: { staging: { base_url: "https://pay.example/v1", api_key: { env: "STAGING_KEY" } } },
  };
  expect([validate(whole), validate.errors]).toEqual([true, null]);
  const commented = `\ufeff// a shop\n${JSON.stringify(whole, null, 2).replaceAll(",\n", ", /* and */\n")}`;
  expect(parseConfig(commented)).toMatchObject({ ok: true });
  for (const wrong of [
    { shops: [] },
    { stores: [{ ...TEA, api_keys: ["x"] }] },
    { stores: [{ ...TEA, return_origins: [{ path: "/thanks" }] }] },
    { stores: [{ ...TEA, return_origins: [{ origin: "https://shop.example", pth: "/" }] }] },
    { sandbox: { delivery_schedule: [] } },
    { stores: [{ ...TEA, id: "a" }] },
  ]) {
    expect(validate(wrong)).toBe(false);
    expect(parseConfig(JSON.stringify(wrong)).ok).toBe(false);
  }
});

test("a broken configuration file, a missing variable or a forbidden endpoint stops the start before anything is created", async () => {
  const rows = [
    ["{", /checkout\.config\.json:1:2: /],
    [
      { stores: [{ ...TEA, api_keys: [{ env: "NO_KEY" }] }] },
      /:1:\d+: stores\[0\]\.api_keys\[0\]\.env: .*\bNO_KEY\b/,
    ],
    [
      { stores: [{ ...TEA, signing_secret: { env: "BAD" } }] },
      /:1:\d+: stores\[0\]\.signing_secret\.env: .*\bBAD\b/,
    ],
    [
      { stores: [{ ...TEA, endpoints: [{ url: "http://shop.example/" }] }] },
      /:1:\d+: stores\[0\]\.endpoints\[0\]\.url: .*--allow-target/,
    ],
  ] as const;
  for (const [config, message] of rows) {
    const harness = createHarness();
    save(harness.cwd, config);
    const { code, stderr } = await harness.run(["sandbox", "start"], { env: { BAD: "hush" } });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(stderr).not.toContain("hush");
    expect(existsSync(join(harness.cwd, ".checkout"))).toBe(false);
  }
});

/** All rows of a stopped sandbox, except the log mark, which each opening changes. */
function rowsOf(harness: Harness): unknown {
  const db = new Database(join(harness.cwd, ".checkout", "sandbox.db"), { readonly: true });
  try {
    const tables = db
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'log_mark'")
      .pluck()
      .all();
    return tables.map((table) => [table, db.prepare(`SELECT * FROM "${table}"`).all()]);
  } finally {
    db.close();
  }
}

test("a broken or refused configuration file does not change rows or keys of an existing state", async () => {
  const harness = createHarness();
  save(harness.cwd, { stores: [SHOP] });
  const sandbox = await harness.start();
  await sandbox.stop();
  const state = () => [rowsOf(harness), harness.readState("credentials.json")];
  const before = state();
  const merchant = { id: SECOND };
  for (const config of [
    "{",
    { stores: [{ ...SHOP, name: 5 }] },
    { stores: [{ ...SHOP, name: "Newer", merchant }, TEA] },
  ]) {
    save(harness.cwd, config);
    const { code, stderr } = await harness.run(["sandbox", "start"]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/checkout\.config\.json:1:\d+: /);
    expect(state()).toEqual(before);
  }
});

test("a start applies the configuration file, whose first store becomes the sandbox's first store, and a second start changes nothing", async () => {
  const harness = createHarness();
  save(harness.cwd, {
    stores: [{ ...SHOP, api_keys: [{ env: "SHOP_KEY" }], signing_secret: { env: "SHOP_SECRET" } }, TEA],
  });
  const env = { SHOP_KEY: KEY, SHOP_SECRET: SECRET };
  const sandbox = await harness.start([], { env });
  expect(sandbox.ready).toMatchObject({ store_id: FIRST, api_key: KEY, signing_secret: SECRET });
  const { stores } = JSON.parse(harness.readState("credentials.json")) as { stores: Record<string, unknown> };
  expect(Object.keys(stores)).toEqual([FIRST, SECOND]);
  expect(stores[FIRST]).toEqual({ name: "Coffee Shop", api_key: KEY });
  const made = await harness.run("orders create --order-id order-1 --price-id espresso --json".split(" "));
  expect([made.code, JSON.parse(made.stdout)]).toMatchObject([0, { data: { amount_minor: 300 } }]);
  expect(await plan(harness, "config diff", { env })).toEqual([]);
  const shown = await ask(harness, "stores show");
  expect(shown.said).toMatchObject({
    store: { name: "Coffee Shop" },
    prices: [{ ...PRICE, approved: true }],
    return_origins: ["http://localhost:3000"],
    endpoints: 1,
  });
  await sandbox.stop();
  const bytes = harness.readState("sandbox.db");
  const again = await harness.start([], { env });
  expect(again.ready).toMatchObject({ store_id: FIRST, api_key: KEY });
  await again.stop();
  const rows = (text: string): number => text.split("Coffee Shop").length;
  expect(rows(harness.readState("sandbox.db"))).toBe(rows(bytes));
});

test("config diff shows the plan, config apply executes it once, and only --prune removes anything", async () => {
  const harness = createHarness();
  await harness.start();
  const path = save(harness.cwd, { stores: [SHOP] });
  expect((await ask(harness, "config diff")).code).toBe(3);
  const planned = await plan(harness, "config diff");
  expect(planned).toEqual([
    "add store Coffee Shop",
    "add payment_method alipay_plus",
    "add currency EUR",
    "add currency GBP",
    "add price espresso",
    "add return_origin http://localhost:3000",
    "add endpoint http://localhost:3000/hooks",
    "unmanaged store Sandbox Store",
  ]);
  expect(await plan(harness, "config apply")).toEqual(planned);
  expect(JSON.parse(harness.readState("credentials.json"))).toMatchObject({
    stores: { [FIRST]: { name: "Coffee Shop" } },
  });
  const bytes = (): string[] => ["sandbox.db", "sandbox.db-wal"].map((file) => harness.readState(file));
  const before = bytes();
  expect(await plan(harness, "config apply")).toEqual(["unmanaged store Sandbox Store"]);
  expect((await ask(harness, "config diff")).code).toBe(0);
  expect(bytes()).toEqual(before);

  const changed = {
    ...SHOP,
    name: "Coffee House",
    prices: [{ ...PRICE, id: "latte", approved: false }],
    capabilities: { currencies: ["EUR"] },
    return_origins: [],
    endpoints: [{ url: "http://localhost:3000/other" }],
  };
  const sequential = {
    ...SHOP,
    endpoints: [{ url: "http://localhost:3000/hooks", events: ["order.*"], in_order: true }],
  };
  save(harness.cwd, { stores: [sequential] });
  const { said } = await ask(harness, "config diff");
  expect(said).toMatchObject({
    changes: expect.arrayContaining([
      expect.objectContaining({
        action: "change",
        kind: "endpoint",
        differences: [{ field: "in_order", from: false, to: true }],
      }),
    ]) as unknown,
  });
  await plan(harness, "config apply");
  expect((await ask(harness, `endpoints list --store ${FIRST}`)).said).toMatchObject({
    endpoints: [{ in_order: true }],
  });
  save(harness.cwd, { stores: [changed] });
  const kept = [
    "unmanaged price espresso",
    "unmanaged return_origin http://localhost:3000",
    "unmanaged endpoint http://localhost:3000/hooks",
    "unmanaged store Sandbox Store",
  ];
  expect(await plan(harness, "config apply")).toEqual([
    "change store Coffee House",
    "change currency GBP",
    "add price latte",
    "unmanaged price espresso",
    "unmanaged return_origin http://localhost:3000",
    "add endpoint http://localhost:3000/other",
    "unmanaged endpoint http://localhost:3000/hooks",
    "unmanaged store Sandbox Store",
  ]);
  expect(await plan(harness, `config diff --file ${path}`)).toEqual(kept);
  expect(await plan(harness, "config apply --prune")).toEqual(
    kept.map((one, at) => (at < 3 ? one.replace("unmanaged", "remove") : one)),
  );
  expect(await plan(harness, "config diff --prune")).toEqual(["unmanaged store Sandbox Store"]);
});

test("changes of capabilities by a configuration file are in the audit log of an existing store", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  save(harness.cwd, {
    stores: [{ id: ready.store_id, name: "Sandbox Store", capabilities: { currencies: ["EUR", "GBP"] } }],
  });
  await harness.run(["config", "apply"]);
  const { said } = await ask(harness, "admin log");
  const { acts } = said as unknown as {
    readonly acts: readonly { readonly action: string; readonly subject: string; readonly note: string }[];
  };
  expect(acts.map(({ action, subject }) => `${action} ${subject}`).toSorted()).toEqual([
    "disable_capability CNY",
    "disable_capability HKD",
    "disable_capability JPY",
    "disable_capability USD",
    "enable_capability GBP",
  ]);
  for (const { note } of acts) expect(note).toMatch(/\S/);
});

test("approvals and revocations of prices by a configuration file are in the audit log of an existing store", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const { store_id: id } = ready;
  const approvals = async (prices: readonly object[]): Promise<string[]> => {
    save(harness.cwd, { stores: [{ id, name: "Sandbox Store", prices }] });
    const before = (await ask(harness, "admin log")).said as unknown as { readonly acts: readonly object[] };
    expect((await ask(harness, "config apply")).code).toBe(0);
    const { said } = await ask(harness, "admin log");
    const { acts } = said as unknown as {
      readonly acts: readonly Readonly<Record<"actor" | "action" | "subject" | "note", string>>[];
    };
    const added = acts.slice(before.acts.length);
    for (const { actor, note } of added)
      expect([actor, note]).toEqual(["administrator", expect.stringMatching(/\S/)]);
    return added.map(({ action, subject }) => `${action} ${subject}`);
  };
  const latte = { ...PRICE, id: "latte", approved: false };
  expect(await approvals([PRICE, latte])).toEqual(["approve_price espresso"]);
  expect(await approvals([PRICE, latte])).toEqual([]);
  expect(await approvals([{ ...PRICE, description: "strong" }, latte])).toEqual([]);
  expect(await approvals([PRICE, { ...latte, amount_minor: 301 }])).toEqual([]);
  expect(await approvals([{ ...PRICE, amount_minor: 301 }, latte])).toEqual(["approve_price espresso"]);
  expect(
    await approvals([
      { ...PRICE, approved: false },
      { ...latte, approved: true },
    ]),
  ).toEqual(["revoke_price espresso", "approve_price latte"]);
  expect(await approvals([{ ...PRICE, approved: false, retired: true }])).toEqual([]);
  const create = "orders create --order-id order-1 --price-id espresso --json".split(" ");
  expect(JSON.parse((await harness.run(create)).stderr)).toMatchObject({
    error: { message: expect.stringMatching(refusalText("retired_price")) as string },
  });
  // A store that a file creates has its prices from the beginning, like any new store, so its audit log is empty.
  save(harness.cwd, { stores: [SHOP] });
  expect((await ask(harness, "config apply")).code).toBe(0);
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
  expect(database.prepare("SELECT count(*) FROM admin_acts WHERE store_id <> ?").pluck().get(id)).toBe(0);
  database.close();
});

test("the 201st price of a store is refused, whether a configuration file or a command adds the price", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const { store_id: id } = ready;
  const prices = Array.from({ length: 197 }, (_, at) => ({ ...PRICE, id: `price-${at}` }));
  const saveWith = (more: readonly object[]): string =>
    save(harness.cwd, { stores: [{ id, name: "Sandbox Store", prices: [...prices, ...more] }] });
  // With the three prices of a new store the catalog is full.
  saveWith([]);
  expect((await ask(harness, "config apply")).code).toBe(0);
  saveWith([PRICE]);
  const { code, said } = await ask(harness, "config apply");
  expect([code, said]).toMatchObject([
    1,
    {
      field: "stores[0].prices",
      error: {
        message: expect.stringMatching(refusalText("list_too_long", { most: 200, count: 201 })) as string,
      },
    },
  ]);
  const add = "prices add more --amount-minor 1 --currency EUR --payment-method alipay_plus";
  expect((await ask(harness, add)).said).toMatchObject({
    error: { message: expect.stringMatching(refusalText("too_many_prices", { most: 200 })) as string },
  });
  const { stdout } = await harness.run(["config", "export"]);
  save(harness.cwd, stdout);
  expect((await ask(harness, "config diff")).code).toBe(0);
  saveWith([PRICE]);
  expect((await ask(harness, "config apply --prune")).code).toBe(0);
});

test("a value that the sandbox refuses is reported with its line and field in the configuration file, and nothing changes", async () => {
  const harness = createHarness();
  await harness.start();
  const env = { SHOP_KEY: KEY, SHOP_SECRET: SECRET, OTHER: `whsec_${"o".repeat(43)}` };
  const secret = { signing_secret: { env: "SHOP_SECRET" } };
  save(harness.cwd, { stores: [{ ...SHOP, ...secret, api_keys: [{ env: "SHOP_KEY" }] }] });
  expect((await ask(harness, "config apply", { env })).code).toBe(0);
  const before = harness.readState("sandbox.db-wal");
  const origins = Array.from({ length: 20 }, (_, at) => `http://localhost:${4000 + at}`);
  const rows = [
    [
      [SHOP, { ...TEA, api_keys: [{ env: "SHOP_KEY" }] }],
      "stores[1].api_keys[0]",
      refusalText("key_of_other_store"),
    ],
    [
      [{ ...SHOP, name: "Newer", signing_secret: { env: "OTHER" } }],
      "stores[0].signing_secret",
      refusalText("secret_fixed"),
    ],
    [
      [{ ...SHOP, name: "Newer", return_origins: origins }],
      "stores[0].return_origins",
      refusalText("list_too_long", { count: 21 }),
    ],
    [
      [TEA, { ...SHOP, endpoints: [{ url: "http://shop.example/" }] }],
      "stores[1].endpoints[0].url",
      refusalText("target_not_local"),
    ],
  ] as const;
  for (const [stores, field, message] of rows) {
    save(harness.cwd, { stores });
    const { code, said } = await ask(harness, "config apply", { env });
    expect([code, said]).toMatchObject([
      1,
      { field, line: 1, error: { message: expect.stringMatching(message) as string } },
    ]);
  }
  expect(harness.readState("sandbox.db-wal")).toBe(before);
});

test("after two concurrent config apply commands, the sandbox has the complete result of one file", async () => {
  const harness = createHarness();
  await harness.start();
  const shop = (name: string) => ({
    ...SHOP,
    name,
    prices: Array.from({ length: 50 }, (_, at) => ({ ...PRICE, id: `price-${at}`, description: name })),
  });
  const files = ["A", "B"].map((name) => save(harness.cwd, { stores: [shop(name)] }, `${name}.json`));
  for (let round = 0; round < 4; round += 1) {
    const ends = await Promise.all(files.map((file) => ask(harness, `config apply --file ${file}`)));
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    const same = await Promise.all(files.map((file) => ask(harness, `config diff --file ${file}`)));
    expect(new Set(same.map(({ code }) => code))).toEqual(new Set([0, 3]));
  }
});

test("a flag or variable wins over the configuration file, and config diff lists where the running sandbox differs from the file", async () => {
  const harness = createHarness();
  save(harness.cwd, {
    sandbox: {
      rate_limit: "7/s",
      checkout_lifetime: "10m",
      delivery_timeout: "3s",
      allow_targets: ["app"],
      port: 4999,
    },
  });
  const env = { CHECKOUT_SANDBOX_CHECKOUT_LIFETIME: "20m" };
  const sandbox = await harness.start(["--delivery-timeout", "4s"], { env });
  expect(sandbox.ready.base_url).toBe("http://127.0.0.1:4999/v1");
  const { code, said } = await ask(harness, "config diff");
  expect([code, said]).toEqual([
    3,
    expect.objectContaining({
      same: false,
      settings: [
        { field: "sandbox.checkout_lifetime", from: "20m", to: "10m" },
        { field: "sandbox.delivery_timeout", from: "4s", to: "3s" },
      ],
    }),
  ]);
  const exported = await harness.run(["config", "export"]);
  expect(JSON.parse(exported.stdout)).toMatchObject({
    sandbox: { rate_limit: "7/s", checkout_lifetime: "20m", delivery_timeout: "4s", allow_targets: ["app"] },
  });
});

test("config export writes the same file to a terminal and to a pipe", async () => {
  const harness = createHarness();
  save(harness.cwd, { stores: [SHOP, TEA] });
  await harness.start();
  for (const words of ["config export", "config export --json"]) {
    const { stdout } = await harness.run(words.split(" "));
    expect([words, await harness.run(words.split(" "), { terminal: true })]).toMatchObject([
      words,
      { stdout },
    ]);
    expect(stdout.split("\n").length > 40).toBe(!words.endsWith("--json"));
  }
});

/** Each setting with a value that the running sandbox lacks, as an option and in the file; and the sandbox's value. */
const SETTINGS: Readonly<Record<string, readonly [typed: string, inFile: unknown, live: string]>> = {
  port: ["4998", 4998, "4999"],
  rate_limit: ["5/s", "5/s", "1000/s"],
  checkout_lifetime: ["90m", "90m", "1h"],
  delivery_timeout: ["500ms", "500ms", "15s"],
  delivery_schedule: ["0s,1s,90m", ["0s", "1s", "90m"], "0s,5s,5m,30m,2h,5h,10h,10h"],
  deliveries_in_flight: ["3", 3, "8"],
  allow_hosts: ["b.example,a.example:80", ["b.example", "a.example:80"], "none"],
  allow_control_hosts: ["a.example", ["a.example"], "none"],
  allow_targets: ["shop.example", ["shop.example"], "none"],
  listen: ["127.0.0.3,127.0.0.2", ["127.0.0.3", "127.0.0.2"], "none"],
  public_url: ["https://pay.example", "https://pay.example", "none"],
  portal_url: ["https://portal.example", "https://portal.example", "none"],
  kept_requests: ["50", 50, "10000"],
  ca: ["ca.pem", "ca.pem", "none"],
};

test("every setting, given as an option or in the configuration file, is compared with the running sandbox, reported and exported", async () => {
  const { properties } = configJsonSchema() as { properties: { sandbox: { properties: object } } };
  // `like` is compared with the dialect of the first store, which never changes: test/sandbox/dialect.test.ts.
  const names = Object.keys(properties.sandbox.properties).filter((name) => name !== "like");
  expect(Object.keys(SETTINGS).toSorted()).toEqual(names.toSorted());
  const [harness, told] = [createHarness(), createHarness()];
  for (const { cwd } of [harness, told]) writeFileSync(join(cwd, "ca.pem"), CERTIFICATE);
  await harness.start(["--port", "4999"]);
  for (const [field, [typed, inFile, live]] of Object.entries(SETTINGS)) {
    const option = field.replace(/s$/, Array.isArray(inFile) ? "" : "s");
    const expected =
      Array.isArray(inFile) && field !== "delivery_schedule"
        ? inFile.map(String).toSorted().join(",")
        : typed;
    const flag = `--${option.replaceAll("_", "-")}`;
    const refused = [field, 2, { differences: [{ field: option, expected, live }] }];
    save(harness.cwd, {});
    const again = await ask(harness, `sandbox start --reuse ${flag} ${typed}`);
    expect([field, again.code, again.said]).toMatchObject(refused);
    save(harness.cwd, { sandbox: { [field]: inFile } });
    const filed = await ask(harness, "sandbox start --reuse");
    expect([field, filed.code, filed.said]).toMatchObject(refused);
    const differs = [{ field: `sandbox.${field}`, from: live, to: expected }];
    const diff = await ask(harness, "config diff");
    expect([field, diff.code, diff.said]).toMatchObject([field, 3, { settings: differs }]);

    save(told.cwd, { sandbox: { [field]: inFile } });
    const sandbox = await told.start();
    expect([field, (await ask(told, "config diff")).said]).toMatchObject([field, { settings: [] }]);
    const { stdout } = await told.run(["sandbox", "status"]);
    const { sandbox: exported = {} } = JSON.parse((await told.run(["config", "export"])).stdout) as {
      readonly sandbox?: object;
    };
    expect(exported).toEqual(field === "port" ? {} : { [field]: inFile });
    if (field !== "port") expect(stdout.replaceAll(/ +/g, " ")).toContain(` ${field} ${expected}\n`);
    await sandbox.stop();
  }
});

test("a start reports every refused delay of a delivery schedule, and creates no state folder", async () => {
  const harness = createHarness();
  const rows = [
    ["5s,10s", inOrder('"5s"', "0s")],
    ["0s,soon,25h", inOrder('"soon"', '"25h"', "24h")],
    ["", inOrder("0s")],
    ["0s,,5s", inOrder('""', "24h")],
    [`0s${",1s".repeat(20)}`, inOrder("20")],
    ["0s,24h,24h,24h,24h,1s", inOrder("96h", "345601s")],
  ] as const;
  for (const [typed, message] of rows) {
    const { code, stderr } = await harness.run(["sandbox", "start", `--delivery-schedule=${typed}`]);
    expect([typed, code, stderr]).toEqual([typed, 2, expect.stringMatching(message)]);
    if (typed === "") continue;
    const env = { CHECKOUT_SANDBOX_DELIVERY_SCHEDULE: typed };
    const named = await harness.run(["sandbox", "start"], { env });
    expect([named.code, named.stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(named.stderr).toContain("CHECKOUT_SANDBOX_DELIVERY_SCHEDULE");
  }
  expect(existsSync(join(harness.cwd, ".checkout"))).toBe(false);
});

test("config diff and config apply show and set the paths of return origins, and reset a removed path to /", async () => {
  const harness = createHarness();
  const [shop, local] = ["https://shop.example", "http://localhost:3000"];
  const wanted = (origins: readonly unknown[]) =>
    save(harness.cwd, { stores: [{ ...SHOP, return_origins: origins }] });
  wanted([{ origin: shop, path: "/thanks" }, local]);
  await harness.start();
  const listed = async () => (await harness.run(["return-origins", "list"])).stdout;
  expect(await listed()).toBe(`${shop}/thanks\n${local}\n`);
  expect(await plan(harness, "config apply")).toEqual([]);
  wanted([shop, { origin: local, path: "/back" }]);
  const { said } = await ask(harness, "config diff");
  const { changes } = said as unknown as { readonly changes: readonly object[] };
  expect(changes).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: shop, differences: [{ field: "path", from: "/thanks", to: "/" }] }),
      expect.objectContaining({ name: local, differences: [{ field: "path", from: "/", to: "/back" }] }),
    ]),
  );
  expect(await plan(harness, "config apply")).toEqual([
    `change return_origin ${shop}`,
    `change return_origin ${local}`,
  ]);
  expect(await listed()).toBe(`${shop}\n${local}/back\n`);
});

test("CHECKOUT_SANDBOX_CONFIG selects the file for whoami, --target, config and the start", async () => {
  const harness = createHarness();
  const variable = "CHECKOUT_TARGET_STAGING_API_KEY";
  save(harness.cwd, {
    targets: { staging: { base_url: "https://a.example/v1" } },
  });
  const other = save(
    tempFolder(),
    {
      sandbox: { rate_limit: "7/s" },
      targets: { staging: { base_url: "https://b.example/v1" } },
    },
    "other.json",
  );
  const env = { CHECKOUT_SANDBOX_CONFIG: other, [variable]: "key" };
  const config = { value: other, source: "CHECKOUT_SANDBOX_CONFIG" };
  const who = await ask(harness, "whoami --target staging", { env });
  expect(who.said).toMatchObject({ config, base_url: { value: "https://b.example/v1" } });
  expect((await ask(harness, "config validate", { env })).said).toMatchObject({ file: other });
  await harness.start([], { env });
  expect((await ask(harness, "config diff", { env })).said).toMatchObject({ file: other, settings: [] });
  for (const command of ["validate", "diff", "apply"])
    expect((await harness.run(["config", command, "--help"])).stdout).toContain("[CHECKOUT_SANDBOX_CONFIG]");
  const lost = { CHECKOUT_SANDBOX_CONFIG: "lost.json", [variable]: "key" };
  const path = join(harness.cwd, "lost.json");
  expect((await ask(harness, "whoami", { env: lost })).said).toMatchObject({ config: { value: path } });
  for (const words of ["config validate", "whoami --target staging"]) {
    const { code, stderr } = await ask(harness, words, { env: lost });
    expect([words, code, stderr]).toEqual([words, 2, expect.stringMatching(inOrder(path))]);
  }
});

test("a command reports a folder in place of the configuration file", async () => {
  const harness = createHarness();
  symlinkSync(harness.cwd, join(harness.cwd, "link"));
  for (const [words, path] of [
    ["config validate --file .", harness.cwd],
    ["config apply --file .", harness.cwd],
    ["config diff --file link", join(harness.cwd, "link")],
    ["sandbox start --config .", harness.cwd],
  ] as const) {
    const { code, stderr } = await ask(harness, words);
    expect([words, code]).toEqual([words, 2]);
    expect(stderr).toMatch(inOrder(`${path} `, join(path, FILE)));
  }
});

test("every option of sandbox start has a field in the configuration file, or applies only to one machine or one call", async () => {
  const elsewhere = new Set(["config", "dir", "trustFolder", "adopt", "ephemeral", "logFormat", "quiet"]);
  const world = { ...REAL, argv: ["sandbox", "start"] };
  const program = await createProgram({ world, version: "0.0.0", exit: () => undefined });
  const start = program.commands.find((one) => one.name() === "sandbox")?.commands[0];
  const settings = (start?.options ?? []).filter((option) => environmentVariableOf(option) !== undefined);
  const { properties } = configJsonSchema() as {
    properties: { sandbox: { properties: Record<string, { type: string }> } };
  };
  const fields = Object.entries(properties.sandbox.properties).map(([name, { type }]) =>
    name.replace(/s$/, type === "array" ? "" : "s").replaceAll("_", "-"),
  );
  expect(
    settings
      .filter((option) => !elsewhere.has(option.attributeName()))
      .map((option) => option.name())
      .toSorted(),
  ).toEqual(fields.toSorted());
});

test("--target takes the address and the timeouts from the configuration file, and sends the target's key to no other service", async () => {
  const harness = createHarness();
  const sent: [string, string | undefined][] = [];
  harness.setFault((request) => {
    sent.push([request.url, request.headers["Authorization"]]);
    return Promise.resolve({ ok: false, failure: "unreachable", message: "no" });
  });
  save(harness.cwd, {
    targets: {
      staging: {
        base_url: "https://pay.example/v1/",
        store_id: FIRST,
        retries: 0,
        timeout: "2s",
      },
      live: { base_url: "https://live.example/v1" },
    },
  });
  const env = { CHECKOUT_TARGET_STAGING_API_KEY: "staging-key", CHECKOUT_API_KEY: "other-key" };
  const who = await ask(harness, "whoami --target staging", { env });
  expect(who.said).toMatchObject({
    base_url: {
      value: "https://pay.example/v1",
      source: expect.stringMatching(inOrder("staging", FILE)) as string,
    },
    api_key: { source: "CHECKOUT_TARGET_STAGING_API_KEY" },
    store_id: { value: FIRST },
    timeout_ms: { value: 2000 },
    retries: { value: 0 },
    config: { value: join(harness.cwd, FILE) },
  });
  const get = `sessions get ${FIRST}`;
  for (const [words, more] of [
    [`${get} --target staging`, {}],
    [get, { CHECKOUT_TARGET: "staging" }],
    [`${get} --target staging`, { CHECKOUT_BASE_URL: "http://127.0.0.1:9/v1" }],
    [`${get} --retries 0 --base-url http://127.0.0.1:9/v1`, { CHECKOUT_TARGET: "staging" }],
  ] as const)
    expect((await ask(harness, words, { env: { ...env, ...more } })).code).toBe(7);
  const url = `https://pay.example/v1/checkout-sessions/${FIRST}`;
  expect(sent).toEqual([
    ...Array.from({ length: 3 }, () => [url, "Bearer staging-key"]),
    [`http://127.0.0.1:9/v1/checkout-sessions/${FIRST}`, "Bearer other-key"],
  ]);
  sent.length = 0;
  const refused = [
    [`${get} --target stagin`, env, 2, inOrder('\\"stagin\\"', "staging, live", FILE)],
    [
      `${get} --target staging`,
      {},
      4,
      /"credential_missing".*:1:\d+: targets\.staging: .*CHECKOUT_TARGET_STAGING_API_KEY.*"next":.*CHECKOUT_TARGET_STAGING_API_KEY/,
    ],
    [
      `${get} --target staging --base-url http://127.0.0.1:9/v1`,
      env,
      2,
      inOrder('"usage"', "--target", "--base-url"),
    ],
    [
      get,
      { ...env, CHECKOUT_TARGET: "staging", CHECKOUT_BASE_URL: "http://127.0.0.1:9/v1" },
      2,
      inOrder('"usage"', "CHECKOUT_TARGET", "CHECKOUT_BASE_URL"),
    ],
  ] as const;
  for (const [words, given, code, message] of refused) {
    const ended = await ask(harness, words, { env: given });
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(message)]);
  }
  expect(sent).toEqual([]);
  const lost = await ask(harness, "orders create --order-id o-1 --price-id p-1 --target staging", { env });
  expect(lost.stderr).toContain("--target staging");
});

const LIVE_KEY_VARIABLE = "CHECKOUT_TARGET_LIVE_API_KEY";

test("a target's missing fields have defaults, a flag wins over the target's fields, and --target needs a configuration file", async () => {
  const harness = createHarness();
  const whoami = (words: string, env: Readonly<Record<string, string>> = {}) =>
    ask(harness, `whoami --target live${words}`, { env: { [LIVE_KEY_VARIABLE]: "live-key", ...env } });
  const without = await whoami("");
  expect([without.code, without.stderr]).toEqual([
    2,
    expect.stringMatching(inOrder(FILE, '\\"live\\"', "--base-url")),
  ]);
  save(harness.cwd, {});
  expect((await whoami("")).stderr).toMatch(inOrder(`${FILE} `, '\\"live\\"'));
  save(harness.cwd, {
    targets: { live: { base_url: "https://live.example/v1" } },
  });
  const other = { CHECKOUT_STORE_ID: SECOND };
  expect((await whoami("", other)).said).toMatchObject({
    store_id: { value: null },
    dir: { source: "default" },
    timeout_ms: { value: 10_000, source: "default" },
    retries: { value: 5, source: "default" },
  });
  const flagged = await whoami(
    ` --store ${FIRST} --timeout 3s --retries 1 --dir ${join(harness.cwd, "state")}`,
    other,
  );
  expect(flagged.said).toMatchObject({
    store_id: { value: FIRST, source: "--store" },
    dir: { value: join(harness.cwd, "state"), source: "--dir" },
    timeout_ms: { value: 3000, source: "--timeout" },
    retries: { value: 1, source: "--retries" },
  });
  const proxied = await whoami("", { HTTPS_PROXY: "ftp://proxy.example" });
  expect([proxied.code, proxied.stderr]).toEqual([2, expect.stringContaining("HTTPS_PROXY ")]);
});

test("a managed idempotency key depends on the store and the service's address, but only on the store if it is a named store on this machine", async () => {
  const harness = createHarness();
  const keys: (string | undefined)[] = [];
  harness.setFault((request) => {
    keys.push(request.headers["Idempotency-Key"]);
    return Promise.resolve({ ok: false, failure: "unreachable", message: "no" });
  });
  const [here, there] = ["http://127.0.0.1:9/v1", "https://pay.example/v1"];
  const rows = [
    ["shop", here, FIRST, LOCAL_SANDBOX_SERVICE],
    ["any", here, undefined, here],
    ["pay", there, FIRST, there],
  ] as const;
  const targets = rows.map(
    ([name, url, store_id]) => [name, { base_url: url, store_id, retries: 0 }] as const,
  );
  save(harness.cwd, { targets: Object.fromEntries(targets) });
  for (const [name] of rows) {
    const create = `orders create --order-id o-1 --price-id p-1 --target ${name}`;
    const variable = targetVariable(name);
    expect((await ask(harness, create, { env: { [variable]: "live-key" } })).code).toBe(7);
  }
  const once = { endpoint: "orders", orderId: "o-1", attempt: 1 };
  expect(keys).toEqual(
    rows.map(([, , storeId = null, service]) => deriveIdempotencyKey({ ...once, storeId, service })),
  );
});

test("two projects of one repository can run at the same time on default ports without being mixed up", async () => {
  const harness = createHarness();
  await harness.start();
  const projects = ["coffee", "tea"].map((name) => {
    const folder = join(harness.cwd, "packages", name, "src");
    mkdirSync(folder, { recursive: true });
    const id = name === "coffee" ? FIRST : SECOND;
    save(join(folder, ".."), { stores: [{ ...SHOP, id, name }] });
    return { name, id, folder };
  });
  const ports = new Set<string>();
  for (const { id, folder } of projects) {
    const { ready } = await harness.start([], { cwd: folder });
    ports.add(ready.base_url);
    expect(ready).toMatchObject({ store_id: id, data_dir: join(folder, "../.checkout") });
  }
  expect(ports.size).toBe(2);
  for (const { id, name, folder } of projects) {
    const who = await ask(harness, "whoami", { cwd: folder });
    expect(who.said).toMatchObject({
      config: { value: join(folder, "..", FILE) },
      dir: { value: join(folder, "../.checkout") },
      store_id: { value: id },
    });
    expect(await plan(harness, "config diff", { cwd: folder })).toEqual([]);
    expect((await ask(harness, "stores show", { cwd: folder })).said).toMatchObject({ store: { id, name } });
  }
  expect((await ask(harness, "whoami")).said).toMatchObject({
    config: { value: null },
    dir: { value: join(harness.cwd, ".checkout") },
  });
});

test("the control API accepts a configuration that is larger than the limit for all other request bodies", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandboxHere({ cwd });
  const prices = Array.from({ length: 100 }, (_, at) => ({
    ...PRICE,
    id: `price-${at}`,
    description: "x".repeat(100),
  }));
  const stores = Array.from({ length: 8 }, (_, at) => ({
    ...SHOP,
    id: FIRST.slice(0, -1) + at,
    name: `Shop ${at}`,
    prices,
  }));
  save(cwd, { stores });
  const applied = await runHere(["config", "apply", "--json"], { cwd });
  const { changes } = JSON.parse(applied.stdout) as { readonly changes: readonly Entry[] };
  const added = changes.filter(({ action }) => action === "add");
  expect([applied.code, added.length, changes.length]).toEqual([0, 848, 849]);
  const { control_token: token } = JSON.parse(readFileSync(join(cwd, ".checkout/run.json"), "utf8")) as {
    control_token: string;
  };
  for (const [path, bytes] of [
    ["/__sandbox/config?", 20_000],
    ["/__sandbox/config", 2_100_000],
    ["/__sandbox/stores/default/endpoints", 20_000],
  ] as const) {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const sent = { method: "POST", headers, body: " ".repeat(bytes) };
    const { status } = await fetch(`http://127.0.0.1:${sandbox.port}${path}`, sent);
    expect([path, status]).toEqual([path, 413]);
  }
  await sandbox.stop();
  const again = await launchHere(["sandbox", "start", "--port", "0", "--quiet"], { cwd });
  expect(again.output.stderr).not.toContain(`${FILE}: `);
});

test("another user's configuration file is refused unless it is named or its folder is trusted", async () => {
  const { findNearestConfig, findConfig } = await import("../../src/host/config/find.ts");
  const folder = tempFolder();
  const path = save(folder, {});
  const { files } = REAL;
  const stat: typeof files.stat = (at) => {
    const facts = files.stat(at);
    return facts && { ...facts, isOwn: false };
  };
  const world = { cwd: folder, files: { ...files, stat }, env: {} };
  expect(findNearestConfig(world)).toBe(path);
  expect(findConfig(world, {})).toMatchObject({ ok: false, refusal: { code: "config_refused" } });
  for (const options of [{ config: FILE }, { trustFolder: true }])
    expect(findConfig(world, options)).toEqual({ ok: true, value: path });
});

const words = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 20 });
const currencies = fc.uniqueArray(fc.constantFrom("EUR", "CNY", "JPY", "GBP", "CHF"), { maxLength: 4 });
const store = fc.record(
  {
    merchant: fc.record({
      id: fc.constantFrom(...[1, 2].map((at) => `11111111-0000-4000-8000-00000000000${at}`)),
    }),
    prices: fc.uniqueArray(
      fc.record({
        id: words,
        amount_minor: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        currency: fc.constantFrom("EUR", "KWD"),
        payment_method: fc.constantFrom("alipay_plus", "wechat_pay"),
        description: words,
        approved: fc.boolean(),
        billing_model: fc.constant("one_time"),
        retired: fc.boolean(),
      }),
      { selector: ({ id }) => id, maxLength: 5 },
    ),
    capabilities: fc.record({
      payment_methods: fc.uniqueArray(fc.constantFrom("alipay_plus", "wechat_pay")),
      currencies,
    }),
    return_origins: fc.uniqueArray(
      fc
        .tuple(fc.integer({ min: 3000, max: 3009 }), fc.constantFrom("", "/thanks", "/back"))
        .map(([port, path]) => {
          const origin = `http://localhost:${port}`;
          return path === "" ? origin : { origin, path };
        }),
      { selector: (one) => (typeof one === "string" ? one : one.origin) },
    ),
    endpoints: fc.uniqueArray(
      fc.record({
        url: fc.integer({ min: 3000, max: 3009 }).map((port) => `http://localhost:${port}/hooks`),
        events: fc.uniqueArray(fc.constantFrom("order.*", "order.succeeded", "checkout_session.created"), {
          minLength: 1,
        }),
        in_order: fc.boolean(),
      }),
      { selector: ({ url }) => url },
    ),
  },
  { requiredKeys: [] },
);
const config = fc.array(store, { minLength: 1, maxLength: 3 }).map((stores) => ({
  stores: stores.map((one, at) =>
    Object.assign(one, { id: `22222222-0000-4000-8000-00000000000${at}`, name: `Shop ${at}` }),
  ),
}));

type ExportedStore = Readonly<Record<string, unknown>>;

/** Optional fields of a file, and their defaults. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  approved: true,
  billing_model: "one_time",
  in_order: false,
  retired: false,
};

/** The content of a file, sorted, and without fields that have their defaults. */
function normalised(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .map(normalised)
      .toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  if (typeof value !== "object" || value === null) return value;
  const isDefault = (name: string, field: unknown): boolean =>
    Object.hasOwn(DEFAULTS, name) && DEFAULTS[name] === field;
  const entries = Object.entries(value).filter(([name, field]) => !isDefault(name, field));
  return Object.fromEntries(
    entries
      .map(([name, field]) => [name, normalised(field)] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

test("an export of many stores, some with the same name, is valid and has no differences from the sandbox", async () => {
  const harness = createHarness();
  const ids = Array.from(
    { length: 60 },
    (_, at) => `0199a3c4-5d00-7000-8000-${String(at).padStart(12, "0")}`,
  );
  save(harness.cwd, { stores: ids.map((id, at) => ({ id, name: `Shop ${at % 30}` })) });
  await harness.start();
  const { code, stdout } = await harness.run(["config", "export"]);
  save(harness.cwd, stdout);
  expect([code, (await ask(harness, "config validate")).code]).toEqual([0, 0]);
  expect((await ask(harness, "config diff")).code).toBe(0);
});

test("an export that exceeds the limits of a configuration file is refused with the limit", async () => {
  const harness = createHarness();
  await harness.start();
  const rows = [
    [1001, 1, refusalText("too_many_stores_for_file", { most: 1000, count: 1001 })],
    [60, 66, refusalText("file_too_large", { most: 2_000_000 })],
  ] as const;
  for (const [count, times, message] of rows) {
    harness.setFault(async ({ url }, deliver) => {
      const result = await deliver();
      if (!result.ok || !url.endsWith("/config")) return result;
      const { data, ...rest } = JSON.parse(result.body) as {
        readonly data: { readonly stores: [typeof SHOP] };
      };
      const [{ prices, ...shop }] = data.stores;
      // Descriptions of the maximum length.
      const long = prices.map((price) => Object.assign({}, price, { description: "x".repeat(128) }));
      const priced = { ...shop, prices: Array.from({ length: times }, () => long).flat() };
      const stores = Array.from({ length: count }, () => priced);
      return { ...result, body: JSON.stringify({ ...rest, data: { ...data, stores } }) };
    });
    const { code, said } = await ask(harness, "config export");
    expect([code, said]).toMatchObject([
      1,
      {
        error: {
          message: expect.stringMatching(message) as string,
        },
      },
    ]);
  }
});

test("config diff finds no difference after config apply --prune of any file, or after another sandbox has started with the export", async () => {
  const check = fc.asyncProperty(config, config, async (first, second) => {
    const [harness, other] = [createHarness(), createHarness()];
    save(harness.cwd, first);
    const sandbox = await harness.start();
    for (const wanted of [first, second]) {
      save(harness.cwd, wanted);
      const applied = await ask(harness, "config apply --prune");
      // A store keeps its merchant, but the second file may name another merchant.
      if (applied.code !== 0) {
        expect(applied.stderr).toMatch(refusalText("merchant_fixed"));
        break;
      }
      expect((await ask(harness, "config diff --prune")).code).toBe(0);
      const bytes = harness.readState("sandbox.db-wal");
      expect(
        (await plan(harness, "config apply --prune")).filter((one) => !one.startsWith("unmanaged")),
      ).toEqual([]);
      expect(harness.readState("sandbox.db-wal")).toBe(bytes);
      const { stdout } = await harness.run(["config", "export"]);
      const exported = JSON.parse(stdout) as { readonly stores: readonly ExportedStore[] };
      for (const [at, shop] of wanted.stores.entries()) {
        const { merchant: _merchant, ...said } = shop;
        const shown = exported.stores.find(({ id }) => id === shop.id) ?? {};
        const there = Object.fromEntries(Object.keys(said).map((name) => [name, shown[name]]));
        expect([at, normalised(there)]).toEqual([at, normalised(said)]);
      }
      save(other.cwd, stdout, "exported.json");
    }
    const twin = await other.start(["--config", "exported.json"]);
    expect((await ask(other, "config diff --file exported.json --prune")).code).toBe(0);
    await Promise.all([sandbox.stop(), twin.stop()]);
  });
  await fc.assert(check, { seed: SEED, numRuns: size(5, 500) });
});
