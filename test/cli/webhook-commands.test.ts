import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { createHarness } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { hintForIds, noOrderText } from "../../src/cli/target/ids.ts";
import { english } from "../../src/core/language.ts";
import { ENDPOINT_REASONS, PART_TEXTS } from "../../src/core/refusals/parts.ts";
import { deliveryCause } from "../support/delivery-causes.ts";
import { inOrder } from "../support/in-order.ts";

const UNKNOWN = "0199a3c4-5d00-7000-8000-00000000ffff";
const HOOKS = "http://localhost:3000/hooks";
const ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const SECRET = /^whsec_[\w-]{43}$/;

type Answer = {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The JSON output, on either stream. */
  readonly json: Record<string, unknown> & {
    readonly error?: { readonly code: string; readonly message: string };
  };
};

/** A site, and functions that run a command line given as one text. */
async function openShop() {
  const site = await openWebhookSite();
  const type = async (line: string): Promise<Answer> => {
    const result = await site.harness.run(line.split(" "));
    const printed = result.stdout || result.stderr;
    const json = line.endsWith("--json") ? (JSON.parse(printed) as Answer["json"]) : {};
    return { ...result, json };
  };
  const ask = async (line: string): Promise<Answer["json"]> => {
    const answer = await type(`${line} --json`);
    expect([line, answer.code, answer.stderr]).toEqual([line, 0, ""]);
    return answer.json;
  };
  const add = async (url = HOOKS): Promise<string> => String((await ask(`endpoints add ${url}`))["id"]);
  return { ...site, type, ask, add };
}

test("an endpoint is added with its secret, listed, disabled, enabled and removed", async () => {
  const shop = await openShop();
  expect((await shop.type("endpoints list")).stdout).toContain("checkout endpoints add http");
  const added = await shop.type(`endpoints add ${HOOKS} --events order.*,checkout_session.succeeded`);
  expect(added.stdout).toMatch(inOrder(/^✓ /, ` ${HOOKS}`));
  const [, secret = ""] = / (whsec_\S+)\n/.exec(added.stdout) ?? [];
  expect(secret).toMatch(SECRET);
  const [id = ""] = ID.exec(added.stdout) ?? [];
  const other = await shop.ask("endpoints add http://localhost:3001/ --in-order");
  expect(await shop.ask("endpoints list")).toMatchObject({
    endpoints: [{ in_order: false }, { in_order: true }],
  });
  expect(other).toMatchObject({ event_types: ["*"], state: "enabled", signing_secret: secret });

  const wide = await shop.harness.run(["endpoints", "list"], { columns: 120 });
  const rows = wide.stdout.split("\n");
  expect(rows[1]).toMatch(
    new RegExp(`^${id.slice(-8)} +enabled +${HOOKS} +order\\.\\*, checkout_session\\.succeeded +–$`),
  );
  expect(rows[2]).toMatch(/enabled +http:\/\/localhost:3001\/ +\* +[a-z]/);

  expect(await shop.ask(`endpoints disable ${id.toUpperCase()}`)).toMatchObject({ id, state: "disabled" });
  const reason = english(ENDPOINT_REASONS.switched_off);
  expect((await shop.type("endpoints list")).stdout).toMatch(new RegExp(`disabled +\\S+ +.* ${reason}\n`));
  expect(await shop.ask(`endpoints enable ${id}`)).toMatchObject({ id, state: "enabled", reason: null });
  expect((await shop.type(`endpoints remove ${id}`)).stdout).toContain(HOOKS);
  expect(await shop.ask("endpoints list")).toMatchObject({ endpoints: [{ url: "http://localhost:3001/" }] });
});

