import { expect, test } from "vitest";
import type { DrillKind } from "../../src/core/readiness/names.ts";
import { CASE_NAMES } from "../../src/core/readiness/drills/webhook.ts";
import { verifyWebhook } from "../../src/core/webhook/verify.ts";
import type { HttpRequest, HttpResponse, OutboundRequest, ShellResult } from "../../src/world.ts";
import { FULL, part } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import type { WireAnswerOf } from "../support/wire.ts";
import { inOrder } from "../support/in-order.ts";
import { english } from "../../src/core/language.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";
import { createPart, partWords } from "../../src/core/fact.ts";

const SHOP = "http://localhost:3000";
/**
 * The options of a start with a state on disk, for tests that read the state, restart the sandbox or refuse a call.
 */
const ON_DISK: readonly string[] = [];
const OK: HttpResponse = { status: 200, headers: {}, body: "" };
const RETURN = `--return-url ${SHOP}/thanks --order-view ${SHOP}/orders/{order_id} --paid-when paid`;
const DRILLS = {
  duplicates: `checklist run duplicates --order-view ${SHOP}/orders/{order_id} --paid-when paid`,
  idempotency: "checklist run idempotency --client-command client",
  browser_return: `checklist run browser-return ${RETURN}`,
  webhook: "checklist run webhooks",
};
const MAX_ATTEMPTS = 5;
type Kind = keyof typeof DRILLS;
const KINDS = Object.keys(DRILLS) as readonly Kind[];

type Site = Awaited<ReturnType<typeof openSite>>;
type Faults = { readonly faults: readonly { readonly action: string }[] };

/** A correct shop, its client, and the requests to the shop. */
async function openSite(start = EPHEMERAL) {
  const site = await openWebhookSite(start);
  const { harness } = site;
  const paid = new Set<string>();
  /** The amount of each order in its first event. */
  const sums = new Map<string, string>();
  const asked: string[] = [];
  let before = (_target: string): Promise<void> => Promise.resolve();
  const answer = async ({ method, target, body, rawHeaders }: HttpRequest): Promise<HttpResponse> => {
    asked.push(`${method} ${target}`);
    await before(target);
    if (/^\/hooks(?:\?|$)/.test(target)) {
      const secrets = [site.sandbox().ready.signing_secret];
      const now = harness.clock.now();
      if (!verifyWebhook({ rawBody: body, headers: rawHeaders, secrets, now }).ok)
        return { ...OK, status: 400 };
      const { type, data } = JSON.parse(Buffer.from(body).toString("utf8")) as {
        readonly type: string;
        readonly data: {
          readonly order_id: string;
          readonly amount_minor: number;
          readonly currency: string;
        };
      };
      const sum = `${data.amount_minor} ${data.currency}`;
      if (!sums.has(data.order_id)) sums.set(data.order_id, sum);
      if (type.endsWith(".succeeded") && sums.get(data.order_id) === sum) paid.add(data.order_id);
      return OK;
    }
    const order = target.slice("/orders/".length);
    return { ...OK, body: paid.has(order) ? "paid" : "open" };
  };
  harness.occupy(3000, { answer, refuse: () => OK });
  const create = async (key: string, { orderId = `order-of-${key}`, apiKey = "" } = {}) => {
    const body = JSON.stringify({ order_id: orderId, price_id: "price_coffee" });
    const credential = apiKey === "" ? {} : { Authorization: `Bearer ${apiKey}` };
    const headers = { "Idempotency-Key": key, ...credential };
    return site.sandbox().request({ path: "/v1/orders", headers, body });
  };
  harness.setShell(({ env, signal }) => {
    const { CHECKOUT_ORDER_ID: orderId = "", CHECKOUT_API_KEY: apiKey = "" } = env;
    const end = (ending: ShellResult["ending"]): ShellResult => ({
      ending,
      exitCode: ending === "exited" ? 0 : null,
      stdout: "",
      stderr: "",
    });
    const buy = () => create(`client-${orderId}`, { orderId, apiKey });
    const buying = (async () => {
      for (let attempts = 1; ; attempts += 1) {
        const { status, isDropped, body } = await buy();
        if (status === 201 && isDropped !== true && typeof body === "string" && body !== "")
          return end("exited");
        if (attempts === MAX_ATTEMPTS) return { ...end("exited"), exitCode: 1 };
        if (status === 429) await site.harness.clock.sleep(1000);
      }
    })();
    const killed = new Promise<ShellResult>((resolve) =>
      signal?.addEventListener("abort", () => resolve(end("aborted"))),
    );
    return Promise.race([buying, killed]);
  });
  const endpoint = await site.addEndpoint(`${SHOP}/hooks`);
  return {
    ...site,
    asked,
    create,
    /** Sets the function that the shop awaits before each of its answers. */
    waitFor: (next: typeof before) => void (before = next),
    checklist: async () => (await site.control<WireAnswerOf<"checklist">>("/checklist")).data,
    endpoints: async () => (await site.control<WireAnswerOf<"listEndpoints">>("/endpoints")).data.endpoints,
    faults: async () => (await site.control<Faults>("/faults")).data.faults,
    drills: async () => (await site.control<WireAnswerOf<"listDrills">>("/drills")).data.drills,
    endpointId: endpoint.id,
  };
}

