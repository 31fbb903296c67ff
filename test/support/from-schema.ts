import * as fc from "fast-check";
import { ANY_CHARACTER } from "./any-character.ts";

/** The parts of JSON Schema that our descriptions use. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly object[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};

/** Returns the schema that a reference names. */
type Resolve = (schema: Schema) => Schema;

const MAX_ITEMS = 4;
const MAX_TOGETHER = 3;
const LONG = 40;

/** Texts that two validators of one schema may treat differently. */
const EDGE_TEXTS: readonly string[] = [
  "",
  " ",
  "  ",
  "a",
  "0",
  "-0",
  "+5",
  " 5",
  "5 ",
  "5.0",
  "05",
  "1e3",
  "0x10",
  "NaN",
  "Infinity",
  "null",
  "true",
  "\0",
  "a\0",
  "\n",
  "a\n",
  "\u007f",
  "\u200b",
  "a\u202eb",
  "\u2800",
  "\ufe0f",
  "\u0301",
  "\ud800",
  "a\udc00b",
  "é",
  "e\u0301",
  "ß",
  "Ａ",
  "ａ１",
  "\u3000",
  "\u00a0",
  "ſ",
  "K",
  "а",
  "Теа",
  "Tеа",
  "Чай",
  "ΤΟ",
  "上海",
  "🍵",
  "𝐓ea",
  "default",
  "Default",
  "new",
  "NEW",
  "*",
  "**",
  "*.*",
  ".*",
  "order.*",
  "order.succeeded",
  "ORDER.*",
  "order.",
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "11111111-1111-0111-8111-111111111111",
  "11111111-1111-7111-0111-111111111111",
  "11111111-1111-9111-8111-111111111111",
  "AAAAAAAA-AAAA-7AAA-8AAA-AAAAAAAAAAAA",
  "urn:uuid:11111111-1111-7111-8111-111111111111",
  "11111111111171118111111111111111",
  "11111111-1111-7111-8111-111111111111\n",
  " 11111111-1111-7111-8111-111111111111",
  "2026-01-01T00:00:00Z",
  "2026-01-01T00:00Z",
  "2026-01-01",
  "2026-01-01 00:00:00Z",
  "2026-01-01t00:00:00z",
  "2026-02-29T00:00:00Z",
  "2024-02-29T00:00:00Z",
  "2026-12-31T23:59:60Z",
  "2026-01-01T24:00:00Z",
  "2026-01-01T00:00:00",
  "2026-01-01T00:00:00+02:00",
  "2026-01-01T00:00:00-24:00",
  "2026-01-01T00:00:00.5Z",
  "0000-01-01T00:00:00Z",
  "+010000-01-01T00:00:00Z",
  "٢٠٢٦-01-01T00:00:00Z",
  "http://localhost:3000/hooks",
  "https://127.0.0.1/",
  "http://[::1]:3000",
  "HTTP://localhost/",
  "http://LOCALHOST/",
  "http://localhost:0/",
  "http://localhost:01/",
  "http://localhost:65535/",
  "http://localhost:65536/",
  "http://localhost:/",
  "http://localhost:80/",
  "http://localhost?a",
  "http://localhost#a",
  "http://localhost\\a",
  "http://user@localhost/",
  "http://localhost/@",
  "http://localhost/ö🍵",
  "http://localhost/a b",
  "//localhost/",
  "http://127.1/",
  "http://0x7f.1/",
  "http://①27.0.0.1/",
  "http://localhost./",
  "ftp://localhost/",
  "localhost:3000",
  "https://shop.example",
  "https://shop.example/",
  "https://shop.example:443",
  "https://shop.example:8443",
  "http://shop.example",
  "https://shop",
  "https://shop.example.",
  "https://-a.example",
  "https://xn--a.example",
  "https://a.b.1",
  "https://a.0x1f",
  "https://a.0x",
  "https://1.2.3.4",
  "https://a_b.example",
  "https://a..b",
  `https://${"a".repeat(63)}.example`,
  `https://${"a".repeat(64)}.example`,
  `https://${"a.".repeat(126)}b`,
  `https://${"a.".repeat(127)}b`,
  "http://localhost:80",
  "http://localhost:443",
  "https://localhost:80",
  "/",
  "//",
  "/a",
  "/a?b",
  "/a#b",
  "/.",
  "/..",
  "/a/../b",
  "/%2e",
  "/.%2E/",
  "/a%",
  "/...",
  "/é",
  '/"',
  "/^",
  "/{a}",
  "/v1/orders",
  "/v1/",
  "/v1",
  "*orders",
  "v1/*",
  "404",
  "4xx",
  "4XX",
  "6xx",
  "099",
  "4x",
  "0",
  "svc_test_0123456789abcdef",
  "SVC_LIVE_0123456789abcdef",
  "svc_test_short",
  "whsec_0123456789abcdef",
  "whsec_0123456789abcdefghijklmnopqrstuv",
  `svc_test_${"0".repeat(33)}`,
  "a",
  "_a",
  ".a",
  "a.b",
  "A",
];
const EDGE_NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  1.5,
  1e-7,
  100,
  600,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  -(2 ** 53),
  1e21,
];