test("endpoints secret prints the secret alone or for the environment, and refuses to choose between endpoints", async () => {
  const shop = await openShop();
  expect(await shop.type("endpoints secret")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/→ .*checkout endpoints add/) as string,
  });
  const { id, signing_secret: first } = (await shop.ask(`endpoints add ${HOOKS}`)) as Record<string, string>;
  expect(await shop.type("endpoints secret")).toMatchObject({ code: 0, stdout: `${first}\n`, stderr: "" });
  expect((await shop.type("endpoints secret --format env")).stdout).toBe(
    `CHECKOUT_SIGNING_SECRET=${first}\n`,
  );
  const rotated = await shop.type(`endpoints rotate-secret ${id}`);
  const [, second = ""] = / (whsec_\S+)\n/.exec(rotated.stdout) ?? [];
  expect(second).toMatch(SECRET);
  expect(second).not.toBe(first);
  expect(rotated.stdout).toMatch(/ 24h\n {2}\S+ +2\n/);
  expect(await shop.ask(`endpoints secret ${id}`)).toEqual({
    endpoint_id: id,
    signing_secret: second,
    in_force: [second, first],
    retired: [],
  });
  const third = await shop.ask(`endpoints rotate-secret ${id} --overlap 0s`);
  expect(third).toMatchObject({ endpoint_id: id, retired: [second, first] });
  expect((await shop.type("endpoints secret")).stdout).toBe(`${String(third["signing_secret"])}\n`);

  // `endpoints secret` does not count the endpoint that `listen` left as an endpoint of the shop.
  await shop.control("/listener", { url: "http://localhost:3002/hooks" });
  expect((await shop.type("endpoints secret")).stdout).toBe(`${String(third["signing_secret"])}\n`);
  const other = await shop.add("http://localhost:3001/");
  const several = await shop.type("endpoints secret");
  expect([several.code, several.stdout]).toEqual([2, ""]);
  expect(several.stderr).toMatch(inOrder(" 2 ", `: ${id} (${HOOKS}), ${other}`));
  expect((await shop.type(`endpoints secret ${other}`)).stdout).toBe(`${first}\n`);
});

test("endpoints test delivers a test event, and --wait shows its result", async () => {
  const shop = await openShop();
  const receiver = shop.receiver(3000);
  const id = await shop.add();
  const sent = await shop.type(`endpoints test ${id}`);
  const [eventId = ""] = ID.exec(sent.stdout) ?? [];
  expect(sent.stdout).toMatch(inOrder(/^webhook\.test /, `: ${eventId}\n`));
  await shop.advance(1);
  expect(receiver.got.map(({ event, verdict }) => [event.event_id, event.type, verdict])).toEqual([
    [eventId, "webhook.test", "ok"],
  ]);
  expect((await shop.type(`endpoints test ${id} --wait`)).stdout).toMatch(/✓ webhook\.test .* 200 .*\d+ ms/);
  expect(await shop.ask(`endpoints test ${id} --wait`)).toMatchObject({
    type: "webhook.test",
    deliveries: [{ endpoint_id: id, state: "succeeded", attempts: [{ status: 200 }] }],
  });

  receiver.answers = () => 503;
  const refused = await shop.type(`endpoints test ${id} --wait --json`);
  const cause = inOrder(/^webhook\.test /, " 503; ", deliveryCause("503"));
  expect([refused.code, refused.stdout, refused.json]).toMatchObject([
    1,
    "",
    {
      error: { code: "not_delivered", message: expect.stringMatching(cause) as string },
      event_id: expect.stringMatching(ID) as string,
      state: "due",
      result: "503",
      next: expect.stringMatching(/checkout events replay \S{36}$/) as string,
    },
  ]);
  shop.harness.vacate(3000);
  const nobody = await shop.type(`endpoints test ${id} --wait --json`);
  expect([nobody.code, nobody.json]).toMatchObject([1, { result: "unreachable" }]);
  await shop.type(`faults add delay --latency 1h --endpoint ${id}`);
  const late = await shop.type(`endpoints test ${id} --wait --timeout 3s --json`);
  expect([late.code, late.json.error?.code]).toEqual([7, "wait_timeout"]);
  await shop.type(`endpoints disable ${id}`);
  const off = await shop.type(`endpoints test ${id}`);
  expect(off.code).toBe(5);
  expect(off.stderr).toContain("checkout endpoints enable <id>");
});

