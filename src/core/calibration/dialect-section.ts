import * as z from "zod/mini";
import { EVENT_TYPES } from "../checkout/event-types.ts";
import { RENAMABLE_EVENT_FIELDS, SIGNATURE_FORMS, type Dialect } from "../shape/dialect.ts";
import { ERROR_CODES, errorRow } from "../errors.ts";
import { FAULT_HEADER } from "../fault/fault.ts";
import { isRecord, parseJson } from "../json.ts";
import { lazyValue } from "../lazy.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import { printableLiteral } from "../text.ts";
import { HEADER_NAME_PATTERN, RESERVED_HEADERS_PATTERN } from "../webhook/header-names.ts";
import { headerNamesIn } from "../webhook/signature.ts";

/** Statuses that interface 18 states. A dialect must keep them; only `session_not_found` may change to one of them. */
const STATED_STATUSES: readonly number[] = [400, 401, 403, 409, 429];
const UNSTATED_STATUSES = [
  402, 404, 405, 406, 408, 410, 411, 413, 414, 415, 422, 423, 424, 431, 451, 500, 501, 502, 503, 504,
];
const SESSION_STATUSES = [404, 403, 400] as const;
const REQUIRED_FIELDS: ReadonlySet<string> = new Set(["type", "data"]);

const SERVICE_HEADERS = /^(?:authorization|cookie|set-cookie|user-agent|retry-after|x-request-id|host)$/i;
const isReserved = (name: string): boolean =>
  RESERVED_HEADERS_PATTERN.test(name) ||
  SERVICE_HEADERS.test(name) ||
  name.toLowerCase() === FAULT_HEADER.toLowerCase();

function recordSchema<Value>(
  ourNames: readonly string[],
  valueSchema: (name: string) => z.ZodMiniType<Value>,
) {
  const shape = Object.fromEntries(ourNames.map((name) => [name, z.optional(valueSchema(name))]));
  return z.strictObject(shape) as z.ZodMiniType<Readonly<Record<string, Value>>>;
}

export const dialectSchema = lazyValue(() => {
  const word = z
    .string()
    .check(z.regex(/^[A-Za-z0-9_.:-]{1,64}$/, "must be 1 to 64 of A-Z, a-z, 0-9, . : _ -"));
  const header = z.string().check(
    z.regex(HEADER_NAME_PATTERN, "must be the name of a header"),
    z.refine((name) => !isReserved(name), "must not be a header that HTTP or the service uses itself"),
  );
  const codeSchema = (statuses: readonly number[], message = `must be one of ${statuses.join(", ")}`) =>
    z.strictObject({ code: z.optional(word), status: z.optional(z.literal([...statuses], message)) });
  const [otherCode, sessionCode] = [codeSchema(UNSTATED_STATUSES), codeSchema(SESSION_STATUSES)];
  const statedCodes = new Map(
    STATED_STATUSES.map((status) => [
      status,
      codeSchema([status], `must be ${status}, which the interface states`),
    ]),
  );
  const errors = recordSchema(ERROR_CODES, (code) =>
    code === "session_not_found" ? sessionCode : (statedCodes.get(errorRow(code)?.status ?? 0) ?? otherCode),
  );

  const schema = z
    .strictObject({
      errors: z.optional(errors),
      events: z.optional(recordSchema(EVENT_TYPES, () => word)),
      event_fields: z.optional(
        recordSchema(RENAMABLE_EVENT_FIELDS, (name) => (REQUIRED_FIELDS.has(name) ? word : z.nullable(word))),
      ),
      times: z.optional(z.enum(["iso", "seconds", "milliseconds"])),
      headers: z.optional(
        z.strictObject({
          event_id: z.optional(header),
          timestamp: z.optional(header),
          signature: z.optional(header),
        }),
      ),
      signature_form: z.optional(z.enum(SIGNATURE_FORMS)),
      replay: z.optional(
        z.strictObject({ status: z.optional(z.literal([200, 201])), header: z.optional(z.nullable(header)) }),
      ),
      unknown_session: z.optional(z.literal([...SESSION_STATUSES])),
      both_forms: z.optional(z.enum(["refuse", "price_id", "amount"])),
    })
    .check(
      z.superRefine((value, context) => {
        for (const field of ambiguousFields(value))
          context.addIssue({ code: "custom", path: [field], message: "each name must be different" });
      }),
    );
  nameSchemas({ Dialect: schema, DialectCode: otherCode });
  for (const [status, code] of statedCodes) nameSchemas({ [`DialectCode${status}`]: code });
  return schema;
});

function ambiguousFields(dialect: Dialect): readonly string[] {
  const { events = {}, event_fields: fields = {} } = dialect;
  const names = {
    events: EVENT_TYPES.map((type) => events[type] ?? type),
    event_fields: [...RENAMABLE_EVENT_FIELDS, "livemode"].map((field) => fields[field] ?? field),
    headers: Object.values(headerNamesIn(dialect)).map((name) => name.toLowerCase()),
  };
  return Object.entries(names).flatMap(([field, list]) => (new Set(list).size < list.length ? [field] : []));
}

export function parseDialect(text: string): Outcome<Dialect> {
  const value = parseJson(text);
  if (!isRecord(value)) return refuseFact("no_dialect", { received: printableLiteral(text.slice(0, 40)) });
  const result = dialectSchema().safeParse(value);
  if (result.success) return accept(result.data);
  const { path = [], message: why = "" } = result.error.issues[0] ?? {};
  const receivedText = printableLiteral(JSON.stringify(partAt(value, path)));
  return refuseFact("dialect_field", { at: path.join("."), why, received: receivedText });
}

export function dialectText(dialect: Dialect): string {
  const dialectCopy: Dialect = structuredClone(dialect);
  const issues = dialectSchema().safeParse(dialectCopy).error?.issues ?? [];
  const wrongPaths = issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path],
  );
  for (const path of wrongPaths) {
    const part = partAt(dialectCopy, path.slice(0, -1));
    if (isRecord(part)) Reflect.deleteProperty(part, path.at(-1) ?? "");
  }
  return wrongPaths.length === 0 ? `${JSON.stringify(dialectCopy, null, 2)}\n` : dialectText(dialectCopy);
}

function partAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((part, name) => (isRecord(part) ? part[String(name)] : undefined), value);
}