/** Values at the edges of a schema, of any type, whether it allows them or not. */
export function edgesOf(schema: Schema): fc.Arbitrary<unknown> {
  const { minLength, maxLength, minimum, maximum } = schema;
  const lengths = [minLength, maxLength].flatMap((edge) =>
    edge === undefined ? [] : [edge - 1, edge, edge + 1],
  );
  const texts = lengths
    .filter((length) => length >= 0)
    .flatMap((length) => ["a", "🍵"].map((one) => one.repeat(length)));
  const numbers = [minimum, maximum].flatMap((edge) =>
    edge === undefined ? [] : [edge - 1, edge, edge + 1],
  );
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...EDGE_TEXTS) },
    { weight: 2, arbitrary: fc.constantFrom(...EDGE_NUMBERS, ...numbers) },
    { weight: 2, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [null], [{}], "", ...texts) },
    { weight: 1, arbitrary: fc.string({ unit: ANY_CHARACTER, maxLength: 12 }) },
  );
}

/** Values that a schema allows, or nearly allows: combined patterns are not considered. */
export function valuesOf(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  const { properties, items, enum: values } = schema;
  if (schema.$ref !== undefined) return valuesOf(resolve(schema), resolve);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (values !== undefined) return fc.constantFrom(...values);
  if (schema.type === "string") return textsOf(schema);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined && properties === undefined)
    return fc.oneof(...choices.map((one) => valuesOf(one, resolve)));
  if (properties !== undefined) return objectsOf(schema, resolve);
  if (items !== undefined) {
    const { minItems = 0, maxItems = MAX_ITEMS } = schema;
    return fc.array(valuesOf(items, resolve), {
      minLength: minItems,
      maxLength: Math.min(maxItems, MAX_ITEMS),
    });
  }
  const { minimum = -(2 ** 53 - 1), maximum = 2 ** 53 - 1 } = schema;
  if (schema.type === "integer") return fc.integer({ min: minimum, max: maximum });
  if (schema.type === "number") return fc.double({ min: minimum, max: maximum, noNaN: true });
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "null") return fc.constant(null);
  throw new Error(`say here what is made for ${JSON.stringify(schema)}`);
}

function objectsOf(
  { properties = {}, required = [], allOf }: Schema,
  resolve: Resolve,
): fc.Arbitrary<unknown> {
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  // Only some of the optional fields are taken if not all of them can be combined.
  const maxLength = allOf === undefined ? optional.length : MAX_TOGETHER;
  return fc.subarray(optional, { maxLength: Math.min(maxLength, optional.length) }).chain((some) => {
    const names = [...required, ...some];
    const fields = names.map((name) => [name, valuesOf(properties[name] ?? {}, resolve)] as const);
    return fc.record(Object.fromEntries(fields), { noNullPrototype: true });
  });
}

/**
 * The texts of each pattern and length. Each is prepared once, because parsing a pattern takes longer than drawing a
 * text.
 */
const TEXTS = new Map<string, fc.Arbitrary<string>>();

function textsOf({ pattern, anyOf = [], minLength = 0, maxLength = LONG }: Schema): fc.Arbitrary<string> {
  const patterns = [pattern, ...anyOf.map((one) => one.pattern)].filter((one) => one !== undefined);
  const key = JSON.stringify([patterns, minLength, maxLength]);
  const texts = TEXTS.get(key) ?? textsLike(patterns, { minLength, maxLength });
  TEXTS.set(key, texts);
  return texts;
}

function textsLike(
  patterns: readonly string[],
  { minLength, maxLength }: { readonly minLength: number; readonly maxLength: number },
): fc.Arbitrary<string> {
  const alike = patterns.map((one) => fc.stringMatching(new RegExp(one, "u")));
  // Loading all graphemes takes a second, so only files that need graphemes load them.
  if (alike.length === 0)
    alike.push(fc.string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, LONG) }));
  return fc.oneof(...alike, fc.constantFrom(...EDGE_TEXTS));
}

/** The path of a value: the names and numbers that lead to it. */
type Place = readonly (string | number)[];

/** The paths in a value, including missing fields. */
export function placesIn(value: unknown, schema: Schema, resolve: Resolve): readonly Place[] {
  const { properties = {}, items } = schema.$ref === undefined ? schema : resolve(schema);
  const fields = Object.entries(properties);
  const inner: (readonly [step: string | number, value: unknown, schema: Schema])[] =
    Array.isArray(value) && items !== undefined
      ? value.map((item: unknown, at) => [at, item, items])
      : fields.map(([name, field]) => [name, isObject(value) ? value[name] : undefined, field]);
  const places: Place[] = [];
  for (const [step, own, field] of inner) {
    places.push([step]);
    for (const place of placesIn(own, field, resolve)) places.push([step, ...place]);
  }
  return places;
}

/** A value with a replaced part; undefined removes the part. */
export function withValueAt(value: unknown, [step, ...rest]: Place, next: unknown): unknown {
  if (step === undefined) return next;
  if (Array.isArray(value))
    return value.map((item: unknown, at) => (at === step ? withValueAt(item, rest, next) : item));
  const own = isObject(value) ? value : {};
  const { [step]: before, ...others } = own;
  const after = withValueAt(before, rest, next);
  return after === undefined ? others : { ...others, [step]: after };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
