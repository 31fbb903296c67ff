import { EVENT_TYPES } from "../../src/core/checkout/event-types.ts";
import { PROBES } from "../../src/core/calibration/probes.ts";
import { ERROR_CODES, ERRORS } from "../../src/core/errors.ts";
import { isRecord } from "../../src/core/json.ts";
import { RENAMABLE_EVENT_FIELDS, SIGNATURE_FORMS, type Dialect } from "../../src/core/shape/dialect.ts";

/** One difference of a service from the sandbox, and whether a calibration with a payer can observe it. */
type Planted = {
  readonly part: keyof typeof UNSEEN;
  readonly dialect: Dialect;
  readonly isObservable: boolean;
};

/** The reason why some differences of a part cannot be observed; empty if all can be observed. */
const UNSEEN = {
  "error codes": "no probe provokes them",
  "statuses of codes whose status the interface does not state": "only a body that is too large is provoked",
  "status of an unknown session": "",
  "event types": "the payer pays one order: events of sessions and of other statuses are not sent",
  "names of event fields": "",
  "event fields that are not sent": "",
  "form of created_at": "",
  "header names": "",
  "form of the signature header": "",
  "status and mark of a replay": "",
  "create form that wins if both are sent": "",
} as const;

const PROVOKED_CODES = new Set(PROBES.flatMap(({ checks }) => checks.map(({ refusal }) => refusal)));
const SEEN_TYPES: ReadonlySet<string> = new Set(["order.created", "order.pending", "order.succeeded"]);
const STATED: ReadonlySet<number> = new Set([400, 401, 403, 409, 429]);
const DROPPED = RENAMABLE_EVENT_FIELDS.filter((field) => field !== "type" && field !== "data");

function planted(part: Planted["part"], dialects: readonly Dialect[], isObservable = true): Planted[] {
  return dialects.map((dialect) => ({ part, dialect, isObservable }));
}

const codes = (nameOf: (code: string) => string): readonly Planted[] =>
  ERROR_CODES.flatMap((code) =>
    planted("error codes", [{ errors: { [code]: { code: nameOf(code) } } }], PROVOKED_CODES.has(code)),
  );
const types = (nameOf: (type: string) => string): readonly Planted[] =>
  EVENT_TYPES.flatMap((type) =>
    planted("event types", [{ events: { [type]: nameOf(type) } }], SEEN_TYPES.has(type)),
  );
const fields = (nameOf: (field: string) => string): readonly Planted[] =>
  RENAMABLE_EVENT_FIELDS.flatMap((field) =>
    planted("names of event fields", [{ event_fields: { [field]: nameOf(field) } }]),
  );
const headers = (prefix: string): readonly Planted[] =>
  planted("header names", [
    { headers: { event_id: `${prefix}-event` } },
    { headers: { timestamp: `${prefix}-time` } },
    { headers: { signature: `${prefix}-signature` } },
  ]);
const statuses = ERROR_CODES.filter(
  (code) => code !== "session_not_found" && !STATED.has(ERRORS[code].status),
).flatMap((code) =>
  planted(
    "statuses of codes whose status the interface does not state",
    [{ errors: { [code]: { status: 422 } } }],
    code === "body_too_large",
  ),
);

/** Differences of every field; the differences of one service do not exclude each other. */
export const SERVICES: readonly (readonly Planted[])[] = [
  [
    ...codes((code) => `svc.${code}`),
    ...statuses,
    ...planted("status of an unknown session", [{ unknown_session: 400 }]),
    ...types((type) => `svc.${type}`),
    ...fields((field) => `svc_${field}`),
    ...planted("form of created_at", [{ times: "seconds" }]),
    ...headers("x-svc"),
    ...planted("form of the signature header", [{ signature_form: SIGNATURE_FORMS[1] }]),
    ...planted("status and mark of a replay", [{ replay: { status: 200 } }, { replay: { header: null } }]),
  ],
  [
    ...codes((code) => `e-${code}`),
    ...planted("status of an unknown session", [{ unknown_session: 403 }]),
    ...types((type) => type.replace(".", ":")),
    ...fields((field) => `x.${field}`),
    ...planted("form of created_at", [{ times: "milliseconds" }]),
    ...headers("webhook"),
    ...planted("form of the signature header", [{ signature_form: SIGNATURE_FORMS[2] }]),
    ...planted("status and mark of a replay", [{ replay: { header: "x-again" } }]),
  ],
  [
    ...planted(
      "event fields that are not sent",
      DROPPED.map((field) => ({ event_fields: { [field]: null } })),
    ),
    ...planted("form of the signature header", [{ signature_form: SIGNATURE_FORMS[3] }]),
    ...planted("create form that wins if both are sent", [{ both_forms: "price_id" }]),
  ],
  planted("create form that wins if both are sent", [{ both_forms: "amount" }]),
];

/** The dialect with all differences of a service. */
export function dialectOf(service: readonly Planted[]): Dialect {
  return service.reduce<Dialect>((whole, { dialect }) => merge(whole, dialect), {});
}

function merge<Value extends object>(one: Value, other: Value): Value {
  const merged = Object.entries(other).map(([name, value]) => {
    const known: unknown = Reflect.get(one, name);
    return [name, isRecord(known) && isRecord(value) ? merge(known, value) : value] as const;
  });
  return { ...one, ...Object.fromEntries(merged) };
}

/** Whether a dialect contains a difference. */
export function contains(whole: unknown, part: unknown): boolean {
  if (!isRecord(part)) return whole === part;
  return Object.entries(part).every(([name, value]) => isRecord(whole) && contains(whole[name], value));
}

/** The table of the differences in docs/scenarios.md. */
export function plantedTable(): string {
  const all = SERVICES.flat();
  const rows = Object.entries(UNSEEN).map(([part, why]) => {
    const own = all.filter((one) => one.part === part);
    const seen = own.filter(({ isObservable }) => isObservable).length;
    return `| ${part} | ${own.length} | ${seen} | ${why} |`;
  });
  const head = ["| difference | planted | observed | reason if not all |", "|---|---|---|---|"];
  return [...head, ...rows].join("\n");
}
