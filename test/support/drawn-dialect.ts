import { SIGNATURE_FORMS, type Dialect } from "../../src/core/shape/dialect.ts";
import { seededRandom } from "./campaign.ts";

/** The codes that a calibration provokes, except those that the HTTP server answers. */
const CODES = [
  "session_not_found",
  "idempotency_key_reused",
  "order_conflict",
  "invalid_json",
  "unsupported_content_type",
  "invalid_parameter",
  "credential_missing",
  "idempotency_key_missing",
  "idempotency_key_invalid",
  "unknown_parameter",
  "missing_parameter",
];
const TYPES = ["order.created", "order.pending", "order.succeeded"];

/** A dialect whose every part a calibration with a payer can observe. */
export function drawDialect(seed: number): Dialect {
  const random = seededRandom(seed);
  const draw = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  const some = <Value>(names: readonly string[], valueOf: (name: string) => Value): Record<string, Value> =>
    Object.fromEntries(names.filter(() => random() < 0.6).map((name) => [name, valueOf(name)]));
  const renamed = some(["event_id", "type", "created_at", "data"], (field) => `svc_${field}`);
  const other = some(["api_version", "store_id", "sequence", "previous_status"], (field) =>
    draw([null, `x.${field}`]),
  );
  const drawn = {
    errors: some(CODES, (code) => ({ code: `svc.${code}` })),
    events: some(TYPES, (type) => type.replace("order", draw(["payment", "charge"]))),
    event_fields: { ...renamed, ...other },
    headers: some(["event_id", "timestamp", "signature"], (part) => `X-Svc-${part.replace("_", "-")}`),
    times: draw([undefined, "seconds", "milliseconds"] as const),
    signature_form: draw([undefined, ...SIGNATURE_FORMS.slice(1)]),
    replay: draw([
      undefined,
      { status: 200 },
      { header: null },
      { status: 200, header: "x-svc-replay" },
    ] as const),
    unknown_session: draw([undefined, 400, 403] as const),
    both_forms: draw([undefined, "price_id", "amount"] as const),
  };
  // Undefined and empty parts are left out.
  const given = Object.entries(drawn).filter(
    ([, value]) =>
      value !== undefined && Object.keys(Object(value)).length + Number(typeof value !== "object") > 0,
  );
  return Object.fromEntries(given);
}
