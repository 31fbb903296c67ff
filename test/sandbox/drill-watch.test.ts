import { expect, test } from "vitest";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import type { WireAnswerOf } from "../support/wire.ts";
import { refusalText } from "../support/refusal-texts.ts";

/** A sandbox in this process, by default without a state on disk. */
async function openSite(args: readonly string[] = EPHEMERAL) {
  const site = await openWebhookSite(args);
  const { control } = site;
  const openLease = async (drill: string): Promise<WireAnswerOf<"openLease">> => {
    const told = await control<WireAnswerOf<"openLease">>("/leases", { drill, timeout_ms: 600_000 });
    return told.data;
  };
  const drills = async () => (await control<WireAnswerOf<"listDrills">>("/drills")).data.drills;
  return { ...site, openLease, drills };
}

const POST = {
  method: "POST",
  suffix: "",
  headers: [{ name: "X-One", value: "1" }],
  body: "e30=",
  connection: "kept",
};

test("postToEndpoint sends requests with the given method, suffix and headers, and only under a lease", async () => {
  const site = await openSite();
  const lease = await site.openLease("duplicates");
  const receiver = site.receiver(3000);
  const endpoint = await site.addEndpoint(receiver.url);
  receiver.answers = () => ({ status: 418, headers: { "retry-after": "7" }, body: "no tea" });
  const wanted = { ...POST, endpoint_id: endpoint.id };
  const post = (...posts: readonly object[]) =>
    site.control<WireAnswerOf<"postToEndpoint">>("/drills/post", { lease_id: lease.id, posts });
  const seen: unknown[] = [];
  site.harness.setFault((request, pass) => {
    if (request.url.startsWith(receiver.url)) seen.push([request.method, request.url, request.lines]);
    return pass();
  });
  expect((await post(wanted)).data.answers).toEqual([
    {
      url: receiver.url,
      milliseconds: 0,
      status: 418,
      body: "no tea",
      retry_after: "7",
      error: null,
      message: "",
      fault: null,
    },
  ]);
  const headers = [
    { name: "X-Two", value: "1" },
    { name: "X-Two", value: "2" },
    { name: "X-One", value: "3" },
  ];
  await post({ ...wanted, method: "PUT", suffix: "/", headers }, { ...wanted, suffix: "?x=1" });
  expect(seen).toEqual([
    ["POST", receiver.url, {}],
    ["PUT", `${receiver.url}/`, { "X-Two": ["1", "2"] }],
    ["POST", `${receiver.url}?x=1`, {}],
  ]);
  expect([await site.drills(), (await site.control<{ deliveries: unknown[] }>("/deliveries")).data]).toEqual([
    [],
    expect.objectContaining({ deliveries: [] }),
  ]);
  const codeOf = async (body: object) => (await post(body)).error?.code;
  expect(await codeOf({ ...wanted, endpoint_id: lease.id })).toBe("not_found");
  await site.control(`/endpoints/${endpoint.id}/state`, { action: "pause" });
  expect(await codeOf(wanted)).toBe("state_conflict");
  await site.control(`/leases/${lease.id}/end`, {});
  expect(await codeOf(wanted)).toBe("not_found");
});

test("a drill repeats a rate-limited request after pauses that double or follow Retry-After, at most 30 s each", async () => {
  const site = await openSite([]);
  const receiver = site.receiver(3000);
  await site.addEndpoint(receiver.url);
  /** The times of the requests in seconds, until the request numbered `last` ends the lease. */
  const secondsOf = async (
    last: number,
    headers: Readonly<Record<string, string>>,
  ): Promise<readonly number[]> => {
    receiver.got.length = 0;
    receiver.answers = async (number) => {
      if (number === last) {
        const [running] = (await site.control<{ underway: { id: string }[] }>("/checklist")).data.underway;
        await site.control(`/leases/${running?.id ?? ""}/end`, {});
      }
      return { status: 429, headers, body: "" };
    };
    const { code, stderr } = await site.harness.run(["checklist", "run", "webhooks"]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(refusalText("lease_ended"))]);
    const begun = receiver.got[0]?.at ?? 0;
    expect(receiver.got[0]?.body).toContain(`"created_at":"${new Date(begun).toISOString()}"`);
    return receiver.got.map(({ at }) => (at - begun) / 1000);
  };
  // The last time is the time of the next request, after all attempts of the first request.
  expect(await secondsOf(7, {})).toEqual([0, 1, 3, 7, 15, 31, 31]);
  expect(await secondsOf(4, { "retry-after": "45" })).toEqual([0, 30, 60, 60]);
  expect(await secondsOf(7, { "retry-after": "2" })).toEqual([0, 2, 4, 8, 16, 32, 32]);
});

test("a drill repeats a request only if the receiver had closed the kept-alive connection", async () => {
  const site = await openSite();
  const receiver = site.receiver(3000);
  const endpoint = await site.addEndpoint(receiver.url);
  const lease = await site.openLease("duplicates");
  const sentAs = async (failure: "connection_lost" | "timeout" | "unreachable", wasReused: boolean) => {
    const connections: (string | undefined)[] = [];
    site.harness.setFault((request, pass) => {
      if (request.url !== receiver.url) return pass();
      connections.push(request.connection);
      const lost = { ok: false, failure, message: "", wasReused } as const;
      return request.connection === "kept" ? Promise.resolve(lost) : pass();
    });
    const { answers } = (
      await site.control<WireAnswerOf<"postToEndpoint">>("/drills/post", {
        lease_id: lease.id,
        posts: [{ ...POST, endpoint_id: endpoint.id }],
      })
    ).data;
    return [connections, answers.map(({ status, error }) => ({ status, error }))];
  };
  const lost = { status: null, error: "connection_lost" };
  expect(await sentAs("connection_lost", true)).toEqual([["kept", "fresh"], [{ status: 200, error: null }]]);
  expect(await sentAs("connection_lost", false)).toEqual([["kept"], [lost]]);
  expect(await sentAs("timeout", true)).toEqual([["kept"], [{ status: null, error: "timeout" }]]);
  expect(await sentAs("unreachable", false)).toEqual([["kept"], [{ status: null, error: "unreachable" }]]);
});
