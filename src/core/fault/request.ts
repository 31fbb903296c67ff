import { accept, refuse, type Outcome } from "../outcome.ts";
import { printableLiteral } from "../text.ts";
import { parseEventTypes } from "../webhook/event-types.ts";
import { isApiAction, type FaultAction } from "./actions.ts";
import type { AskedFaults, FaultEntry } from "./operations.ts";

/** A fault as it is asked for; what is left out has its default. */
export type WantedFault = Omit<AskedFaults, "profile" | "action"> & { readonly action: FaultAction };

/** A fault that can be added: everything that it says, but whose it is. */
export type FaultTerms = Omit<FaultEntry, "id" | "seed" | "matched" | "applied" | "createdAt"> & {
  /** Null: any. */
  readonly seed: string | null;
};

/** What actions need beside what they are for. */
type Parameter = keyof typeof NAMES;

/** Longest delay of an answer, in milliseconds: a connection that is silent for longer is closed. */
const MAX_API_LATENCY_MS = 5 * 60_000;
/** Default of a delay, in milliseconds. */
export const DEFAULT_LATENCY_MS = 2000;
/** Default of `Retry-After`, in seconds. */
export const DEFAULT_RETRY_AFTER_S = 1;
/** Default of the status that is answered. */
export const DEFAULT_STATUS = 500;

/** What each action needs, with its default; other actions need nothing. */
const PARAMETERS: Readonly<Partial<Record<FaultAction, Partial<Record<Parameter, number>>>>> = {
  status: { status: DEFAULT_STATUS },
  latency: { latencyMs: DEFAULT_LATENCY_MS },
  slow_body: { latencyMs: DEFAULT_LATENCY_MS },
  rate_limit: { retryAfterS: DEFAULT_RETRY_AFTER_S },
  delay: { latencyMs: DEFAULT_LATENCY_MS },
  reorder: { latencyMs: DEFAULT_LATENCY_MS },
};

const NAMES = { status: "status", latencyMs: "latency_ms", retryAfterS: "retry_after_s" } as const;

/** What a fault on v1 can be narrowed by, and one on deliveries, beside order_id, nth and probability. */
const OF_API = { method: "method", path: "path" } as const;
const OF_DELIVERIES = { eventType: "event_type", eventId: "event_id", endpointId: "endpoint_id" } as const;

/** Checks what belongs together in a fault. Refuses with `invalid_parameter` and what was expected. */
export function faultTerms(wanted: WantedFault): Outcome<FaultTerms> {
  const { action, match = {} } = wanted;
  const refused = strangeField(wanted) ?? strangeParameter(wanted) ?? strangeValue(wanted);
  if (refused !== undefined) return refuse("invalid_parameter", refused);
  const types = match.eventType === undefined ? undefined : parseEventTypes([match.eventType]);
  if (types?.ok === false) return types;
  const defaults = PARAMETERS[action] ?? {};
  const { times = wanted.until === undefined ? 1 : null, until = null, seed = null } = wanted;
  return accept({
    action,
    times,
    until,
    seed,
    match: {
      method: match.method ?? null,
      path: match.path ?? null,
      eventType: match.eventType ?? null,
      eventId: match.eventId ?? null,
      endpointId: match.endpointId ?? null,
      orderId: match.orderId ?? null,
      nth: match.nth ?? 1,
      probability: match.probability ?? null,
    },
    status: wanted.status ?? defaults.status ?? null,
    latencyMs: wanted.latencyMs ?? defaults.latencyMs ?? null,
    retryAfterS: wanted.retryAfterS ?? defaults.retryAfterS ?? null,
  });
}

function strangeField({ action, match = {} }: WantedFault): string | undefined {
  const isApi = isApiAction(action);
  const [what, own, others] = isApi
    ? ["requests of v1", OF_API, OF_DELIVERIES]
    : ["deliveries", OF_DELIVERIES, OF_API];
  const strange = Object.entries(others).find(([name]) => match[name as keyof typeof match] !== undefined);
  if (strange === undefined) return undefined;
  const names = Object.values(own).join(", ");
  return `match.${strange[1]}: ${action} is for ${what}, which are matched by ${names}, order_id, nth and probability`;
}

function strangeParameter(wanted: WantedFault): string | undefined {
  const needed = PARAMETERS[wanted.action] ?? {};
  const strange = (Object.keys(NAMES) as readonly Parameter[]).find(
    (name) => wanted[name] !== undefined && !(name in needed),
  );
  if (strange === undefined) return undefined;
  const users = (Object.keys(PARAMETERS) as readonly FaultAction[]).filter(
    (action) => strange in (PARAMETERS[action] ?? {}),
  );
  return `${NAMES[strange]}: is for ${users.join(", ")}; got it with ${wanted.action}`;
}

function strangeValue({ action, match = {}, latencyMs = 0 }: WantedFault): string | undefined {
  if (match.path !== undefined && !/^(\/v1\/|\*)/.test(match.path))
    return `match.path: expected a path of v1 such as /v1/orders or /v1/checkout-sessions/*; got ${printableLiteral(match.path)}`;
  if (isApiAction(action) && latencyMs > MAX_API_LATENCY_MS)
    return `latency_ms: expected at most ${MAX_API_LATENCY_MS} for an answer; got ${latencyMs}`;
  return undefined;
}
