import { isPartName, partWords, type Part } from "../fact.ts";
import { ENDPOINT_REASONS } from "../refusals/parts.ts";
import type { Words } from "../language.ts";
import { refusalWords } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import type { PartName } from "../refusals/parts.ts";
import type { EndpointEntry } from "./shapes.ts";

export type EndpointState = Endpoint["state"];

/** Times are in milliseconds by the store's clock. */
export type Endpoint = Omit<EndpointEntry, "pausedBy" | "cause" | "hold"> & {
  readonly storeId: string;
  /** The name of a reason in core/refusals/parts.ts, or a text of an older version. */
  readonly reason: string | null;
};

export type EffectiveEndpoint = EndpointEntry & Pick<Endpoint, "storeId">;

export const LISTENER_DISCONNECTED = "listener_disconnected" satisfies PartName;

/** RFC 2606 reserves `.invalid`, so the name never resolves. */
export function pullListenerUrl(name: string): string {
  return `http://${name}.listener.invalid/`;
}

export function isPullListenerUrl(url: string): boolean {
  return /^http:\/\/[0-9a-f]+\.listener\.invalid\/$/.test(url);
}

/** The reasons of endpoints that a user disabled; with any other reason, a disabled endpoint has failed. */
export const MANUAL_REASONS: ReadonlySet<string | null> = new Set([null, "switched_off", "removed"]);

export function reasonWords({ hold, ...endpoint }: Pick<EndpointEntry, "reason" | "cause" | "hold">): Words {
  if (hold !== undefined) return refusalWords(refuseFact("nothing_delivered", { hold }).refusal);
  const reason = reasonOf(endpoint);
  return typeof reason === "string" ? [reason, reason] : partWords(reason);
}

export function reasonOf({ reason, cause }: Pick<EndpointEntry, "reason" | "cause">): Part | string {
  if (cause === null || !isPartName(cause.fact) || !(cause.fact in ENDPOINT_REASONS)) return reason ?? "";
  return { fact: cause.fact, values: { value: cause.value } };
}

export function effectiveEndpoint(endpoint: Endpoint, holdingDrill: string | undefined): EffectiveEndpoint {
  const { state, reason } = endpoint;
  if (state === "enabled" && holdingDrill !== undefined)
    return withReason({ ...endpoint, state: "paused", pausedBy: "drill" }, "drill", holdingDrill);
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
