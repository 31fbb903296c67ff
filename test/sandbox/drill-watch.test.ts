import { expect, test } from "vitest";
import type { HttpResponse } from "../../src/world.ts";
import { openWebhookSite, type Told } from "../support/webhook-site.ts";
import type { WireAnswerOf } from "../support/wire.ts";

type Site = Awaited<ReturnType<typeof openWebhookSite>>;

/** A sandbox in this process, without a state on disk. */
async function openSite() {
  const site = await openWebhookSite(["--ephemeral"]);
  const { control } = site;
  const openLease = async (drill: string): Promise<WireAnswerOf<"openLease">> => {
    const told = await control<WireAnswerOf<"openLease">>("/leases", { drill, timeout_ms: 600_000 });
    return told.data;
  };
  const drills = async () => (await control<WireAnswerOf<"listDrills">>("/drills")).data.drills;
  return { ...site, openLease, drills };
}

/** An idempotency drill whose calls a test makes itself. */
async function openDrill(site: Site & Pick<Awaited<ReturnType<typeof openSite>>, "openLease">) {
  const { id, api_key: apiKey } = await site.openLease("idempotency");
  const call = <Data>(path: string, body?: object): Promise<Told<Data>> =>
    site.control<Data>(`/drills/idempotency/${id}${path}`, body);
  return {
    id,
    apiKey: apiKey ?? "",
    begin: (run: string, orderId: string) => call("/runs", { run, order_id: orderId }),
    end: async (ending = "exited") =>
      (
        await call<WireAnswerOf<"endClientRun">>("/runs/end", {
          ending,
          exit_code: ending === "exited" ? 0 : null,
        })
      ).data,
    awaitLoss: () => call<WireAnswerOf<"awaitClientRun">>("/runs/current"),
    create: (orderId: string, key: string, own = apiKey ?? ""): Promise<HttpResponse> =>
      site.sandbox().request({
        path: "/v1/orders",
        headers: { "Idempotency-Key": key, Authorization: `Bearer ${own}` },
        body: JSON.stringify({ order_id: orderId, price_id: "price_coffee" }),
      }),
    close: () => call<WireAnswerOf<"closeIdempotencyDrill">>("/close", {}),
    judge: () => call<WireAnswerOf<"judgeIdempotencyDrill">>("/judge", {}),
  };
}

/** Whether something has come yet, after all that is under way has had its turn. */
async function hasCome(promise: Promise<unknown>): Promise<boolean> {
  let isThere = false;
  void promise.then(() => (isThere = true));
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return isThere;
}

test("the wait for a lost answer ends with the run, also where no answer was lost", async () => {
  const drill = await openDrill(await openSite());
  await drill.begin("killed", "order-2");
  const waiting = drill.awaitLoss();
  expect(await hasCome(waiting)).toBe(false);
  expect(await drill.end()).toEqual({ came: false, lost: false, answered: false });
  expect((await waiting).data).toEqual({ lost: false });
});

test("the answer of the run that is killed is held back until that run has ended", async () => {
  const drill = await openDrill(await openSite());
  await drill.begin("killed", "order-2");
  const waiting = drill.awaitLoss();
  const created = drill.create("order-2", "key-number-2");
  expect((await waiting).data).toEqual({ lost: true });
  expect(await hasCome(created)).toBe(false);
  expect(await drill.end("killed")).toEqual({ came: true, lost: true, answered: false });
  expect((await created).dropped).toBe(true);
  // The next run has its own answer.
  await drill.begin("restarted", "order-2");
  expect((await drill.create("order-2", "key-number-2")).dropped).toBeUndefined();
  expect(await drill.end()).toEqual({ came: true, lost: false, answered: true });
});

test("a drill that another one replaces, or whose lease ends, holds nothing back any more", async () => {
  const site = await openSite();
  const first = await openDrill(site);
  await first.begin("killed", "order-2");
  const held = first.create("order-2", "key-number-2");
  expect(await hasCome(held)).toBe(false);
  const second = await openDrill(site);
  expect((await held).dropped).toBe(true);
  expect((await first.begin("restarted", "order-2")).error?.code).toBe("not_found");
  await second.begin("killed", "order-3");
  const other = second.create("order-3", "key-number-3");
  expect(await hasCome(other)).toBe(false);
  await site.control(`/leases/${second.id}/end`, {});
  expect((await other).dropped).toBe(true);
  expect((await second.close()).error?.code).toBe("not_found");
});

