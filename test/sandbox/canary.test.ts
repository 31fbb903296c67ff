import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { API_KEY_RANDOM_BYTES, formatTestKey } from "../../src/core/credential.ts";
import { formatSigningSecret, SIGNING_SECRET_BYTES } from "../../src/core/webhook/sealed-secret.ts";
import { redactSecrets } from "../../src/core/text.ts";
import { createHarness } from "../support/harness.ts";
import { SECRET_DESCRIPTION } from "../../src/core/text.ts";

const AMOUNT = { amount_minor: 100, currency: "EUR", payment_method: "wechat_pay" };
const GIVEN = {
  CHECKOUT_SANDBOX_CONTROL_TOKEN: "given-control-token-0123",
  CHECKOUT_SANDBOX_ADMIN_TOKEN: "given-admin-token-4567890",
};

/** A sandbox, and secrets of each kind that a person could paste into a wrong field. */
async function openCanaries(env: Readonly<Record<string, string>> = {}) {
  const harness = createHarness();
  const sandbox = await harness.start([], { env });
  const token = (file: string, field: string): string =>
    (JSON.parse(harness.readState(file)) as Readonly<Record<string, string>>)[field] ?? "";
  const tokens = { control: token("run.json", "control_token"), admin: token("admin.json", "admin_token") };
  const ownKey = sandbox.ready.api_key ?? "";
  const otherKey = formatTestKey(Buffer.alloc(API_KEY_RANDOM_BYTES, 9));
  const canaries = {
    "the API key": ownKey,
    "another API key": otherKey,
    "a live API key": otherKey.replace("svc_test_", "svc_live_"),
    "an API key in upper case": ownKey.toUpperCase(),
    "a signing secret": formatSigningSecret(Buffer.alloc(SIGNING_SECRET_BYTES, 7)),
    "the control token": tokens.control,
    "the admin token": tokens.admin,
  };
  /** Files of the state folder, except JSON files, that contain a text. */
  const kept = (text: string): string[] => {
    const folder = join(harness.cwd, ".checkout");
    return readdirSync(folder).filter(
      (name) => !name.endsWith(".json") && readFileSync(join(folder, name)).includes(text),
    );
  };
  return { harness, sandbox, canaries, kept };
}

/** The three texts of a create that are stored. */
const PLACES = ["Idempotency-Key", "order_id", "description"] as const;
type Place = (typeof PLACES)[number];

function createWith(place: Place, text: string) {
  return {
    path: "/v1/orders",
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "Idempotency-Key": place === "Idempotency-Key" ? text : "a-key-of-its-own",
    },
    body: JSON.stringify({
      order_id: place === "order_id" ? text : "order-1",
      ...AMOUNT,
      ...(place === "description" ? { description: text } : {}),
    }),
  };
}

const FLAGS = {
  "Idempotency-Key": "--idempotency-key",
  order_id: "--order-id",
  description: "--description",
};

