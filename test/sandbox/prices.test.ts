import { expect, test } from "vitest";
import { API_KEY_RANDOM_BYTES, formatTestKey } from "../../src/core/credential.ts";
import { createHarness } from "../support/harness.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { inOrder } from "../support/in-order.ts";
import { SECRET_DESCRIPTION } from "../../src/core/text.ts";

const TEA = "--amount-minor 700 --currency EUR --payment-method alipay_plus";

type Said = Readonly<Record<string, unknown>>;
type Refused = { readonly code: string; readonly message: string };

/** A sandbox, and functions that run a command line with `--json` (`type`) and without it (`text`). */
async function openCatalog() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const type = async (line: string, more: readonly string[] = []) => {
    const { code, stdout, stderr } = await harness.run([...line.split(" "), ...more, "--json"]);
    const said = JSON.parse(stdout || stderr) as Said & { readonly error?: Refused; readonly next?: string };
    return { code, said };
  };
  const text = async (line: string): Promise<string> => {
    const { stdout, stderr } = await harness.run(line.split(" "));
    return stdout + stderr;
  };
  const acts = async (): Promise<string[]> => {
    const { said } = await type("admin log");
    const all = said["acts"] as readonly Readonly<Record<"action" | "subject" | "note", string | null>>[];
    return all.map(({ action, subject, note }) => [action, subject, note].join(" | "));
  };
  return { harness, sandbox, type, text, acts };
}

const ADDED = {
  id: "tea",
  description: "",
  amount_minor: 700,
  currency: "EUR",
  payment_method: "alipay_plus",
  billing_model: "one_time",
  approved: true,
  retired: false,
};

test("a price is added once, approved with an audit row, and used by orders", async () => {
  const { type, text, acts } = await openCatalog();
  const add = `prices add tea ${TEA}`;
  expect(await type(add)).toEqual({ code: 0, said: { ...ADDED, added: true, missing_capabilities: [] } });
  expect(await acts()).toEqual([expect.stringMatching(/^approve_price \| tea \| ./)]);
  expect(await type(add)).toEqual({ code: 0, said: { ...ADDED, added: false, missing_capabilities: [] } });
  expect(await text(add)).toMatch(inOrder("=", "tea", "7.00 EUR"));
  expect(await acts()).toHaveLength(1);
  const { code, said } = await type("orders create --order-id o-1 --price-id tea");
  expect([code, said]).toMatchObject([0, { data: { amount_minor: 700, currency: "EUR" } }]);
  const listed = await type("prices list");
  expect(listed.said["prices"]).toContainEqual(ADDED);
  expect(await text("prices list")).toMatch(/^tea +7\.00 EUR +alipay_plus +yes$/m);
});

test("another price with the same id is a conflict that lists the differences", async () => {
  const { type } = await openCatalog();
  expect((await type(`prices add tea ${TEA}`)).code).toBe(0);
  expect((await type(`prices add mate ${TEA} --unapproved`)).code).toBe(0);
  const rows = [
    ["tea --amount-minor 701 --currency EUR --payment-method alipay_plus", "amount_minor 700, not 701"],
    ["tea --amount-minor 700 --currency JPY --payment-method alipay_plus", 'currency "EUR", not "JPY"'],
    [
      "tea --amount-minor 700 --currency EUR --payment-method wechat_pay",
      'payment_method "alipay_plus", not "wechat_pay"',
    ],
    [`tea ${TEA} --description green`, 'description "", not "green"'],
    [`mate ${TEA}`, refusalText("price_unapproved", { price: '"mate"' })],
  ] as const;
  const before = await type("prices list");
  for (const [words, message] of rows) {
    const { code, said } = await type(`prices add ${words}`);
    expect([words, code, said.error]).toEqual([
      words,
      5,
      { code: "state_conflict", message: expect.stringMatching(message) as string },
    ]);
    expect(said.next).toContain("checkout prices list");
  }
  // An existing price, approved or not, satisfies --unapproved.
  for (const line of [`prices add mate ${TEA} --unapproved`, `prices add tea ${TEA} --unapproved`])
    expect([line, await type(line)]).toMatchObject([line, { code: 0, said: { added: false } }]);
  expect((await type("prices retire tea")).code).toBe(0);
  const { code, said } = await type(`prices add tea ${TEA}`);
  expect([code, said.error?.message]).toEqual([5, expect.stringMatching(refusalText("price_id_retired"))]);
  const after = (await type("prices list")).said["prices"] as readonly Said[];
  expect(after.filter(({ id }) => id !== "tea")).toEqual(
    (before.said["prices"] as readonly Said[]).filter(({ id }) => id !== "tea"),
  );
  expect(after).toContainEqual({ ...ADDED, retired: true });
});

test("the refusal of an unusable price names the cause and the remedy, and a create is replayed even if its price was retired", async () => {
  const { sandbox, type } = await openCatalog();
  expect((await type(`prices add unseen ${TEA} --unapproved`)).code).toBe(0);
  const create = async (priceId: string, key: string) => {
    const { status, body } = await sandbox.request({
      method: "POST",
      path: "/v1/orders",
      headers: { "Content-Type": "application/json", "Idempotency-Key": key },
      body: JSON.stringify({ order_id: key, price_id: priceId }),
    });
    return { status, body: JSON.parse(String(body)) as { readonly error?: Refused } };
  };
  const first = await create("price_coffee", "before-it-is-retired");
  expect(first.status).toBe(201);
  expect((await type("prices retire price_coffee")).code).toBe(0);
  expect(await create("price_coffee", "before-it-is-retired")).toEqual(first);
  const rows = [
    ["price_of_nothing", "unknown_price"],
    ["__proto__", "unknown_price"],
    ["unseen", "unapproved_price"],
    ["price_coffee", "retired_price"],
  ] as const;
  for (const [priceId, fact] of rows) {
    const { status, body } = await create(priceId, `a-new-purchase-${priceId}`);
    expect([priceId, status, body.error?.code]).toEqual([priceId, 400, "invalid_parameter"]);
    expect(body.error?.message).toMatch(refusalText(fact, { price: JSON.stringify(priceId) }));
  }
});