/** Expects that no drill, fault, pause or due delivery is left, and that every recorded drill is complete. */
async function expectNothingLeft(site: Site, label: string): Promise<void> {
  await eventually(`${label}: no drill runs`, async () =>
    expect((await site.checklist()).underway).toEqual([]),
  );
  expect([label, (await site.create(`after ${label}`.replaceAll(/\W/g, "-"))).isDropped]).toEqual([
    label,
    undefined,
  ]);
  await eventually(`${label}: no fault is left`, async () => expect(await site.faults()).toEqual([]));
  const states = (await site.endpoints()).map(({ state, paused_by: by }) => [state, by]);
  expect([label, states]).toEqual([label, [["enabled", null]]]);
  await eventually(`${label}: every webhook is delivered`, async () => {
    const waiting = (await site.deliveries("?state=due")).length;
    expect([label, waiting]).toEqual([label, 0]);
  });
  for (const { kind, steps, passed } of await site.drills())
    expect([label, kind, steps.length, passed]).toEqual([label, kind, STEPS[kind], true]);
}

/** The number of steps of a complete drill of each kind. */
const STEPS: Readonly<Record<DrillKind, number>> = {
  duplicates: 35,
  idempotency: 13,
  browser_return: 36,
  webhook: CASE_NAMES.length,
};

/** The nth request of a kind that a drill sends. */
type Point = { readonly request: string; readonly nth: number };

/**
 * The kind of a request: its method, its path without ids, and its outcome or forgery. A drill sends many of one kind.
 */
function kindOf({ method, url, body = "" }: OutboundRequest): string {
  const path = url
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}")
    .replaceAll(/order_id=[^&]*/g, "order_id={order_id}")
    .replaceAll(/order-[\w-]+/gi, "{order_id}");
  const [asked = ""] = /"outcome":"\w+"|"forged":true/.exec(String(body)) ?? [];
  return `${method} ${path} ${asked}`;
}

/** Returns a function that numbers the requests of a drill by their kind, in the order of their sending. */
function counted(): (request: OutboundRequest) => Point {
  const counts = new Map<string, number>();
  return (outbound) => {
    const request = kindOf(outbound);
    const nth = (counts.get(request) ?? 0) + 1;
    counts.set(request, nth);
    return { request, nth };
  };
}

/** A request of a drill, and whether the drill did nothing since the answer to the previous request. */
type Sent = Point & { readonly isNext: boolean };

/** Every request of a complete drill. */
async function requestsOf({ harness }: Site, kind: Kind): Promise<readonly Sent[]> {
  const count = counted();
  const points: Sent[] = [];
  const happened = (): string => `${harness.clock.now()} ${harness.commands.length}`;
  let [inFlight, answered] = [0, ""];
  harness.setFault(async (request, pass) => {
    if (isDelivery(request)) return pass();
    points.push({ ...count(request), isNext: inFlight === 0 && happened() === answered });
    // The request that opens the lease stays open.
    const isLease = request.url.endsWith("/leases");
    if (!isLease) inFlight += 1;
    const result = await pass();
    if (!isLease) inFlight -= 1;
    answered = happened();
    return result;
  });
  expect((await harness.run(DRILLS[kind].split(" "))).code).toBe(0);
  harness.setFault((_request, pass) => pass());
  return points;
}