test("faults of deliveries are added, listed in order, used up and removed", async () => {
  const shop = await openShop();
  const receiver = shop.receiver(3000);
  const id = await shop.add();
  await shop.order();
  const [event] = await shop.events();
  const eventId = event?.event_id ?? "";
  await shop.type(`faults add bad_signature --times 2 --endpoint ${id}`);
  await shop.type(`faults add delay --latency 10s --event ${eventId}`);
  const listed = await shop.type("faults list");
  const [, ...rows] = listed.stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, "|"));
  expect(rows).toEqual([
    expect.stringMatching(`\\w{8}\\|bad_signature\\|–\\|.*${id.slice(-8)}\\|2$`),
    expect.stringMatching(`\\w{8}\\|delay\\|10s\\|.*${eventId.slice(-8)}\\|1$`),
    "",
  ]);
  await shop.type(`endpoints test ${id} --wait`);
  expect(receiver.got.at(-1)?.verdict).toBe("signature_mismatch");
  await shop.type("faults add drop");
  expect(await shop.ask("faults list")).toMatchObject({
    faults: [
      { action: "bad_signature", times: 2, applied: 1, match: { endpoint_id: id, event_id: null } },
      { action: "delay", latency_ms: 10_000, match: { event_id: eventId } },
      { action: "drop", latency_ms: null, times: 1 },
    ],
  });
  const last = listed.stdout.split("\n")[2]?.slice(0, 8) ?? "";
  expect((await shop.type(`faults remove ${last}`)).stdout).toMatch(/\bdelay\b/);
  expect((await shop.type("faults clear")).stdout).toMatch(/ 2\n$/);
  expect(await shop.ask("faults list")).toMatchObject({ faults: [] });
  await shop.type(`endpoints test ${id} --wait`);
  expect(receiver.got.at(-1)?.verdict).toBe("ok");

  await shop.type("faults add duplicate");
  const before = receiver.got.length;
  expect(await shop.ask(`endpoints test ${id} --wait`)).toMatchObject({
    deliveries: [
      { cause: "duplicate", fault: { action: "duplicate" } },
      { cause: "event", fault: null },
    ],
  });
  await shop.advance(1);
  expect(receiver.got.slice(before).map(({ verdict }) => verdict)).toEqual(["ok", "ok"]);
  await shop.type("faults add drop");
  const dropped = await shop.type(`endpoints test ${id} --wait --json`);
  expect([dropped.code, dropped.json]).toMatchObject([
    1,
    { error: { code: "not_delivered" }, state: "dropped" },
  ]);
  // Newest first: the dropped delivery, the duplicated pair, a delivery without a fault, and the refused delivery.
  const { stdout } = await shop.type("deliveries list --limit 5");
  expect(stdout.split("\n", 6).map((line) => FAULT_CELL.exec(line)?.[0])).toEqual([
    undefined,
    "drop",
    "duplicate",
    "duplicate",
    undefined,
    "bad_signature",
  ]);
});

const FAULT_CELL = /\b(drop|duplicate|bad_signature)(?= {2})/;

test("events list filters by checkout, type and position, and limits the number of events", async () => {
  const shop = await openShop();
  expect(await shop.ask("events list")).toMatchObject({ events: [] });
  const first = await shop.order("order-1");
  await shop.order("order-2");
  await shop.pay(first, "succeeded");
  const [, ...rows] = (await shop.type("events list")).stdout.split("\n");
  expect(rows.map((row) => row.split(/ {2,}/).slice(1, 3).join(" "))).toEqual([
    "order.created order-1",
    "order.created order-2",
    "order.pending order-1",
    "order.succeeded order-1",
    "",
  ]);
  const types = async (filter: string): Promise<string> => {
    const { events } = (await shop.ask(`events list ${filter}`)) as unknown as {
      readonly events: readonly { readonly type: string; readonly checkout_id: string }[];
    };
    return events.map(({ type, checkout_id: of }) => `${type.slice(6)} ${of === first ? 1 : 2}`).join(", ");
  };
  expect(await types(`--checkout ${first}`)).toBe("created 1, pending 1, succeeded 1");
  expect(await types("--type order.created")).toBe("created 1, created 2");
  expect(await types("--limit 2")).toBe("pending 1, succeeded 1");
  expect(await types("--since 2")).toBe("pending 1, succeeded 1");
  const [, second] = await shop.events();
  expect(await types(`--since ${second?.event_id ?? ""} --limit 1`)).toBe("pending 1");
});

