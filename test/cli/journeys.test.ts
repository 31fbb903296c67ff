import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHarness } from "../support/harness.ts";

const ORDER = [
  "orders",
  "create",
  "--order-id",
  "order-1001",
  "--currency",
  "EUR",
  "--payment-method",
  "alipay_plus",
];
const create = (...more: string[]): string[] => [...ORDER, "--amount-minor", "1999", ...more];

test("a merchant's first minutes: start, create, get", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  expect(ready).toMatchObject({ event: "ready", base_url: "http://127.0.0.1:4242/v1", ephemeral: false });

  const created = await harness.run(create());
  expect(created).toMatchObject({ code: 0, stderr: "" });
  expect(created.stdout).toContain("✓ order created");
  expect(created.stdout).toMatch(/amount +19\.99 EUR/);
  const id = /\bid +(\S+)/.exec(created.stdout)?.[1] ?? "";

  const got = await harness.run(["sessions", "get", id, "--json"]);
  expect(got.code).toBe(0);
  expect(JSON.parse(got.stdout)).toMatchObject({
    ok: true,
    data: {
      id,
      object: "order",
      order_id: "order-1001",
      amount_minor: 1999,
      status: "created",
      livemode: false,
    },
  });
});

test("a repeated create prints the same order, and another amount is a conflict", async () => {
  const harness = createHarness();
  await harness.start();
  const first = JSON.parse((await harness.run(create("--json"))).stdout) as Record<string, unknown>;
  const again = JSON.parse((await harness.run(create("--json"))).stdout) as Record<string, unknown>;
  expect(first["replayed"]).toBe(false);
  expect(again).toEqual({ ...first, replayed: true });

  const other = await harness.run([...ORDER, "--amount-minor", "2999"]);
  expect(other.code).toBe(5);
  expect(other.stdout).toBe("");
  expect(other.stderr).toContain("idempotency_key_reused");
  expect(other.stderr).toContain("another --order-id");
});

test("a refused --new-attempt does not change the key of the plain command", async () => {
  const harness = createHarness();
  await harness.start();
  const first = JSON.parse((await harness.run(create("--json"))).stdout) as { data: { id: string } };
  const attempt = await harness.run(create("--new-attempt", "--json"));
  expect(attempt.code).toBe(5);
  expect(JSON.parse(attempt.stderr)).toMatchObject({ error: { code: "order_conflict" }, exit_code: 5 });
  const again = JSON.parse((await harness.run(create("--json"))).stdout) as { data: { id: string } };
  expect(again.data.id).toBe(first.data.id);
});

test("orders survive a stop, a moved port and a lost journal", async () => {
  const harness = createHarness();
  const before = await harness.start();
  const first = JSON.parse((await harness.run(create("--json"))).stdout) as { data: { id: string } };
  expect(await before.stop()).toMatchObject({ code: 0 });

  harness.occupy(4242);
  const after = await harness.start();
  expect(after.ready).toMatchObject({
    base_url: "http://127.0.0.1:4243/v1",
    store_id: before.ready.store_id,
    api_key: before.ready.api_key,
    signing_secret: before.ready.signing_secret,
  });
  const again = JSON.parse((await harness.run(create("--json"))).stdout) as { data: { id: string } };
  expect(again.data.id).toBe(first.data.id);

  const elsewhere = await harness.run(create("--json"), {
    cwd: join(harness.cwd, ".checkout"),
    env: { CHECKOUT_DIR: join(harness.cwd, ".checkout") },
  });
  expect((JSON.parse(elsewhere.stdout) as { data: { id: string } }).data.id).toBe(first.data.id);
});

test("the order of a lost answer is found by the same run and by a later run", async () => {
  const harness = createHarness();
  await harness.start();
  let losses = 2;
  harness.setFault(async (_request, deliver) => {
    const answer = await deliver();
    losses -= 1;
    return losses >= 0 ? { ok: false, failure: "connection_lost", message: "socket hang up" } : answer;
  });
  const recovered = await harness.run(create("--json"));
  expect(recovered.stderr).toBe("");
  expect(JSON.parse(recovered.stdout)).toMatchObject({ replayed: true, tries: 3 });

  harness.setFault(async (_request, deliver) => {
    await deliver();
    return { ok: false, failure: "timeout", message: "no whole answer within 10000 ms" };
  });
  const lost = await harness.run([...create("--json", "--retries", "1"), "--order-id", "order-1002"]);
  expect(lost.code).toBe(7);
  const problem = JSON.parse(lost.stderr) as {
    next: string;
    idempotency_key: string;
    error: { code: string };
  };
  expect(problem.error.code).toBe("outcome_unknown");

  harness.setFault((_request, deliver) => deliver());
  const resume = problem.next.split(" ").slice(1);
  expect(resume).toContain("--store");
  expect(resume).not.toContain("--base-url");
  const resumed = await harness.run([...resume, "--json"]);
  expect(JSON.parse(resumed.stdout)).toMatchObject({
    replayed: true,
    idempotency_key: problem.idempotency_key,
  });
});

test("secrets are in files of mode 0600, hashed in the database and redacted on stderr", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const apiKey = ready.api_key ?? "";
  const folder = join(harness.cwd, ".checkout");
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  await harness.run(create());
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
  const shown = await harness.run(create("--show-headers"));
  const who = await harness.run(["whoami"]);
  expect(shown.stderr).toContain("Authorization: Bearer svc_test_…");
  for (const text of [shown.stdout, shown.stderr, who.stdout]) expect(text).not.toContain(apiKey);
});
