import type { Words } from "../language.ts";
import type { EndpointEntry } from "./shapes.ts";

export type EndpointState = Endpoint["state"];

/** An address to which events of a store are delivered. Times are milliseconds by the store's clock. */
export type Endpoint = Omit<EndpointEntry, "pausedBy" | "cause"> & {
  readonly storeId: string;
  /** The name of one of `ENDPOINT_REASONS`. */
  readonly reason: string | null;
};

/** An endpoint in its current state, and the cause of its pause. */
export type EffectiveEndpoint = EndpointEntry & Pick<Endpoint, "storeId">;

/** Why an endpoint is paused or disabled (decision 13). The first five names are stored. */
const ENDPOINT_REASONS = {
  switched_off: () => ["it was switched off", "已手动停用"],
  removed: () => ["it was removed", "已删除"],
  gone: () => ["it answered 410 Gone", "接收端返回了 410 Gone"],
  no_success: () => ["no delivery succeeded for 120 hours", "120 小时内没有推送成功"],
  listener_disconnected: () => ["its listener went away", "监听程序已断开"],
  by_request: () => ["it was paused by request", "已手动暂停"],
  drill: (name) => [
    `checkout checklist run ${name} holds its events back`,
    `checkout checklist run ${name} 暂缓推送其事件`,
  ],
} satisfies Readonly<Record<string, (value: string) => Words>>;

const REASONS: ReadonlyMap<string, (value: string) => Words> = new Map(Object.entries(ENDPOINT_REASONS));

export const LISTENER_DISCONNECTED = "listener_disconnected" satisfies keyof typeof ENDPOINT_REASONS;

/** The address of a listener that fetches its deliveries: a name that no network resolves (RFC 2606). */
export function polledAddress(name: string): string {
  return `http://${name}.listener.invalid/`;
}

export function isPolledAddress(url: string): boolean {
  return /^http:\/\/[0-9a-f]+\.listener\.invalid\/$/.test(url);
}

/** The reasons of users; for any other reason a disabled endpoint has failed. */
export const MANUAL_REASONS: ReadonlySet<string | null> = new Set([null, "switched_off", "removed"]);

/** The reason for an endpoint's state. A text of an older version or of another program is shown as it is. */
export function reasonWords({ reason, cause }: Pick<EndpointEntry, "reason" | "cause">): Words {
  return (cause && REASONS.get(cause.fact)?.(cause.value)) ?? [reason ?? "", reason ?? ""];
}

/** The current state of an endpoint; `heldBy` is the drill that holds the store's webhooks, if any (decision 66). */
export function effectiveEndpoint(endpoint: Endpoint, heldBy: string | undefined): EffectiveEndpoint {
  const { state, reason } = endpoint;
  if (state === "enabled" && heldBy !== undefined)
    return withReason({ ...endpoint, state: "paused", pausedBy: "drill" }, "drill", heldBy);
  if (state !== "paused") return withReason({ ...endpoint, pausedBy: null }, reason);
  const pausedBy = reason === LISTENER_DISCONNECTED ? "listener" : "request";
  return withReason({ ...endpoint, pausedBy }, reason ?? "by_request");
}

function withReason(
  endpoint: Omit<EffectiveEndpoint, "cause">,
  fact: string | null,
  value = "",
): EffectiveEndpoint {
  const cause = fact === null ? null : { fact, value };
  const [english] = reasonWords({ reason: fact, cause });
  return { ...endpoint, cause, reason: cause && english };
}