test("events list --wait waits for the next matching event, within its timeout", async () => {
  const shop = await openShop();
  const old = await shop.order("order-1");
  await shop.pay(old, "succeeded");
  const id = await shop.order("order-2~succeeded");
  const began = shop.harness.clock.now();
  const next = (await shop.ask("events list --type order.succeeded --wait")) as unknown as {
    readonly events: readonly { readonly checkout_id: string }[];
  };
  expect(next.events.map(({ checkout_id: of }) => of)).toEqual([id]);
  const waited = shop.harness.clock.now() - began;
  expect([waited >= 900, waited < 2000]).toEqual([true, true]);

  const there = await shop.ask(`events list --checkout ${old} --type order.succeeded --since 0 --wait`);
  expect(there["events"]).toHaveLength(1);
  const until = shop.harness.clock.now();
  const late = await shop.type("events list --type order.failed --wait --timeout 45s --json");
  expect([late.code, late.stdout, late.json]).toMatchObject([
    7,
    "",
    {
      error: { code: "wait_timeout" },
      next: expect.stringMatching(/: checkout events list --since 6 --wait\b/) as string,
    },
  ]);
  expect(shop.harness.clock.now() - until).toBeGreaterThanOrEqual(45_000);
  expect(shop.harness.clock.now() - until).toBeLessThan(46_000);
});

test("events get shows the deliveries and the exact body of an event, and can wait for the deliveries", async () => {
  const shop = await openShop();
  const receiver = shop.receiver(3000);
  const id = await shop.add();
  const { id: order } = await shop.ask("trigger order.created --order-id order-ü");
  await shop.advance(1);
  const [event] = await shop.events();
  const eventId = event?.event_id ?? "";
  const shown = await shop.type(`events get ${eventId}`);
  for (const value of ["order.created", "order-ü", String(order), "1", `${event?.body}\n`])
    expect(shown.stdout).toContain(` ${value}\n`);
  expect(shown.stdout).toMatch(new RegExp(`200 +succeeded +2026\\S+ +– +localhost:3000/hooks\n$`));

  const body = await shop.type(`events get ${eventId} --body`);
  expect(body.stdout).toBe(receiver.got[0]?.body);
  const { headers = {} } = receiver.got[0] ?? {};
  const signed = `${headers["Checkout-Timestamp"] ?? ""}.${body.stdout}`;
  const secret = (await shop.type(`endpoints secret ${id}`)).stdout.trim();
  const hmac = createHmac("sha256", secret).update(signed).digest("hex");
  expect(hmac).toBe(headers["Checkout-Signature"]);

  receiver.answers = (number) => (number < 3 ? 500 : 200);
  await shop.type(`events replay ${eventId}`);
  const settled = await shop.ask(`events get ${eventId} --wait`);
  expect(settled).toMatchObject({
    event_id: eventId,
    deliveries: [
      { endpoint_id: id, cause: "replay", state: "succeeded", tries: 2 },
      { endpoint_id: id, cause: "event", state: "succeeded", tries: 1 },
    ],
  });
  receiver.answers = () => 500;
  await shop.type(`events replay ${eventId} --endpoint ${id}`);
  const due = await shop.type(`events get ${eventId} --wait --timeout 20s --json`);
  expect([due.code, due.stdout, due.json]).toMatchObject([
    7,
    "",
    { error: { code: "wait_timeout" }, event_id: eventId, due: 1, next_at: expect.any(String) as string },
  ]);
});

test("events replay sends the same bytes to the chosen endpoint, and changes no state", async () => {
  const shop = await openShop();
  const [near, far] = [shop.receiver(3000), shop.receiver(3001)];
  await shop.order();
  const [first] = await shop.events();
  const eventId = first?.event_id ?? "";
  const nobody = await shop.type(`events replay ${eventId}`);
  expect(nobody.code).toBe(5);
  expect(nobody.stderr).toContain("→ checkout endpoints list");
  expect(await shop.ask(`events get ${eventId}`)).toMatchObject({ deliveries: [] });

  const [one, two] = [await shop.add(near.url), await shop.add(far.url)];
  const replayed = await shop.type(`events replay ${eventId}`);
  expect(replayed.stdout).toMatch(
    inOrder(` ${one}\n`, ` ${two}\n`, `: checkout events get ${eventId} --wait\n`),
  );
  expect(await shop.ask(`events replay ${eventId} --endpoint ${two}`)).toMatchObject({
    deliveries: [{ endpoint_id: two }],
  });
  await shop.ask(`events get ${eventId} --wait`);
  expect([near.got.length, far.got.length]).toEqual([1, 2]);
  for (const { body, verdict } of [...near.got, ...far.got])
    expect([body, verdict]).toEqual([first?.body, "ok"]);
  expect(await shop.events()).toHaveLength(1);
});

