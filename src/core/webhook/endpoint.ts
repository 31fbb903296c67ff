import type { Words } from "../language.ts";
import type { EndpointEntry } from "./shapes.ts";

/** The state of an endpoint: enabled, paused or disabled. */
export type EndpointState = Endpoint["state"];

/** An address to which events of a store are delivered. Times are milliseconds by the store's clock. */
export type Endpoint = Omit<EndpointEntry, "pausedBy"> & { readonly storeId: string };

/** An endpoint in its current state, and the cause of its pause. */
export type EffectiveEndpoint = EndpointEntry & Pick<Endpoint, "storeId">;

/** Reasons for an endpoint that was disabled or removed manually. Any other reason for being disabled is a failure. */
export const MANUAL_REASONS = { off: "it was switched off", removed: "it was removed" } as const;

/** Reasons for an endpoint that was disabled automatically (decision 13). */
export const AUTOMATIC_REASONS = {
  gone: "it answered 410 Gone",
  hopeless: "no delivery succeeded for 120 hours",
} as const;

/** The reason for pausing an endpoint whose `checkout listen` is disconnected. */
export const LISTENER_AWAY_REASON = "its listener went away";

const BY_REQUEST = "it was paused by request";
const heldByDrill = (name: string): string => `checkout checklist run ${name} holds its events back`;

/** The reasons in Chinese, by their English texts, which are stored. */
const REASONS: ReadonlyMap<string, string> = new Map([
  [MANUAL_REASONS.off, "已手动停用"],
  [MANUAL_REASONS.removed, "已删除"],
  [AUTOMATIC_REASONS.gone, "接收端返回了 410 Gone"],
  [AUTOMATIC_REASONS.hopeless, "120 小时内没有推送成功"],
  [LISTENER_AWAY_REASON, "监听程序已断开"],
  [BY_REQUEST, "已手动暂停"],
]);

/** The reason for an endpoint's state, in both languages. */
export function reasonWords(reason: string): Words {
  const [, drill] = /^checkout checklist run (\S+) holds its events back$/.exec(reason) ?? [];
  if (drill !== undefined) return [reason, `checkout checklist run ${drill} 暂缓推送其事件`];
  return [reason, REASONS.get(reason) ?? reason];
}

/** The current state of an endpoint; `heldBy` is the drill that holds the store's webhooks, if any (decision 66). */
export function effectiveEndpoint(endpoint: Endpoint, heldBy: string | undefined): EffectiveEndpoint {
  const { state, reason } = endpoint;
  if (state === "enabled" && heldBy !== undefined) {
    return { ...endpoint, state: "paused", reason: heldByDrill(heldBy), pausedBy: "drill" };
  }
  if (state !== "paused") return { ...endpoint, pausedBy: null };
  const pausedBy = reason === LISTENER_AWAY_REASON ? "listener" : "request";
  return { ...endpoint, reason: reason ?? BY_REQUEST, pausedBy };
}
