import { writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createHarness, type Harness } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalMessage } from "../support/refusal-texts.ts";

async function ask(harness: Harness, command: string) {
  const { code, stdout, stderr } = await harness.run(command.split(" "));
  return { code, said: stdout + stderr };
}

async function askJson<Fields>(harness: Harness, command: string): Promise<Fields> {
  return JSON.parse((await ask(harness, `${command} --json`)).said) as Fields;
}

/**
 * A sandbox in which another program has changed all secrets of the second store, including the secret of an endpoint.
 * The start checks only the secret of the first store.
 */
async function withUnreadableSecrets() {
  const harness = createHarness();
  const before = await harness.start();
  const { store_id: store } = await askJson<{ store_id: string }>(harness, "stores create --name Tea");
  const added = "endpoints add http://127.0.0.1:9/hooks --store Tea";
  const { id: endpoint } = await askJson<{ id: string }>(harness, added);
  await ask(harness, "orders create --order-id order-1 --price-id price_coffee --store Tea");
  await ask(harness, `endpoints rotate-secret ${endpoint} --store Tea`);
  const listed = await askJson<{ deliveries: { id: string }[] }>(harness, "deliveries list --store Tea");
  await before.stop();
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  const change = "UPDATE signing_secrets SET sealed = randomblob(length(sealed)) WHERE store_id = ?";
  database.prepare(change).run(store);
  database.close();
  const sandbox = await harness.start();
  return { harness, sandbox, store, endpoint, delivery: listed.deliveries[0]?.id ?? "" };
}

/** The refusal of a secret that cannot be decrypted names its store, and the files to restore. */
const refusalOf = (store: string): RegExp => inOrder(store, "master.key", "sandbox.db");

test("every command that needs an undecryptable secret says which secret, with cause and remedy", async () => {
  const { harness, endpoint, store } = await withUnreadableSecrets();
  for (const command of [
    "snapshots create one --store Tea",
    "snapshots create whole --all",
    "env --store Tea",
    `endpoints secret ${endpoint} --store Tea`,
    `endpoints rotate-secret ${endpoint} --store Tea`,
    "endpoints add http://127.0.0.1:10/hooks --store Tea",
    "checklist --store Tea",
    "checklist run webhooks --store Tea",
  ]) {
    const { code, said } = await ask(harness, command);
    expect([command, code, said]).toEqual([command, 5, expect.stringMatching(refusalOf(store))]);
  }
  expect(await askJson(harness, "snapshots list")).toMatchObject({ snapshots: [] });
  const endpoints = await askJson<{ endpoints: unknown[] }>(harness, "endpoints list --store Tea");
  expect(endpoints.endpoints).toHaveLength(1);

  const config = { stores: [{ id: store, name: "Tea", signing_secret: { env: "SECRET" } }] };
  writeFileSync(join(harness.cwd, "checkout.config.json"), JSON.stringify(config));
  const env = { SECRET: `whsec_${"a".repeat(40)}` };
  expect((await harness.run(["config", "apply"], { env })).stderr).toMatch(
    inOrder("signing_secret: ", refusalMessage("secret_unreadable")),
  );
  expect((await ask(harness, "stores delete Tea --yes")).code).toBe(0);
  expect((await ask(harness, "snapshots create whole --all")).code).toBe(0);
});

test("an undecryptable secret is reported on the pages that need it, deliveries wait, and all other work continues", async () => {
  const { harness, sandbox, store, endpoint, delivery } = await withUnreadableSecrets();
  const portal = await signedIn(harness, sandbox);
  for (const page of ["launch", `webhooks/deliveries/${delivery}`, `webhooks/endpoints/${endpoint}`]) {
    const { status, text } = await portal.get(`/portal/${store}/${page}`);
    expect([page, status, text]).toEqual([page, 409, expect.stringMatching(refusalOf(store))]);
  }
  const listed = await askJson<{ deliveries: { state: string }[] }>(harness, "deliveries list --store Tea");
  expect(listed.deliveries.map(({ state }) => state)).toEqual(["due"]);
  const created = "orders create --order-id order-2 --price-id price_coffee --store Tea";
  expect((await ask(harness, created)).code).toBe(0);
  expect((await ask(harness, `endpoints remove ${endpoint} --store Tea`)).code).toBe(0);
});