test("deliveries list shows the last attempt, and filters by endpoint, event, checkout and state", async () => {
  const shop = await openShop();
  expect(await shop.ask("deliveries list")).toMatchObject({ deliveries: [] });
  const [good, bad] = [shop.receiver(3000), shop.receiver(3001)];
  bad.answers = () => 500;
  const [one, two] = [await shop.add(good.url), await shop.add(bad.url)];
  const [order, other] = [await shop.order(), await shop.order()];
  await shop.advance(1);
  const wide = await shop.harness.run(["deliveries", "list"], { columns: 200 });
  const rows = wide.stdout.split("\n");
  expect(
    rows.slice(1, -1).map((row) =>
      row
        .replaceAll(/\d{4}-\S+Z/g, "<at>")
        .split(/ +/)
        .slice(1, 8),
    ),
  ).toEqual([
    ["order.created", "500", "due", "1", "<at>", "<at>", "event"],
    ["order.created", "200", "succeeded", "1", "<at>", "–", "event"],
    ["order.created", "500", "due", "1", "<at>", "<at>", "event"],
    ["order.created", "200", "succeeded", "1", "<at>", "–", "event"],
  ]);
  const count = async (filter: string): Promise<number> =>
    ((await shop.ask(`deliveries list ${filter}`))["deliveries"] as unknown[]).length;
  const [event] = await shop.events();
  expect(await count(`--endpoint ${two}`)).toBe(2);
  expect(await count(`--checkout ${order} --endpoint ${one}`)).toBe(1);
  expect(await count(`--event ${event?.event_id ?? ""}`)).toBe(2);
  expect(await count("--state due")).toBe(2);
  expect(await count(`--state failed --checkout ${other}`)).toBe(0);
  expect(await count("--limit 3")).toBe(3);
  expect(await shop.ask(`deliveries list --state due --checkout ${order}`)).toMatchObject({
    deliveries: [{ endpoint_id: two, url: bad.url, attempts: [{ status: 500, url: bad.url }] }],
  });
});

test("trigger creates a real order or session for every event type, and ends with that event", async () => {
  const shop = await openShop();
  const receiver = shop.receiver(3000);
  await shop.add();
  for (const object of ["order", "checkout_session"]) {
    for (const status of ["created", "pending", "succeeded", "failed", "cancelled", "expired"]) {
      const type = `${object}.${status}`;
      const made = (await shop.ask(`trigger ${type}`)) as unknown as {
        readonly id: string;
        readonly order_id: string;
        readonly events: readonly { readonly type: string; readonly event_id: string }[];
      };
      expect(made).toMatchObject({
        object,
        status,
        order_id: expect.stringMatching(/^trigger-[0-9a-f]{12}$/),
      });
      expect([type, made.events[0]?.type, made.events.at(-1)?.type]).toEqual([
        type,
        `${object}.created`,
        type,
      ]);
      expect(await shop.statusOf(made.id)).toBe(status);
      await shop.advance(1);
      expect(receiver.got.at(-1)?.event).toMatchObject({ event_id: made.events.at(-1)?.event_id, type });
    }
  }
  const human = await shop.type("trigger order.succeeded --price-id price_ticket");
  expect(human.stdout).toMatch(/ \S{36}\n.* trigger-\w+\n.* succeeded\n\n/);
  expect(human.stdout).toMatch(
    /order\.created +\S{8}\n.*order\.pending +\S{8}\n.*order\.succeeded +\S{8}\n$/,
  );
  await shop.advance(1);
  expect(receiver.got.at(-1)?.event.data.amount_minor).toBe(19_900);
});

test("trigger continues an existing order, and shows only the new events", async () => {
  const shop = await openShop();
  const types = async (line: string): Promise<unknown> =>
    ((await shop.ask(line))["events"] as { readonly type: string }[]).map(({ type }) => type);
  expect(await types("trigger order.created --order-id order-1")).toEqual(["order.created"]);
  expect(await types("trigger order.pending --order-id order-1")).toEqual(["order.pending"]);
  expect(await types("trigger order.succeeded --order-id order-1")).toEqual(["order.succeeded"]);
  for (const status of ["created", "pending", "succeeded", "cancelled"]) {
    const refused = await shop.type(`trigger order.${status} --order-id order-1 --json`);
    expect([status, refused.code, refused.json.error?.code]).toEqual([status, 5, "state_conflict"]);
    expect(refused.json).toMatchObject({
      status: "succeeded",
      next: expect.stringMatching(/ --order-id .* checkout events replay \S{36}$/) as string,
    });
  }
  const conflict = await shop.type("trigger checkout_session.created --order-id order-1 --json");
  expect([conflict.code, conflict.json.error?.code]).toEqual([5, "order_conflict"]);
  const { replayed } = await shop.ask("orders create --order-id order-1 --price-id price_coffee");
  expect(replayed).toBe(true);
  expect(await shop.events()).toHaveLength(3);
});