test("a secret in the Idempotency-Key, order_id or description of a create is refused, and is not repeated, stored or logged", async () => {
  const { harness, sandbox, canaries, kept } = await openCanaries();
  let checked = 0;
  for (const [what, secret] of Object.entries(canaries)) {
    // An order_id has at most 32 characters, so the first 32 characters of a secret must be refused too.
    for (const text of [secret, `note: ${secret} (mine)`, secret.slice(0, 32)]) {
      for (const place of PLACES) {
        const { status, body } = await sandbox.request(createWith(place, text));
        const at = [what, place, text.length];
        expect([...at, status]).toEqual([...at, 400]);
        const { error } = JSON.parse(String(body)) as { error: { code: string; message: string } };
        const code = place === "Idempotency-Key" ? "idempotency_key_invalid" : "invalid_parameter";
        expect([...at, error.code]).toEqual([...at, code]);
        expect(error.message).toContain(place);
        expect(error.message).toContain(SECRET_DESCRIPTION);
        expect(error.message).not.toContain(secret.slice(12, 24));

        const given = { "--order-id": "order-1", "--price-id": "price_coffee", [FLAGS[place]]: text };
        const typed = ["orders", "create", ...Object.entries(given).flat()];
        const run = await harness.run(typed);
        expect([...at, run.code]).toEqual([...at, 2]);
        expect(run.stderr).toContain(SECRET_DESCRIPTION);
        expect(`${run.stdout}${run.stderr}`).not.toContain(secret.slice(12, 24));
        checked += 1;
      }
    }
    expect([what, kept(secret.slice(12, 24))]).toEqual([what, []]);
    expect([what, redactSecrets(`a ${secret} b`)]).not.toContain(secret.slice(12, 24));
  }
  expect(checked).toBe(63);
  expect(JSON.parse((await harness.run(["idempotency", "list", "--json"])).stdout)).toEqual([]);
  const { stdout, stderr } = await sandbox.stop();
  // Only the ready line may have the key and the control token.
  const rest = stdout.slice(stdout.indexOf("\n"));
  for (const secret of Object.values(canaries))
    expect(`${rest}${stderr}`).not.toContain(secret.slice(12, 24));
});

test("tokens from the environment are refused by value, and redacted in every log", async () => {
  const { harness, sandbox, kept } = await openCanaries(GIVEN);
  const { store_id: storeId, api_key: apiKey } = sandbox.ready;
  const auth = { Authorization: `Bearer ${apiKey}` };
  for (const secret of Object.values(GIVEN)) {
    for (const place of PLACES) {
      const { status, body } = await sandbox.request(createWith(place, `x ${secret}`));
      expect([place, status]).toEqual([place, 400]);
      expect(String(body)).toContain(place);
      expect(String(body)).not.toContain(secret);
      await sandbox.request({
        ...createWith(place, secret),
        headers: { ...auth, "Idempotency-Key": secret },
      });
    }
    for (const path of [`/v1/${secret}`, `/v1/checkout-sessions/x?a=${secret}`, `/pay/${secret}`])
      await sandbox.request({ path, headers: { ...auth, "X-Other": `a ${secret}`, Cookie: secret } });
    for (const authorization of [secret, `Bearer ${secret}`, `${secret} Bearer`])
      await sandbox.request({ path: "/v1/x", headers: { Authorization: authorization } });
  }
  // The list first writes the pending requests to the log.
  const { stdout } = await harness.run(["requests", "list", "--json", "--limit", "1000"]);
  const { requests } = JSON.parse(stdout) as {
    readonly requests: readonly { readonly request_id: string }[];
  };
  const headers = { Authorization: `Bearer ${GIVEN.CHECKOUT_SANDBOX_CONTROL_TOKEN}` };
  const told = await Promise.all(
    requests.flatMap(({ request_id: id }) =>
      [`requests/${id}`, `explain?id=${id}`].map(async (what) => {
        const { status, body } = await sandbox.request({
          path: `/__sandbox/stores/${storeId}/${what}`,
          headers,
        });
        expect(status).toBe(200);
        return String(body);
      }),
    ),
  );
  expect(told).toHaveLength(2 * 2 * 11);
  for (const secret of Object.values(GIVEN)) {
    expect(kept(secret)).toEqual([]);
    expect(`${stdout}${told.join("")}`).not.toContain(secret);
  }
  const { stderr } = await sandbox.stop();
  for (const secret of Object.values(GIVEN)) expect(stderr).not.toContain(secret);
});

test("a text that only resembles a secret is accepted", async () => {
  const { sandbox } = await openCanaries();
  for (const [at, text] of ["svc_test_mode", "whsec_ rotation", "svc_admin_", "my svc_control_x"].entries()) {
    const call = createWith("description", text);
    const body = call.body.replace("order-1", `order-${at}`);
    const headers = { ...call.headers, "Idempotency-Key": `key-of-${text}` };
    expect([text, (await sandbox.request({ ...call, headers, body })).status]).toEqual([text, 201]);
  }
});
