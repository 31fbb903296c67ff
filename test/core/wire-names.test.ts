import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { dialectSchema } from "../../src/core/calibration/dialect-section.ts";
import {
  CONTROL_OPERATIONS,
  decodeAnswer,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  OPERATION_NAMES,
} from "../../src/core/control/operations.ts";
import { wireSchema } from "../../src/core/shape/wire-names.ts";
import { SEED, size } from "../support/campaign.ts";
import { moment, momentInRequest } from "../../src/core/shape/fields.ts";

const ID = "0199a3c4-5d00-7000-8000-000000000001";

/** A dialect has the same names in a file, on the wire and in the domain. */
const DIALECT = Object.keys(dialectSchema().shape).join();

/** The names of the fields that a schema states, without the fields of a dialect. */
function fieldsOf(described: unknown): string[] {
  if (typeof described !== "object" || described === null) return [];
  const own = "properties" in described ? Object.keys(described.properties ?? {}) : [];
  return own.join() === DIALECT ? [] : [...own, ...Object.values(described).flatMap(fieldsOf)];
}

test("every field of every control API operation is snake_case on the wire, and camelCase in code", () => {
  for (const name of OPERATION_NAMES) {
    for (const schema of [CONTROL_OPERATIONS[name].request, CONTROL_OPERATIONS[name].answer]) {
      if (schema instanceof z.ZodMiniUndefined) continue;
      const domain = fieldsOf(z.toJSONSchema(schema, { io: "output" }));
      const wire = fieldsOf(z.toJSONSchema(wireSchema(schema), { io: "input" }));
      expect(wire).toHaveLength(domain.length);
      expect([name, domain.filter((field) => !/^[a-z][A-Za-z0-9]*$/.test(field))]).toEqual([name, []]);
      expect([name, wire.filter((field) => !/^[a-z][a-z0-9_]*$/.test(field))]).toEqual([name, []]);
    }
  }
});

test("a wire schema is derived once, and a schema that cannot be encoded is refused", () => {
  const schema = z.object({ orderId: z.string() });
  expect(wireSchema(schema)).toBe(wireSchema(schema));
  const text = z.string();
  expect(wireSchema(text)).toBe(text);
  expect(() => wireSchema(z.object({ byMs: z.int(), by_ms: z.int() }))).toThrow("by_ms");
  const [read, written] = [z.pipe(z.string(), z.transform(Number)), z.pipe(z.transform(String), z.string())];
  for (const oneWay of [read, written, z.date()]) {
    expect(() => wireSchema(z.array(oneWay))).toThrow(oneWay.def.type);
  }
});

test("only fields of the schema are renamed; record keys and unknown values stay unchanged", () => {
  const schema = wireSchema(
    z.object({ byMs: z.int(), headerMap: z.record(z.string(), z.string()), theRest: z.unknown() }),
  );
  // zod never copies this key, which would set a prototype.
  const names = fc.string().filter((name) => name !== "__proto__");
  const data = { headerMap: fc.dictionary(names, fc.string()), theRest: fc.jsonValue() };
  const check = fc.property(fc.record({ byMs: fc.integer(), ...data }), (value) => {
    const { byMs, headerMap, theRest } = value;
    const encoded = z.encode(schema, value);
    expect(encoded).toEqual({ by_ms: byMs, header_map: headerMap, the_rest: theRest });
    expect(z.decode(schema, encoded)).toEqual(value);
  });
  fc.assert(check, { seed: SEED, numRuns: size(200, 10_000) });
});

test("a control API answer has exactly the fields of its schema, in order", () => {
  const secrets = { inForce: ["whsec_a"], retired: [], storeTime: null, storeId: ID, in_force: ["no"] };
  expect(JSON.stringify(encodeAnswer("showSecret", secrets))).toBe(
    '{"in_force":["whsec_a"],"retired":[],"store_time":null}',
  );
  const lease = { id: ID, storeId: ID };
  const encoded = encodeAnswer("openLease", lease);
  expect(encoded).toEqual({ id: ID, store_id: ID });
  expect(decodeAnswer("openLease", { ok: true, data: encoded })).toEqual(lease);
  expect(decodeAnswer("openLease", { ok: true, data: lease })).toBeUndefined();
  expect(decodeAnswer("openLease", encoded)).toBeUndefined();
});