test("trigger webhook.test reaches every enabled endpoint, and trigger works in an ephemeral sandbox", async () => {
  const shop = await openShop();
  const nobody = await shop.type("trigger webhook.test --json");
  expect([nobody.code, nobody.json.error?.code]).toEqual([1, "no_endpoint"]);
  const [one, two] = [shop.receiver(3000), shop.receiver(3001)];
  const off = await shop.add("http://localhost:3002/");
  await shop.type(`endpoints disable ${off}`);
  const ids = [await shop.add(one.url), await shop.add(two.url)];
  const tested = await shop.ask("trigger webhook.test");
  expect((tested["tests"] as { endpoint_id: string }[]).map(({ endpoint_id: id }) => id)).toEqual(ids);
  expect((await shop.type("trigger webhook.test")).stdout).toMatch(
    new RegExp(`webhook\\.test +\\S{8} +${HOOKS}\n`),
  );
  await shop.advance(1);
  expect([one.got.length, two.got.length]).toEqual([2, 2]);

  const harness = createHarness();
  const token = "a-token-of-sixteen";
  const env = { CHECKOUT_CONTROL_TOKEN: token, CHECKOUT_SANDBOX_CONTROL_TOKEN: token };
  const { ready } = await harness.start(["--ephemeral", "--port", "0"], { env });
  const named = {
    ...env,
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key ?? "",
    CHECKOUT_STORE_ID: ready.store_id,
  };
  const made = await harness.run(["trigger", "order.succeeded", "--order-id", "o-1", "--json"], {
    env: named,
  });
  expect([made.code, made.stderr]).toEqual([0, ""]);
  const again = await harness.run(
    ["orders", "create", "--order-id", "o-1", "--price-id", "price_coffee", "--json"],
    { env: named },
  );
  expect(again.stdout).toContain('"replayed":true');
});

test("sandbox clock advance prints changes and deliveries in chronological order", async () => {
  const shop = await openShop();
  const receiver = shop.receiver(3000);
  receiver.answers = (number) => (number === 1 ? 500 : 200);
  await shop.add();
  await shop.type("sandbox clock freeze");
  await shop.order("order-1");
  await shop.type("sandbox clock advance 1s");
  const moved = await shop.type("sandbox clock advance 2h");
  const [now, , ...rows] = moved.stdout.trimEnd().split("\n");
  expect(now).toMatch(/^2026-01-15T14:00:01.000Z /);
  expect(rows.map((row) => row.split(/ {2,}/).slice(1, 3).join(": "))).toEqual([
    expect.stringMatching(/^order\.created: .*\(200\)$/),
    "order-1: created → expired",
    expect.stringMatching(/^order\.expired: .*\(200\)$/),
  ]);
  const times = rows.map((row) => row.slice(0, 24));
  expect(times.toSorted()).toEqual(times);

  await shop.order("order-2");
  receiver.answers = () => 410;
  await shop.type("sandbox clock advance 1s");
  const quiet = await shop.type("sandbox clock advance 2h");
  expect(quiet.stdout).toMatch(/ order-2 +created → expired /);
  expect(await shop.ask("sandbox clock show")).toMatchObject({ frozen: true });
});