/** Polls of a drill, whose number depends on time. */
const POLLED = /\/retrieves +$/;

/**
 * The points at which a drill is killed: in a campaign each request, otherwise the first and the last request of each
 * kind; of polls always only the first.
 */
function chosenOf<One extends Point>(points: readonly One[]): readonly One[] {
  const isLast = ({ request, nth }: Point): boolean =>
    !points.some((other) => other.request === request && other.nth > nth);
  return points.filter(
    (point) => point.nth === 1 || (!POLLED.test(point.request) && (FULL || isLast(point))),
  );
}

/**
 * The moments of the kills: after each chosen request, and before it unless that equals the moment after another chosen
 * request. Outside a campaign a read adds at most the moment after it. `npm test` takes every tenth of these moments,
 * by the seed.
 */
function momentsOf(points: readonly Sent[]): readonly (Point & { readonly sent: boolean })[] {
  const chosen = new Set(chosenOf(points).filter(({ request }) => FULL || !killedAt.has(request)));
  const moments = points.flatMap((point, at) => {
    if (!chosen.has(point)) return [];
    const before = points[at - 1];
    const isSame = point.isNext && before !== undefined && chosen.has(before);
    // Reads leave the sandbox unchanged.
    const isRead = !FULL && point.request.startsWith("GET ");
    if (isRead && isSame) return [];
    return (isRead || isSame ? [true] : [false, true]).map((sent) => Object.assign({ sent }, point));
  });
  return part(moments, 10);
}

/**
 * The kinds of requests at which earlier drills were killed. Drills share requests, so `npm test` kills no later drill
 * at these requests.
 */
const killedAt = new Set<string>();

/** Runs a drill and kills it before or after one of its requests; returns whether it was killed. */
async function killAt(
  site: Site,
  kind: Kind,
  { request, nth, sent }: Point & { readonly sent: boolean },
): Promise<boolean> {
  const { harness } = site;
  const kill = new AbortController();
  const killed = new Promise<true>((resolve) => kill.signal.addEventListener("abort", () => resolve(true)));
  const count = counted();
  harness.setFault(async (outbound, pass) => {
    if (isDelivery(outbound)) return pass();
    const point = count(outbound);
    if (point.request !== request || point.nth !== nth) return pass();
    const done = sent ? pass() : undefined;
    if (outbound.url.endsWith("/leases") && sent)
      await eventually("the lease is held", async () =>
        expect((await site.checklist()).underway).toHaveLength(1),
      );
    else await done;
    kill.abort();
    return { ok: false, failure: "connection_lost", message: "killed" };
  });
  const ended = harness.run(DRILLS[kind].split(" "), { killed: kill.signal }).then(() => false);
  const wasKilled = await Promise.race([killed, ended]);
  harness.setFault((_request, pass) => pass());
  return wasKilled;
}

function isDelivery({ url }: OutboundRequest): boolean {
  return url === `${SHOP}/hooks`;
}

for (const kind of KINDS)
  test(`killing the command of the ${kind} drill at any request leaves nothing behind`, async () => {
    const site = await openSite();
    await site.create("before-all-drills");
    const points = await requestsOf(site, kind);
    const moments = momentsOf(points);
    // At least the lease, two actions under it, and its end.
    expect(points.length).toBeGreaterThanOrEqual(4);
    const isWhole = kind === "duplicates";
    expect(moments.length).toBeGreaterThanOrEqual(isWhole ? (FULL ? 3 : 1) : FULL ? 1 : 0);
    for (const { request, nth, sent } of moments) {
      const label = `${kind} ${sent ? "after" : "before"} ${request} ${nth}`;
      expect([label, await killAt(site, kind, { request, nth, sent })]).toEqual([label, true]);
      await expectNothingLeft(site, label);
    }
    for (const { request } of points) killedAt.add(request);
    expect((await site.harness.run(DRILLS[kind].split(" "))).code).toBe(0);
    expect((await site.drills())[0]).toMatchObject({ kind, passed: true });
  });