test("a refused control API request reports the field by its wire name", () => {
  const unknown = (key: string) => ({ fact: "issue_unknown_keys", values: { keys: [key] } });
  const rows = [
    ["moveClock", { action: "advance", byMs: 5 }, "by_ms", { fact: "issue_type" }],
    ["moveClock", { action: "advance", by_ms: 0 }, "by_ms", { fact: "issue_too_small" }],
    ["moveClock", { action: "set", to: "2026-02-31T00:00:00Z" }, "to", { fact: "issue_format" }],
    [
      "registerListener",
      { url: "http://localhost", event_types: [] },
      "event_types",
      { fact: "issue_too_small" },
    ],
    ["registerListener", { url: "http://localhost", eventTypes: ["*"] }, undefined, unknown("eventTypes")],
    ["addFault", { action: "drop", match: { eventType: "order.*" } }, "match", unknown("eventType")],
    [
      "recordDrill",
      { kind: "browser_return", subject: "http://localhost", steps: [{}] },
      "steps.0.name",
      { fact: "issue_type" },
    ],
    ["listEvents", { wait_ms: "soon" }, "wait_ms", { fact: "issue_own" }],
    ["listEvents", { limit: "1001" }, "limit", { fact: "issue_too_big" }],
    ["listEvents", { type: "order.paid" }, "type", { fact: "issue_own" }],
    ["listEvents", { checkoutId: ID }, undefined, unknown("checkoutId")],
  ] as const;
  for (const [name, body, field, why] of rows) {
    const read = decodeRequest(name, body);
    const told = { fact: "request_field", values: { why } };
    expect(read).toMatchObject({ ok: false, refusal: { code: "invalid_parameter", told } });
    // A refusal of the whole body or query names no field.
    if (field !== undefined) expect(read).toMatchObject({ refusal: { field } });
  }
  const known = ["method", "path", "event_type", "event_id", "endpoint_id", "order_id", "nth", "probability"];
  expect(decodeRequest("addFault", { action: "drop", match: { eventType: "order.*" } })).toMatchObject({
    refusal: { told: { values: { known: { fact: "allowed_fields", values: { names: known } } } } },
  });
});

test("the control API's encoder refuses snake_case names, and its decoder refuses camelCase names", () => {
  const schema = wireSchema(z.strictObject({ eventTypes: z.optional(z.array(z.string())) }));
  expect(z.encode(schema, { eventTypes: ["*"] })).toEqual({ event_types: ["*"] });
  expect(z.safeEncode(schema, { event_types: ["*"] }).error?.issues).toMatchObject([
    { code: "unrecognized_keys", keys: ["event_types"] },
  ]);
  expect(z.safeDecode(schema, { eventTypes: ["*"] }).error?.issues).toMatchObject([
    { code: "unrecognized_keys", keys: ["eventTypes"] },
  ]);
  const ordered = wireSchema(
    z.object({ fromMs: z.int(), toMs: z.int() }).check(z.refine(({ fromMs, toMs }) => fromMs < toMs)),
  );
  expect(z.decode(ordered, { from_ms: 1, to_ms: 2 })).toEqual({ fromMs: 1, toMs: 2 });
  expect(z.safeDecode(ordered, { from_ms: 2, to_ms: 1 }).success).toBe(false);
});

test("a control API request is decoded to the value that was encoded", () => {
  const rows = [
    ["moveClock", { action: "advance", byMs: 5 }, { action: "advance", by_ms: 5 }],
    ["moveClock", { action: "set", to: 0 }, { action: "set", to: "1970-01-01T00:00:00.000Z" }],
    ["listEvents", { since: 0, waitMs: 20 }, { since: "0", wait_ms: "20" }],
    [
      "registerListener",
      { url: "http://localhost", since: { eventId: ID } },
      { url: "http://localhost", since: { event_id: ID } },
    ],
    [
      "registerListener",
      { url: "http://localhost", since: { at: 1500 } },
      { url: "http://localhost", since: { at: "1970-01-01T00:00:01.500Z" } },
    ],
    ["showClock", undefined, undefined],
  ] as const;
  for (const [name, body, wire] of rows) {
    expect(encodeRequest(name, body)).toEqual(wire);
    expect(decodeRequest(name, wire)).toEqual({ ok: true, value: body });
  }
});

test("a control API time is milliseconds in code and an ISO 8601 string on the wire", () => {
  expect(z.decode(momentInRequest, "2026-01-15T12:00:00+02:00")).toBe(Date.UTC(2026, 0, 15, 10));
  expect(z.encode(momentInRequest, Date.UTC(2026, 0, 15, 10))).toBe("2026-01-15T10:00:00.000Z");
  expect(z.safeDecode(momentInRequest, "2026-02-31T00:00:00Z").success).toBe(false);
  // A running clock can pass the end of the year 9999, to which it can be set.
  const far = Date.UTC(10_000, 0, 1);
  expect(z.decode(moment, z.encode(moment, far))).toBe(far);
  expect(z.safeDecode(moment, "soon").success).toBe(false);
});
