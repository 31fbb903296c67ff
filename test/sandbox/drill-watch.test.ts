import { expect, test } from "vitest";
import { openWebhookSite } from "../support/webhook-site.ts";
import type { WireAnswerOf } from "../support/wire.ts";

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
