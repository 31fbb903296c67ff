import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHarness } from "../support/harness.ts";

const CREATE =
  "orders create --order-id order-1001 --amount-minor 1999 --currency EUR --payment-method alipay_plus";
type Made = { readonly data: { readonly id: string } };

test("a repeated create returns the same order after a restart on another port, and from another folder", async () => {
  const harness = createHarness();
  const before = await harness.start();
  const first = await harness.ask<Made>(CREATE);
  expect(await before.stop()).toMatchObject({ code: 0 });

  harness.occupy(4242);
  const after = await harness.start();
  expect(after.ready).toMatchObject({
    base_url: "http://127.0.0.1:4243/v1",
    store_id: before.ready.store_id,
    api_key: before.ready.api_key,
    signing_secret: before.ready.signing_secret,
  });
  expect((await harness.ask<Made>(CREATE)).data.id).toBe(first.data.id);

  const folder = join(harness.cwd, ".checkout");
  const elsewhere = await harness.ask<Made>(CREATE, { cwd: folder, env: { CHECKOUT_DIR: folder } });
  expect(elsewhere.data.id).toBe(first.data.id);
});

test("state files have mode 0600, and secrets are neither in the databases nor in the output", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const apiKey = ready.api_key ?? "";
  const folder = join(harness.cwd, ".checkout");
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  await harness.run(CREATE.split(" "));
  for (const file of [
    "sandbox.db",
    "sandbox.db-wal",
    "master.key",
    "credentials.json",
    "run.json",
    "journal.db",
  ]) {
    expect([file, statSync(join(folder, file)).mode & 0o777]).toEqual([file, 0o600]);
  }
  expect(readFileSync(join(folder, ".gitignore"), "utf8")).toBe("*\n");
  for (const file of ["sandbox.db", "sandbox.db-wal", "journal.db"]) {
    const bytes = readFileSync(join(folder, file));
    expect([file, bytes.includes(apiKey), bytes.includes(ready.signing_secret)]).toEqual([
      file,
      false,
      false,
    ]);
  }
  const shown = await harness.run([...CREATE.split(" "), "--show-headers"]);
  const who = await harness.run(["whoami"]);
  expect(shown.stderr).toContain("Authorization: Bearer svc_test_…");
  for (const text of [shown.stdout, shown.stderr, who.stdout]) expect(text).not.toContain(apiKey);
});
