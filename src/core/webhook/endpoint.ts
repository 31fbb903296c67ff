import type { EndpointEntry } from "../control/webhook.ts";

/** The state of an endpoint: enabled, paused or disabled. */
export type EndpointState = Endpoint["state"];

/** An address to which events of a store are delivered. Times are milliseconds by the store's clock. */
export type Endpoint = Omit<EndpointEntry, "pausedBy"> & { readonly storeId: string };

/** An endpoint in its current state, and the cause of its pause. */
export type EndpointNow = EndpointEntry & Pick<Endpoint, "storeId">;

/** The reasons of an endpoint that was disabled by request; any other reason is a failure. */
export const DISABLED_BY_HAND = { off: "it was switched off", removed: "it was removed" } as const;

/** The reasons of an endpoint that was disabled because of its receiver's answers (decision 13). */
export const DISABLED_BY_ANSWERS = {
  gone: "it answered 410 Gone",
  hopeless: "no delivery succeeded for 120 hours",
} as const;

/** The reason of an endpoint whose `checkout listen` is disconnected. */
export const LISTENER_AWAY = "its listener went away";

/**
 * The current state of an endpoint; `heldBy` is the drill that holds back the store's webhooks, if one does (decision
 * 66).
 */
export function endpointNow(endpoint: Endpoint, heldBy: string | undefined): EndpointNow {
  const { state, reason } = endpoint;
  if (state === "enabled" && heldBy !== undefined) {
    const held = `checkout checklist run ${heldBy} holds its events back`;
    return { ...endpoint, state: "paused", reason: held, pausedBy: "drill" };
  }
  if (state !== "paused") return { ...endpoint, pausedBy: null };
  const pausedBy = reason === LISTENER_AWAY ? "listener" : "request";
  return { ...endpoint, reason: reason ?? "it was paused by request", pausedBy };
}

/** Whether a reason is valid for a state of an endpoint. */
export function isReasonOf(state: EndpointState, reason: string | null): boolean {
  if (state === "enabled") return reason === null;
  if (state === "paused") return reason === null || reason === LISTENER_AWAY;
  return [DISABLED_BY_HAND.off, ...Object.values(DISABLED_BY_ANSWERS)].some((one) => one === reason);
}