test("only what comes with the drill's key, or without a key for its order, is the client's", async () => {
  const site = await openSite();
  const drill = await openDrill(site);
  const { api_key: storeKey } = site.sandbox().ready;
  await drill.begin("first", "order-1");
  await drill.create("order-9", "key-number-9", storeKey ?? "");
  expect((await drill.create("order-1", "key-number-1", "no key")).status).toBe(401);
  await drill.create("order-8", "key-number-8", "no key");
  expect(await drill.end()).toEqual({ came: true, lost: false, answered: false });
  await drill.close();
  const { creates } = (await drill.judge()).data;
  expect(creates.map(({ order_id: orderId, result }) => [orderId, result])).toEqual([
    ["order-1", "credential_invalid"],
  ]);
  const other = await openDrill(site);
  await other.begin("first", "order-9");
  await other.create("order-9", "key-number-9", storeKey ?? "");
  await other.end();
  await other.close();
  const [step] = (await other.judge()).data.steps;
  expect(step?.cause).toContain(`…${storeKey?.slice(-4)}`);
});

test("a webhook drill whose lease ends on the way has no verdict, and nothing of it is kept", async () => {
  const site = await openSite();
  const lease = await site.openLease("webhook");
  const receiver = site.receiver(3000);
  const endpoint = await site.addEndpoint(receiver.url);
  receiver.answers = async (number) => {
    if (number === 3) await site.control(`/leases/${lease.id}/end`, {});
    return { status: 200, headers: {}, body: "" };
  };
  const told = await site.control("/drills/webhook", { lease_id: lease.id });
  expect([told.ok, told.error?.code, receiver.got.length, await site.drills()]).toEqual([
    false,
    "not_found",
    3,
    [],
  ]);
  const again = await site.control("/drills/webhook", { lease_id: lease.id });
  expect([again.error?.code, receiver.got.length]).toEqual(["not_found", 3]);
  // It has ended, whatever there is to drill.
  await site.control(`/endpoints/${endpoint.id}/state`, { action: "pause" });
  expect((await site.control("/drills/webhook", { lease_id: lease.id })).error?.code).toBe("not_found");
});

test("a receiver that limits the rate gets each request again after a pause, and all pauses have an end", async () => {
  const site = await openSite();
  const receiver = site.receiver(3000);
  await site.addEndpoint(receiver.url);
  /** The seconds of the requests until the drill is given up. */
  const secondsOf = async (
    last: number,
    headers: Readonly<Record<string, string>>,
  ): Promise<readonly number[]> => {
    const lease = await site.openLease("webhook");
    receiver.got.length = 0;
    receiver.answers = async (number) => {
      if (number === last) await site.control(`/leases/${lease.id}/end`, {});
      return { status: 429, headers, body: "" };
    };
    await site.control("/drills/webhook", { lease_id: lease.id });
    const begun = receiver.got[0]?.at ?? 0;
    expect(receiver.got[0]?.body).toContain(`"created_at":"${new Date(begun).toISOString()}"`);
    return receiver.got.map(({ at }) => (at - begun) / 1000);
  };
  // Six attempts of the first request, and five of the next one, whose last pause would be too much.
  expect(await secondsOf(7, {})).toEqual([0, 1, 3, 7, 15, 31, 31, 32, 34, 38, 46]);
  expect(await secondsOf(4, { "retry-after": "45" })).toEqual([0, 30, 60, 60]);
  expect(await secondsOf(4, { "retry-after": "2" })).toEqual([0, 2, 4, 8, 16, 32]);
});

test("an event that a drill sends is sent anew where the receiver has closed the kept connection, and only there", async () => {
  const site = await openSite();
  const receiver = site.receiver(3000);
  await site.addEndpoint(receiver.url);
  await site.order();
  const [event] = await site.events();
  const { id: leaseId } = await site.openLease("duplicates");
  const deliver = (lease: string, eventId = event?.event_id) =>
    site.control<WireAnswerOf<"deliverForDrill">>("/drills/duplicates/deliver", {
      lease_id: lease,
      event_id: eventId,
    });
  const sentAs = async (failure: "connection_lost" | "timeout" | "unreachable") => {
    const connections: (string | undefined)[] = [];
    site.harness.setFault((request, pass) => {
      if (request.url !== receiver.url) return pass();
      connections.push(request.connection);
      return request.connection === "kept" ? Promise.resolve({ ok: false, failure, message: "" }) : pass();
    });
    const { answers } = (await deliver(leaseId)).data;
    return [connections, answers.map(({ status, error }) => ({ status, error }))];
  };
  expect(await sentAs("connection_lost")).toEqual([["kept", "fresh"], [{ status: 200, error: null }]]);
  expect(await sentAs("timeout")).toEqual([["kept"], [{ status: null, error: "timeout" }]]);
  expect(await sentAs("unreachable")).toEqual([["kept"], [{ status: null, error: "unreachable" }]]);
  const unknown = "00000000-0000-7000-8000-000000000000";
  expect((await deliver(unknown)).error?.code).toBe("not_found");
  expect((await deliver(leaseId, unknown)).error?.code).toBe("not_found");
  await site.control(`/leases/${leaseId}/end`, {});
  expect((await deliver(leaseId)).error?.code).toBe("not_found");
});
