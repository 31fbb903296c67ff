import { accept, prefixFieldName, mapValue, type Outcome, type Refused } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { containsSecretInAddress, printableLiteral } from "../text.ts";
import { parseEventTypes } from "../checkout/event-types.ts";
import { isApiAction } from "./actions.ts";
import { PROFILE_FAULTS } from "./profiles.ts";
import type { FaultEntry, SingleFaultRequest, FaultsRequest } from "./shapes.ts";
import {
  MAX_API_LATENCY_MS,
  API_MATCH_FIELDS,
  DELIVERY_MATCH_FIELDS,
  FAULT_PARAMETERS,
  PATH_PATTERN,
  type FaultParameter,
} from "./rules.ts";

export type FaultTerms = Omit<FaultEntry, "id" | "seed" | "matched" | "applied" | "createdAt"> & {
  /** If null, a random seed is drawn. */
  readonly seed: string | null;
};

/** Returns one fault, or all faults of a profile. Refuses with `invalid_parameter`. */
export function parseFaults({ profile, action, ...rest }: FaultsRequest): Outcome<readonly FaultTerms[]> {
  if (profile === undefined && action !== undefined) {
    return mapValue(parseFaultTerms({ ...rest, action }), (terms) => [terms]);
  }
  const fields = Object.entries(rest).filter(([name, value]) => value !== undefined && name !== "seed");
  if (profile === undefined || action !== undefined || fields.length > 0) return refuseFact("fault_form", {});
  const allTerms: FaultTerms[] = [];
  for (const profileFault of PROFILE_FAULTS[profile]) {
    const terms = parseFaultTerms({ ...profileFault, seed: rest.seed });
    if (!terms.ok) return terms;
    allTerms.push(terms.value);
  }
  return accept(allTerms);
}

function parseFaultTerms(request: SingleFaultRequest): Outcome<FaultTerms> {
  const { action, match = {} } = request;
  const refusal = checkMatchFields(request) ?? checkParameters(request) ?? checkValues(request);
  if (refusal !== undefined) return refusal;
  const types = match.eventType === undefined ? undefined : parseEventTypes([match.eventType]);
  if (types?.ok === false) return types;
  const parameterValue = (field: keyof typeof FAULT_PARAMETERS): number | null => {
    const parameter: FaultParameter = FAULT_PARAMETERS[field];
    return request[field] ?? (parameter.actions.includes(action) ? parameter.default : null);
  };
  const { times = request.until === undefined ? 1 : null, until = null, seed = null } = request;
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
    status: parameterValue("status"),
    latencyMs: parameterValue("latencyMs"),
    retryAfterS: parameterValue("retryAfterS"),
  });
}

function checkMatchFields({ action, match = {} }: SingleFaultRequest): Refused | undefined {
  const isApi = isApiAction(action);
  const [ownFields, otherFields] = isApi
    ? [API_MATCH_FIELDS, DELIVERY_MATCH_FIELDS]
    : [DELIVERY_MATCH_FIELDS, API_MATCH_FIELDS];
  const entry = Object.entries(otherFields).find(([name]) => match[name as keyof typeof match] !== undefined);
  if (entry === undefined) return undefined;
  const names = Object.values(ownFields).join(", ");
  const fact = isApi ? "fault_of_requests" : "fault_of_deliveries";
  return prefixFieldName(`match.${entry[1]}`, refuseFact(fact, { action, names }));
}

function checkParameters({ action, ...fields }: SingleFaultRequest): Refused | undefined {
  const givenParameters = Object.entries<FaultParameter>(FAULT_PARAMETERS).filter(
    ([field]) => fields[field as keyof typeof FAULT_PARAMETERS] !== undefined,
  );
  const parameter = givenParameters.find(([, { actions }]) => !actions.includes(action))?.[1];
  if (parameter === undefined) return undefined;
  const { name, actions } = parameter;
  return prefixFieldName(name, refuseFact("fault_parameter", { actions, action }));
}

function checkValues({ action, match = {}, latencyMs = 0 }: SingleFaultRequest): Refused | undefined {
  const { path = "", orderId = "" } = match;
  const secretField = containsSecretInAddress(path)
    ? "path"
    : containsSecretInAddress(orderId)
      ? "order_id"
      : undefined;
  if (secretField !== undefined)
    return prefixFieldName(`match.${secretField}`, refuseFact("fault_secret", {}));
  if (match.path !== undefined && !new RegExp(PATH_PATTERN).test(match.path))
    return prefixFieldName(
      "match.path",
      refuseFact("fault_path", { received: printableLiteral(match.path) }),
    );
  if (isApiAction(action) && latencyMs > MAX_API_LATENCY_MS)
    return prefixFieldName(
      FAULT_PARAMETERS.latencyMs.name,
      refuseFact("fault_latency", { most: MAX_API_LATENCY_MS, received: latencyMs }),
    );
  return undefined;
}
