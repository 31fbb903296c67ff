import type { Words } from "../language.ts";
import { accept, refuseField, type Outcome } from "../outcome.ts";
import { isSecretInAddress, printableLiteral, SECRET_DESCRIPTION, SECRET_DESCRIPTION_ZH } from "../text.ts";
import { parseEventTypes } from "../checkout/event-types.ts";
import { isApiAction, type FaultAction } from "./actions.ts";
import type { FaultsRequest, FaultEntry } from "./shapes.ts";
import {
  MAX_API_LATENCY_MS,
  API_MATCH_FIELDS,
  DELIVERY_MATCH_FIELDS,
  FAULT_PARAMETERS,
  PATH_PATTERN,
  type FaultParameter,
} from "./rules.ts";

/** A requested fault; missing fields have their defaults. */
export type FaultRequest = Omit<FaultsRequest, "profile" | "action"> & { readonly action: FaultAction };

/** A valid fault before it belongs to a store. */
export type FaultTerms = Omit<FaultEntry, "id" | "seed" | "matched" | "applied" | "createdAt"> & {
  /** If null, a random seed is drawn. */
  readonly seed: string | null;
};

const WORDS_OF = {
  api: ["requests of v1", " v1 的请求"],
  deliveries: ["deliveries", "推送"],
} satisfies Record<string, Words>;

/** Checks that the fields of a fault fit together. Refuses with `invalid_parameter` and the expected value. */
export function parseFaultTerms(wanted: FaultRequest): Outcome<FaultTerms> {
  const { action, match = {} } = wanted;
  const refused = strangeField(wanted) ?? strangeParameter(wanted) ?? strangeValue(wanted);
  if (refused !== undefined) return refused;
  const types = match.eventType === undefined ? undefined : parseEventTypes([match.eventType]);
  if (types?.ok === false) return types;
  const valueOf = (field: keyof typeof FAULT_PARAMETERS): number | null => {
    const parameter: FaultParameter = FAULT_PARAMETERS[field];
    return wanted[field] ?? (parameter.of.includes(action) ? parameter.default : null);
  };
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
    status: valueOf("status"),
    latencyMs: valueOf("latencyMs"),
    retryAfterS: valueOf("retryAfterS"),
  });
}

function strangeField({ action, match = {} }: FaultRequest): ReturnType<typeof refuseField> | undefined {
  const isApi = isApiAction(action);
  const [what, own, others] = isApi
    ? [WORDS_OF.api, API_MATCH_FIELDS, DELIVERY_MATCH_FIELDS]
    : [WORDS_OF.deliveries, DELIVERY_MATCH_FIELDS, API_MATCH_FIELDS];
  const strange = Object.entries(others).find(([name]) => match[name as keyof typeof match] !== undefined);
  if (strange === undefined) return undefined;
  const names = Object.values(own).join(", ");
  return refuseField(`match.${strange[1]}`, [
    `${action} is for ${what[0]}, which are matched by ${names}, order_id, nth and probability`,
    `${action} 用于${what[1]}，可用 ${names}、order_id、nth 和 probability 筛选`,
  ]);
}

function strangeParameter({ action, ...wanted }: FaultRequest): ReturnType<typeof refuseField> | undefined {
  const given = Object.entries<FaultParameter>(FAULT_PARAMETERS).filter(
    ([field]) => wanted[field as keyof typeof FAULT_PARAMETERS] !== undefined,
  );
  const strange = given.find(([, { of }]) => !of.includes(action))?.[1];
  if (strange === undefined) return undefined;
  const { name, of } = strange;
  return refuseField(name, [
    `applies only to ${of.join(", ")}; got it with ${action}`,
    `用于 ${of.join("、")}；却与 ${action} 一起给出`,
  ]);
}

function strangeValue({
  action,
  match = {},
  latencyMs = 0,
}: FaultRequest): ReturnType<typeof refuseField> | undefined {
  const { path = "", orderId = "" } = match;
  const secret = isSecretInAddress(path) ? "path" : isSecretInAddress(orderId) ? "order_id" : undefined;
  if (secret !== undefined)
    return refuseField(`match.${secret}`, [
      `must not contain ${SECRET_DESCRIPTION}`,
      `不得包含${SECRET_DESCRIPTION_ZH}`,
    ]);
  if (match.path !== undefined && !new RegExp(PATH_PATTERN).test(match.path))
    return refuseField("match.path", [
      `expected a path of v1 such as /v1/orders or /v1/checkout-sessions/*; got ${printableLiteral(match.path)}`,
      `应为 v1 的路径，如 /v1/orders 或 /v1/checkout-sessions/*；收到 ${printableLiteral(match.path)}`,
    ]);
  if (isApiAction(action) && latencyMs > MAX_API_LATENCY_MS)
    return refuseField(FAULT_PARAMETERS.latencyMs.name, [
      `expected at most ${MAX_API_LATENCY_MS} for an answer; got ${latencyMs}`,
      `响应至多 ${MAX_API_LATENCY_MS}；收到 ${latencyMs}`,
    ]);
  return undefined;
}
