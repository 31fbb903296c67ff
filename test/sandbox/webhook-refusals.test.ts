import { expect, test } from "vitest";
import { EPHEMERAL } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import { refusalMessage, refusalText } from "../support/refusal-texts.ts";

test("the control API accepts the action leave only for a listener's endpoint", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const { id } = await site.addEndpoint(site.receiver(3000).url);
  const left = await site.control(`/endpoints/${id}/state`, { action: "leave" });
  expect([left.error?.code, left.error?.message]).toEqual([
    "state_conflict",
    expect.stringMatching(refusalText("endpoint_without_listener", { endpoint: id })),
  ]);
  expect(await site.endpoint(id)).toMatchObject({ state: "enabled", reason: null, paused_by: null });
  const listener = await site.control<{ readonly id: string }>("/listener", {
    url: site.receiver(3001).url,
  });
  await site.control(`/endpoints/${listener.data.id}/state`, { action: "leave" });
  expect(await site.endpoint(listener.data.id)).toMatchObject({ state: "paused", paused_by: "listener" });
});

test("a refused retry suggests checkout listen if the listener has stopped, and no command if the endpoint was paused", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const { data } = await site.control<{ readonly id: string }>("/listener", { url: site.receiver(3001).url });
  const retry = async () => (await site.control("/deliveries/retry", { endpoint_id: data.id })).error;
  for (const [action, fact, next] of [
    ["leave", "endpoint_without_its_listener", "checkout listen"],
    ["pause", "endpoint_paused", undefined],
  ] as const) {
    await site.control(`/endpoints/${data.id}/state`, { action });
    const refused = await retry();
    expect([refused?.message, refused?.next]).toEqual([
      expect.stringMatching(refusalText(fact, { endpoint: data.id })),
      next,
    ]);
  }
});

test("the control API refuses the query parameter before together with since or wait_ms", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  await site.addEndpoint(site.receiver(3000).url);
  await site.order();
  const [event] = await site.events();
  const [delivery] = await site.deliveries();
  for (const [path, newer] of [
    [`/events?before=${event?.event_id}&since=0`, "since"],
    [`/events?before=${event?.event_id}&wait_ms=0`, "wait_ms"],
    [`/deliveries?before=${delivery?.id}&wait_ms=0`, "wait_ms"],
  ]) {
    const { error } = await site.control(path ?? "");
    expect([path, error?.code, error?.message]).toEqual([
      path,
      "invalid_parameter",
      refusalMessage("before_and_newer", { newer: newer ?? "" }),
    ]);
  }
  expect((await site.control(`/deliveries?before=${delivery?.id}`)).ok).toBe(true);
});