test("a webhook drill whose command is killed sends nothing more and stores nothing", async () => {
  const site = await openSite();
  const kill = new AbortController();
  const cases = (): number => site.asked.filter((line) => line === "POST /hooks").length;
  site.waitFor(async () => {
    if (cases() === 3) kill.abort();
    await eventually("the lease has ended", async () =>
      expect((await site.checklist()).underway).toHaveLength(kill.signal.aborted ? 0 : 1),
    );
  });
  void site.harness.run(DRILLS.webhook.split(" "), { killed: kill.signal });
  await eventually("the third request is there", () => expect(cases()).toBe(3));
  await expectIdle(site);
  expect([cases(), await site.drills()]).toEqual([3, []]);
});

/** Waits until no drill runs and all pending work is written. */
async function expectIdle(site: Site): Promise<void> {
  await eventually("no drill runs", async () => expect((await site.checklist()).underway).toEqual([]));
  await site.advance(1);
}

/** Runs a browser-return drill until it holds webhooks and its customer has returned; `end` continues the drill. */
async function holdWebhooks(site: Site) {
  let end = (): void => undefined;
  const gate = new Promise<void>((resolve) => (end = resolve));
  const returns = (): number => site.asked.filter((line) => line.startsWith("GET /thanks")).length;
  site.waitFor((target) => (target.startsWith("/thanks") && returns() >= 8 ? gate : Promise.resolve()));
  const kill = new AbortController();
  const ended = site.harness.run(DRILLS.browser_return.split(" "), { killed: kill.signal });
  await eventually("the customer is back", () => expect(returns()).toBeGreaterThanOrEqual(8));
  return { end, kill: () => kill.abort(), ended };
}

test("an endpoint whose deliveries a drill holds is shown as paused by the drill, but stays enabled in the database", async () => {
  const site = await openSite(ON_DISK);
  const { harness } = site;
  const paused = await site.addEndpoint("http://localhost:3001/hooks");
  await site.control(`/endpoints/${paused.id}/state`, { action: "pause" });
  const drill = await holdWebhooks(site);

  const [held] = partWords(createPart("drill", { value: "duplicates" }));
  const [byRequest] = PART_TEXTS.by_request;
  const listed = JSON.parse((await harness.run(["endpoints", "list", "--json"])).stdout) as object;
  expect(listed).toMatchObject({
    endpoints: [
      { state: "paused", reason: held, paused_by: "drill" },
      { state: "paused", reason: byRequest, paused_by: "request" },
    ],
  });
  const { stdout: text } = await harness.run(["endpoints", "list"], { columns: 160 });
  for (const [url, reason] of [
    ["http://localhost:3000/hooks", held],
    ["http://localhost:3001/hooks", byRequest],
  ] as const)
    expect(text.split("\n").find((line) => line.includes(url))).toMatch(inOrder(" paused ", url, reason));
  const { stdout: checklist } = await harness.run(["checklist", "--item", "webhook_verification"]);
  const drillTitle = READINESS_SENTENCES.webhookDrill('"http://localhost:3000/hooks"');
  for (const words of [
    READINESS_SENTENCES.invalid(drillTitle, READINESS_SENTENCES.notRun),
    READINESS_SENTENCES.endpointPaused("http://localhost:3000/hooks", [held, ""]),
    READINESS_SENTENCES.endpointPaused("http://localhost:3001/hooks", [byRequest, ""]),
  ])
    expect(checklist).toContain(english(words));
  const enabled = await site.control<WireAnswerOf<"showEndpoint">>(`/endpoints/${site.endpointId}/state`, {
    action: "enable",
  });
  expect(enabled.data).toMatchObject({ state: "paused", paused_by: "drill" });
  expect((await site.deliveries("?state=due")).map(({ tries }) => tries)).not.toEqual([]);
  const database = site.database();
  const states = database.prepare("SELECT state FROM endpoints ORDER BY created_at, id").pluck().all();
  database.close();
  expect(states).toEqual(["enabled", "paused"]);

  drill.end();
  expect((await drill.ended).code).toBe(0);
  expect((await site.endpoints()).map(({ state, paused_by: by }) => [state, by])).toEqual([
    ["enabled", null],
    ["paused", "request"],
  ]);
});

