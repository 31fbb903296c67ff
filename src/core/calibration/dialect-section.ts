// The section `dialect` of checkout.config.json, and the file of `--like` and `--dialect`; its meaning: core/shape/dialect.ts.
import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { EVENT_TYPES } from "../checkout/event-types.ts";
import { NAMED_EVENT_FIELDS, SIGNATURE_FORMS, type Dialect } from "../shape/dialect.ts";
import { ERROR_CODES, ERRORS } from "../errors.ts";
import { FAULT_HEADER } from "../fault/fault.ts";
import { isRecord, parseJson } from "../json.ts";
import { accept, refuseValue, type Outcome } from "../outcome.ts";
import { snakeCase } from "../text.ts";
import { nameSchemas, wireSchema } from "../shape/wire-names.ts";
import { HEADER_NAME } from "../webhook/header-names.ts";
import { headerNamesIn } from "../webhook/signature.ts";

/** The statuses that the interface states (interface 18): no dialect changes them, or gives them to another code. */
const STATED: readonly number[] = [400, 401, 403, 409, 429];
const UNSTATED = [
  402, 404, 405, 406, 408, 410, 411, 413, 414, 415, 422, 423, 424, 431, 451, 500, 501, 502, 503, 504,
];
const SESSION_STATUSES = [404, 403, 400] as const;
/** Without its type or its subject, an event says nothing. */
const NEEDED_FIELDS: ReadonlySet<string> = new Set(["type", "data"]);

const word = z
  .string()
  .check(z.regex(/^[A-Za-z0-9_.:-]{1,64}$/, "must be 1 to 64 of A-Z, a-z, 0-9, . : _ -"));
/** What HTTP and the service use themselves: a signature in one of these would change how a message is read. */
const OF_HTTP = new Set([
  "authorization",
  "cookie",
  "set-cookie",
  "user-agent",
  "retry-after",
  "x-request-id",
  FAULT_HEADER.toLowerCase(),
  "host",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "expect",
  "te",
  "trailer",
]);
const isOfHttp = (name: string): boolean => OF_HTTP.has(name) || /^(?:content|proxy)-/.test(name);
const header = z.string().check(
  z.regex(HEADER_NAME, "must be the name of a header"),
  z.refine(
    (name) => !isOfHttp(name.toLowerCase()),
    "must not be a header that HTTP or the service uses itself",
  ),
);

/** An object with a value for some of our names. */
function namesOf<Value>(ours: readonly string[], valueOf: (name: string) => z.ZodMiniType<Value>) {
  const shape = Object.fromEntries(ours.map((name) => [name, z.optional(valueOf(name))]));
  return z.strictObject(shape) as z.ZodMiniType<Readonly<Record<string, Value>>>;
}

const codeOf = (statuses: readonly number[], message: string) =>
  z.strictObject({ code: z.optional(word), status: z.optional(z.literal([...statuses], message)) });
const ofOthers = codeOf(UNSTATED, `must be one of ${UNSTATED.join(", ")}`);
const ofSession = codeOf(SESSION_STATUSES, `must be one of ${SESSION_STATUSES.join(", ")}`);
const ofStated = new Map(
  STATED.map((status) => [status, codeOf([status], `must be ${status}, which the interface states`)]),
);
const errors = namesOf(ERROR_CODES, (code) =>
  code === "session_not_found"
    ? ofSession
    : (ofStated.get(ERRORS[code as keyof typeof ERRORS].status) ?? ofOthers),
);

export const dialectSchema = z
  .strictObject({
    errors: z.optional(errors),
    events: z.optional(namesOf(EVENT_TYPES, () => word)),
    eventFields: z.optional(
      namesOf(NAMED_EVENT_FIELDS, (name) => (NEEDED_FIELDS.has(name) ? word : z.nullable(word))),
    ),
    times: z.optional(z.enum(["iso", "seconds", "milliseconds"])),
    headers: z.optional(
      z.strictObject({
        eventId: z.optional(header),
        timestamp: z.optional(header),
        signature: z.optional(header),
      }),
    ),
    signatureForm: z.optional(z.enum(SIGNATURE_FORMS)),
    replay: z.optional(
      z.strictObject({ status: z.optional(z.literal([200, 201])), header: z.optional(z.nullable(header)) }),
    ),
    unknownSession: z.optional(z.literal([...SESSION_STATUSES])),
    bothForms: z.optional(z.enum(["refuse", "price_id", "amount"])),
  })
  .check(
    z.superRefine((value, context) => {
      for (const field of ambiguousFields(value))
        context.addIssue({ code: "custom", path: [field], message: "each name must be different" });
    }),
  );
nameSchemas({ Dialect: dialectSchema, DialectCode: ofOthers });
for (const [status, schema] of ofStated) nameSchemas({ [`DialectCode${status}`]: schema });

/** The fields in which two things have one name. */
function ambiguousFields(dialect: Dialect): readonly string[] {
  const { events = {}, eventFields = {} } = dialect;
  const names = {
    events: EVENT_TYPES.map((type) => events[type] ?? type),
    eventFields: [...NAMED_EVENT_FIELDS, "livemode"].map((field) => eventFields[field] ?? field),
    headers: Object.values(headerNamesIn(dialect)).map((name) => name.toLowerCase()),
  };
  return Object.entries(names).flatMap(([field, all]) => (new Set(all).size < all.length ? [field] : []));
}

/** The dialect in a file. Refuses with the field, what is expected, and what came. */
export function parseDialect(text: string): Outcome<Dialect> {
  const value = parseJson(text);
  if (!isRecord(value)) return refuseValue("a dialect is a JSON object", text.slice(0, 40));
  const read = wireSchema(dialectSchema).safeParse(value);
  if (read.success) return accept(read.data as Dialect);
  const [issue] = read.error.issues;
  const path = issue?.path ?? [];
  const found = path.reduce<unknown>(
    (part, name) => (isRecord(part) ? part[String(name)] : undefined),
    value,
  );
  return refuseValue(`${path.join(".")}: ${issue?.message ?? ""}`, JSON.stringify(found));
}

/** Whether a text of the database, which another program may have written, is a dialect. */
export function isStoredDialect(text: string): boolean {
  return dialectSchema.safeParse(parseJson(text)).success;
}

/** The inverse of `parseDialect`; a part that no dialect may have is left out. */
export function dialectText(dialect: Dialect): string {
  const encoded = z.safeEncode(wireSchema(dialectSchema), dialect);
  if (encoded.success) return `${JSON.stringify(encoded.data, null, 2)}\n`;
  const wrong = encoded.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path],
  );
  const rest = wrong.reduce<Dialect>((left, path) => withoutPart(left, path), dialect);
  return dialectText(isDeepStrictEqual(rest, dialect) ? {} : rest);
}

/** Issues name fields as the wire does. */
function withoutPart<Part extends object>(part: Part, [name, ...rest]: readonly PropertyKey[]): Part {
  const entries = Object.entries(part).flatMap(([key, value]): readonly [string, unknown][] => {
    if (key !== name && snakeCase(key) !== name) return [[key, value]];
    return rest.length === 0 || !isRecord(value) ? [] : [[key, withoutPart(value, rest)]];
  });
  // Every part of a dialect is optional.
  return Object.fromEntries(entries) as Part;
}
