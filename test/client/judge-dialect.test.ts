import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDialect } from "../../src/core/calibration/dialect-section.ts";
import { RECEIVER_CAUSES } from "../../src/core/readiness/drills/webhook-advice.ts";
import { SIGNATURE_FORMS, type Dialect } from "../../src/core/shape/dialect.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import { SEED, size } from "../support/campaign.ts";
import { describedShop } from "../support/described-shop.ts";
import { causesOf } from "../support/drill-site.ts";
import { drawDialect } from "../support/drawn-dialect.ts";
import { createHarness } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";
import { right, type Incoming } from "../support/merchant-receivers.ts";
import { drillWebhooksInMemory } from "../support/webhooks-in-memory.ts";

const OTHER: Dialect = {
  events: { "order.succeeded": "payment.paid", "order.created": "payment.created" },
  event_fields: { event_id: "id", created_at: "occurred_at", data: "object", sequence: null },
  times: "milliseconds",
  headers: { event_id: "X-Svc-Event", timestamp: "X-Svc-Timestamp", signature: "X-Svc-Signature" },
  signature_form: "t=timestamp,v1=hex",
  replay: { status: 200, header: "X-Replayed" },
};
const FIELDS_ALONE: Dialect = { event_fields: { event_id: null, created_at: null, data: "object" } };

function parsed(file: Dialect): Dialect {
  const read = parseDialect(JSON.stringify(file));
  if (!read.ok) throw new Error(read.refusal.message);
  return read.value;
}

/** A receiver that verifies events in a dialect, as docs/verifying.md shows. */
const reading =
  (dialect: Dialect) =>
  ({ rawBody, rawHeaders: headers, secret: secrets, now }: Incoming): number =>
    verifyWebhook({ rawBody, headers, secrets, now, dialect }).ok ? 204 : 400;

const DIALECTS: readonly Dialect[] = [
  OTHER,
  FIELDS_ALONE,
  ...SIGNATURE_FORMS.map((form): Dialect => ({ signature_form: form, times: "seconds" })),
  ...Array.from({ length: size(2, 10) }, (_, at) => drawDialect(SEED + at)),
];

test.each(DIALECTS)("a receiver for the dialect %j passes the webhook drill", async (file) => {
  const report = await drillWebhooksInMemory(reading(file), { consent: true, dialect: parsed(file) });
  expect([causesOf(report), report.passed]).toEqual([{}, true]);
});

test.each([OTHER, FIELDS_ALONE])(
  "a receiver that reads the default names fails in the dialect %j, and the reported cause names the difference",
  async (file) => {
    const report = await drillWebhooksInMemory(right, { consent: true, dialect: parsed(file) });
    const [cause, ...others] = new Set(
      report.drills.flatMap(({ steps }) => steps.flatMap(({ cause: said }) => said ?? [])),
    );
    expect(others).toEqual([]);
    expect(cause).toMatch(inOrder(RECEIVER_CAUSES.default_names("{names}")));
    expect(cause).toContain("data → object");
    expect(cause).toContain(file === OTHER ? "Checkout-Signature → X-Svc-Signature" : "event_id → –");
  },
);

const SHOP = "http://localhost:3000";

/** Judges a shop that reads the names of `dialect`, in a store with the dialect `like`. */
async function judge(dialect: Dialect | undefined, like = OTHER) {
  const harness = createHarness();
  writeFileSync(join(harness.cwd, "like.json"), JSON.stringify(like));
  const sandbox = await harness.start(["--like", "like.json"]);
  const site = { harness, sandbox: () => sandbox, retrieve: () => Promise.reject(new Error("no page asks")) };
  describedShop(site, { ...(dialect && { dialect }) }).open();
  await harness.run(["endpoints", "add", `${SHOP}/hooks`]);
  const view = ["--order-view", `${SHOP}/orders/{order_id}`, "--paid-when", '"paid"'];
  const options = ["--create", "create-order", ...view, "--settle", "60s", "--budget", "1h", "--json"];
  return harness.run(["checklist", "run", ...options]);
}

const JUDGED = [OTHER, ...Array.from({ length: size(0, 10) }, (_, at) => drawDialect(SEED + at))];

test.each(JUDGED)("a shop for the dialect %j passes every item of checklist run", async (dialect) => {
  const { code, stdout, stderr } = await judge(dialect, dialect);
  const report = JSON.parse(stdout) as { broken: unknown; items: readonly { failures: unknown }[] };
  expect([stderr, report.broken, report.items.map(({ failures }) => failures)]).toEqual([
    stderr,
    [],
    report.items.map(() => []),
  ]);
  expect(code).toBe(0);
});

test("a shop that reads the default names fails checklist run in another dialect, and the reported cause names the difference", async () => {
  const { code, stdout } = await judge(undefined);
  const { broken } = JSON.parse(stdout) as { readonly broken: readonly { readonly cause: string }[] };
  expect(code).toBe(1);
  expect(broken.map(({ cause }) => cause)).toEqual([
    expect.stringContaining("order.succeeded → payment.paid"),
  ]);
});