test("a fault that a user adds during a drill stays, and the drill's own faults end with the drill", async () => {
  const site = await openSite();
  const drill = await holdWebhooks(site);
  const actions = async (): Promise<readonly string[]> =>
    (JSON.parse((await site.harness.run(["faults", "list", "--json"])).stdout) as Faults).faults.map(
      ({ action }) => action,
    );
  expect((await site.harness.run(["faults", "add", "drop", "--order-id", "order-of-mine"])).code).toBe(0);
  expect(await actions()).toContain("drop");
  drill.end();
  expect((await drill.ended).code).toBe(0);
  expect(await actions()).toEqual(["drop"]);
});

test("a drill whose lease ended early records nothing", async () => {
  const site = await openSite();
  const drill = await holdWebhooks(site);
  const [running] = (await site.checklist()).underway;
  expect(running).toMatchObject({ drill: "duplicates" });
  await site.control(`/leases/${running?.id ?? ""}/end`, {});
  drill.end();
  const { code, stderr } = await drill.ended;
  expect([code, stderr]).toEqual([1, expect.stringMatching(refusalText("lease_ended"))]);
  expect(await site.drills()).toEqual([]);
});

test("a drill ends at its timeout, even if its command still runs", async () => {
  const site = await openSite();
  await holdWebhooks(site);
  expect((await site.checklist()).underway).toMatchObject([{ drill: "duplicates" }]);
  // More than the default budget and half an hour.
  site.harness.clock.advance(46 * 60_000);
  await expectNothingLeft(site, "timeout");
});

test("a stopping sandbox ends its drills, and the deliveries that they held are sent after the next start", async () => {
  const site = await openSite(ON_DISK);
  const drill = await holdWebhooks(site);
  await site.stop();
  drill.end();
  // The command finds the sandbox unreachable, or gets the answer that the lease has ended.
  expect([1, 7]).toContain((await drill.ended).code);
  await site.restart();
  await expectNothingLeft(site, "restart");
});

const REFUSED = "refused in the midst of a drill";

/** Runs a drill, and refuses one of its calls to the sandbox. */
async function refuseAt({ harness }: Site, kind: Kind, { request, nth }: Point) {
  const count = counted();
  harness.setFault((outbound, pass) => {
    if (isDelivery(outbound)) return pass();
    const point = count(outbound);
    if (point.request !== request || point.nth !== nth) return pass();
    const error = { code: "state_conflict", message: REFUSED };
    const body = JSON.stringify({ ok: false, request_id: "00000000-0000-7000-8000-000000000000", error });
    return Promise.resolve({ ok: true, status: 409, headers: {}, body });
  });
  const { code, stderr } = await harness.run(DRILLS[kind].split(" "));
  harness.setFault((_request, pass) => pass());
  return { code, stderr };
}

for (const kind of ["idempotency"] as const)
  test(`a refused call ends the ${kind} drill with the reason, and leaves nothing behind`, async () => {
    const site = await openSite(ON_DISK);
    await site.create("before-all-drills");
    const points = chosenOf(await requestsOf(site, kind));
    const calls = points.filter(
      ({ request }) => request.includes("/__sandbox/") && !/\/end +$/.test(request),
    );
    const kept = (await site.drills()).length;
    expect(calls.length).toBeGreaterThanOrEqual(2);
    const ended = [];
    for (const point of calls) {
      const { code, stderr } = await refuseAt(site, kind, point);
      const isKept = (await site.drills()).length > kept;
      ended.push([`${point.request} ${point.nth}`, code, stderr.includes(REFUSED), isKept]);
      await expectNothingLeft(site, `${kind} without ${point.request} ${point.nth}`);
    }
    expect(ended).toEqual(calls.map(({ request, nth }) => [`${request} ${nth}`, 5, true, false]));
  });