test("approve-price and revoke-price change whether orders can use a price, each with an audit row", async () => {
  const { harness, text, acts } = await openCatalog();
  expect(await text(`prices add tea ${TEA} --unapproved`)).toContain("checkout admin approve-price <id>");
  expect(await acts()).toEqual([]);
  const order = "orders create --order-id o-1 --price-id tea";
  const rows = [
    [order, 1, refusalText("unapproved_price")],
    ["admin approve-price tea --note checked", 0, "tea"],
    ["admin approve-price tea", 5, refusalText("price_is_approved")],
    ["admin approve-price coffee", 1, "checkout prices list"],
    [order, 0, "o-1"],
    ["admin revoke-price tea", 0, "tea"],
    ["admin revoke-price tea", 5, refusalText("price_is_not_approved")],
    ["orders create --order-id o-2 --price-id tea", 1, refusalText("unapproved_price")],
    ["prices retire tea", 0, "tea"],
    ["admin approve-price tea", 5, refusalText("price_retired")],
    ["prices retire tea", 0, "tea"],
    ["prices retire coffee", 1, refusalText("no_price")],
  ] as const;
  for (const [line, code, said] of rows) {
    const done = await harness.run(line.split(" "));
    expect([line, done.code, done.stdout + done.stderr]).toEqual([line, code, expect.stringMatching(said)]);
  }
  expect(await acts()).toEqual(["approve_price | tea | checked", "revoke_price | tea | "]);
});

test("a price with a payment method or currency that the store lacks is added with a warning", async () => {
  const { type, text } = await openCatalog();
  await type("admin disable-capability wechat_pay");
  const add = "prices add pound --amount-minor 5 --currency GBP --payment-method wechat_pay";
  const { code, said } = await type(add);
  expect([code, said]).toMatchObject([0, { added: true, missing_capabilities: ["wechat_pay", "GBP"] }]);
  expect(await text(add)).toMatch(inOrder("wechat_pay", "GBP", "checkout capabilities list"));
});

test("prices add with an invalid price exits with 2 and reports the field, even if no sandbox runs", async () => {
  const harness = createHarness();
  const secret = formatTestKey(Buffer.alloc(API_KEY_RANDOM_BYTES, 9));
  const rows = [
    [["tea"], "--amount-minor, --currency, --payment-method"],
    [["tea", "--amount-minor", "19.99"], "19.99 EUR", "1999", '"19.99"'],
    [["tea", "--amount-minor", "0"], "--amount-minor", "1"],
    [["tea", "--currency", "euro"], "EUR", '"euro"'],
    [["tea", "--payment-method", "cash"], "alipay_plus", "wechat_pay", '"cash"'],
    [["tea", "--description", "x".repeat(129)], "128"],
    [["tea", "--description", secret], SECRET_DESCRIPTION],
    [["", ...TEA.split(" ")], "64"],
    [["p".repeat(65), ...TEA.split(" ")], "64"],
    [[secret, ...TEA.split(" ")], SECRET_DESCRIPTION],
  ] as const;
  for (const [words, ...values] of rows) {
    const { code, stdout, stderr } = await harness.run(["prices", "add", ...words]);
    expect([words, code, stdout]).toEqual([words, 2, ""]);
    expect(stderr).toMatch(inOrder(...values));
    expect(stderr).not.toContain(secret.slice(12, 24));
  }
});

test("the control API refuses a price with a secret, and does not repeat it", async () => {
  const { harness, sandbox } = await openCatalog();
  const secret = formatTestKey(Buffer.alloc(API_KEY_RANDOM_BYTES, 9));
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const price = { id: "tea", amount_minor: 700, currency: "EUR", payment_method: "alipay_plus" };
  const store = { id: sandbox.ready.store_id, name: "Sandbox Store" };
  const bodies = [{ id: secret }, { description: `for ${secret}` }].flatMap((change) => [
    ["stores/default/prices", { ...price, ...change }] as const,
    ["config", { stores: [{ ...store, prices: [{ ...price, ...change }] }] }] as const,
  ]);
  for (const [path, request] of bodies) {
    const headers = { Authorization: `Bearer ${token}` };
    const sent = { method: "POST", path: `/__sandbox/${path}`, headers, body: JSON.stringify(request) };
    const { status, body } = await sandbox.request(sent);
    expect([path, status]).toEqual([path, 400]);
    expect(String(body)).toContain(SECRET_DESCRIPTION);
    expect(String(body)).not.toContain(secret.slice(12, 24));
  }
});

test("a price id is looked up in the caller's store", async () => {
  const { type } = await openCatalog();
  expect((await type("stores create --name second")).code).toBe(0);
  expect((await type(`prices add tea ${TEA}`)).code).toBe(0);
  const dear = "--amount-minor 900 --currency EUR --payment-method alipay_plus --store second";
  expect((await type(`prices add tea ${dear}`)).code).toBe(0);
  const first = await type("orders create --order-id o-1 --price-id tea");
  expect(first.said).toMatchObject({ data: { amount_minor: 700 } });
  const second = await type("orders create --order-id o-1 --price-id tea --store second");
  expect(second.said).toMatchObject({ data: { amount_minor: 900 } });
  expect((await type(`prices add mate ${TEA}`)).code).toBe(0);
  const foreign = await type("orders create --order-id o-2 --price-id mate --store second");
  expect(foreign.said.error?.code).toBe("invalid_parameter");
});