test("sandbox clock advance shows when a failed delivery is retried, or that the delivery was given up", async () => {
  const shop = await openShop();
  const receiver = shop.receiver(3000);
  receiver.answers = (number) => (number < 8 ? 500 : 410);
  await shop.add();
  await shop.type("sandbox clock freeze");
  await shop.order();
  const advance = ["sandbox", "clock", "advance", "40h"];
  const moved = await shop.harness.run(advance, { columns: 120 });
  expect(moved.stdout).toMatch(/order\.created +[^\d(]*\(500\) +2026-01-1\S+Z/);
  expect(moved.stdout).toMatch(/order\.created +[^\d(]*\(410\) +–/);
});

test("the refusal of a webhook command has the expected value, the received value and the next command", async () => {
  const shop = await openShop();
  const id = await shop.add();
  const tooMany = "x".repeat(33);
  const rows: readonly (readonly [code: number, said: string | RegExp, line: string])[] = [
    [2, "missing required argument 'url'", "endpoints add"],
    [2, refusalText("target_not_url", { received: '"ftp://x"' }), "endpoints add ftp://x"],
    [2, refusalText("target_not_local", { host: '"shop.example"' }), "endpoints add https://shop.example/"],
    [2, refusalText("not_event_type", { got: '"order.paid"' }), `endpoints add ${HOOKS} --events order.paid`],
    [5, refusalText("endpoint_exists"), `endpoints add ${HOOKS}`],
    [2, inOrder(" 0199a3c4-5d00-7000-8000-000000000001", '"1"'), "endpoints remove 1"],
    [2, hintForIds("endpoint"), "endpoints enable x"],
    [1, refusalText("no_endpoint", { endpoint: UNKNOWN }), `endpoints disable ${UNKNOWN}`],
    [1, inOrder(UNKNOWN, "→ checkout endpoints list "), `endpoints remove ${UNKNOWN}`],
    [1, refusalText("no_endpoint", { endpoint: UNKNOWN }), `endpoints test ${UNKNOWN}`],
    [1, refusalText("no_endpoint", { endpoint: UNKNOWN }), `endpoints secret ${UNKNOWN}`],
    [1, refusalText("no_endpoint", { endpoint: UNKNOWN }), `endpoints rotate-secret ${UNKNOWN}`],
    [2, inOrder(" 0s ", " 30d", '"31d"'), `endpoints rotate-secret ${id} --overlap 31d`],
    [2, inOrder(" 0s ", " 30d", '"soon"'), `endpoints rotate-secret ${id} --overlap soon`],
    [2, inOrder("--format", '"json"'), "endpoints secret --format json"],
    [2, "status, latency, ", "faults add"],
    [2, inOrder("--profile", '"rain"'), "faults add rain"],
    [2, refusalText("fault_form"), "faults add drop --profile slow"],
    [2, refusalText("fault_form"), "faults add --profile slow --times 2"],
    [2, inOrder("lost-response", "flaky-network"), "faults add --profile bad-day"],
    [2, inOrder(" 1 ", " 1000000"), "faults add drop --times 1000001"],
    [2, inOrder(" 1 ", " 1000000"), "faults add drop --times 0"],
    [2, inOrder(" 1 ", " 1000000"), "faults add drop --nth 0"],
    [2, inOrder(PART_TEXTS.probability), "faults add drop --probability 1.5"],
    [2, inOrder(PART_TEXTS.probability), "faults add drop --probability often"],
    [2, inOrder(PART_TEXTS.span_or_moment), "faults add drop --until noon"],
    [1, refusalText("until_past"), "faults add drop --until 2020-01-01T00:00:00Z"],
    [2, "latency, slow_body, delay, reorder", "faults add drop --latency 2s"],
    [2, "✗ --status: ", "faults add reset --status 500"],
    [2, inOrder(" 400 ", " 599"), "faults add status --status 200"],
    [2, "method, path", "faults add status --event order.created"],
    [2, "event_type, event_id, endpoint_id", "faults add drop --path /v1/orders"],
    [2, "/v1/orders", "faults add reset --path /orders"],
    [2, "300000", "faults add latency --latency 10m"],
    [2, refusalText("not_event_type"), "faults add drop --event 7"],
    [1, refusalText("no_event", { event: UNKNOWN }), `faults add drop --event ${UNKNOWN}`],
    [1, refusalText("no_endpoint", { endpoint: UNKNOWN }), `faults add drop --endpoint ${UNKNOWN}`],
    [1, refusalText("no_fault", { id: UNKNOWN }), `faults remove ${UNKNOWN}`],
    [1, "0000aaaa (not_found)", "faults remove 0000aaaa"],
    [2, hintForIds("fault"), "faults remove 7"],
    [
      2,
      inOrder("order.<status>", "checkout_session.<status>", "created, pending,"),
      "events list --type order.paid",
    ],
    [2, inOrder("event_id", " 42", " 10m", '"yesterday"'), "events list --since yesterday"],
    [1, inOrder(UNKNOWN, "→ checkout events list "), `events list --since ${UNKNOWN}`],
    [2, inOrder(" 1 ", " 1000"), "events list --limit 0"],
    [1, '"nonsense"', "events list --checkout nonsense"],
    [2, '"nonsense"', "deliveries list --endpoint nonsense"],
    [2, "--timeout", "events list --wait --timeout 10"],
    [2, hintForIds("event"), "events get 1"],
    [1, refusalText("no_event", { event: UNKNOWN }), `events get ${UNKNOWN}`],
    [1, refusalText("no_event", { event: UNKNOWN }), `events get ${UNKNOWN} --wait`],
    [1, inOrder("checkout events list", "checkout endpoints list"), `events replay ${UNKNOWN}`],
    [2, hintForIds("event"), "events replay all"],
    [2, inOrder("due", "succeeded", "failed", "dropped"), "deliveries list --state open"],
    [2, inOrder(" 1 ", " 1000"), "deliveries list --limit 1001"],
    [2, "order.<status>", "trigger order.paid"],
    [2, '"order"', "trigger order"],
    [2, inOrder("--order-id", "--price-id"), "trigger webhook.test --order-id o-1"],
    [2, "order_id", `trigger order.created --order-id ${tooMany}`],
    [1, "price_nothing", "trigger order.created --price-id price_nothing"],
  ];
  for (const [code, said, line] of rows) {
    const human = await shop.type(line);
    expect([line, human.code, human.stdout]).toEqual([line, code, ""]);
    expect(human.stderr).toMatch(said);
    expect(human.stderr).toMatch(/\n {2}→ .+\n$/);
    const json = await shop.type(`${line} --json`);
    expect([line, json.code, json.stdout, json.json]).toMatchObject([
      line,
      code,
      "",
      { ok: false, exit_code: code, next: expect.any(String) as string },
    ]);
  }
  expect(await shop.ask("endpoints list")).toMatchObject({ endpoints: [{ id }] });
});

test("an event body is printed unchanged to a pipe, and escaped on a terminal", async () => {
  const harness = createHarness();
  await harness.start();
  const hostile = [
    "\u0080",
    "\u0085",
    "\u0090",
    "\u009b31m",
    "\u009d0;title\u009c",
    "\u007f",
    "\u202e",
    "\u2066x\u2069",
    "\u200f",
    "\u061c",
    "\u200b",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\u{e0041}",
    "\u001b[2J",
    "\u001b]52;c;aGk=\u0007",
  ];
  for (const text of hostile) {
    const order = ["orders", "create", "--json", "--price-id", "price_coffee", "--order-id", `a${text}b`];
    const { data } = JSON.parse((await harness.run(order)).stdout) as { data: { id: string } };
    const listed = await harness.run(["events", "list", "--checkout", data.id, "--json"]);
    const [event] = (JSON.parse(listed.stdout) as { events: { event_id: string; body: string }[] }).events;
    if (event === undefined) throw new Error("there is no event");
    const get = ["events", "get", event.event_id, "--body"];
    expect((await harness.run(get)).stdout).toBe(event.body);
    const { stdout } = await harness.run(get, { terminal: true });
    expect(stdout).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(event.body));
  }
});

test("deliveries list, events list, deliveries retry and open report an order_id that the store does not have", async () => {
  const shop = await openShop();
  await shop.type("orders create --order-id known --price-id price_coffee");
  const note = `${noOrderText("nope")}; ${hintForIds("checkout")}\n`;
  for (const list of ["deliveries", "events"]) {
    const unknown = await shop.type(`${list} list --order-id nope`);
    expect(unknown).toMatchObject({ code: 0, stderr: expect.stringContaining(note) as string });
    expect(await shop.ask(`${list} list --order-id nope`)).toMatchObject({ [list]: [] });
  }
  expect(await shop.type("deliveries list --order-id known")).toMatchObject({ code: 0, stderr: "" });
  const retried = await shop.type("deliveries retry --order-id nope --json");
  expect([retried.code, retried.json.error?.code]).toEqual([1, "session_not_found"]);
  expect((await shop.type("deliveries retry --order-id known")).code).toBe(0);
  const opened = await shop.type("open nope --print");
  expect([opened.code, opened.stderr]).toEqual([0, expect.stringContaining(noOrderText("nope"))]);
  expect((await shop.type("open known --print")).stderr).toBe("");
});
