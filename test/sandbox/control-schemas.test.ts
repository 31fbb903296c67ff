import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { describeControlApi } from "../../src/core/control/openapi.ts";
import {
  CONTROL_OPERATIONS,
  folderTokenRole,
  OPERATION_NAMES,
  inputKind,
  type OperationName,
} from "../../src/core/control/operations.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { SEED, size } from "../support/campaign.ts";
import { edgesOf, placesIn, valuesOf, withValueAt, type Schema } from "../support/from-schema.ts";
import { createHarness, EPHEMERAL, type Harness, type RunningSandbox } from "../support/harness.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { inOrder } from "../support/in-order.ts";
import { textLineFault, storeNameFault } from "../../src/core/config/store-name.ts";

type Described = {
  readonly parameters?: readonly {
    readonly $ref?: string;
    readonly name?: string;
    readonly in?: string;
    readonly required?: boolean;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, { readonly schema: Schema }>>;
  };
};

/** The document as sent over the wire. */
const DOCUMENT = JSON.parse(JSON.stringify(describeControlApi("http://127.0.0.1:4242"))) as Document;
const ajv = new Ajv2020({ strict: false });
formatsPlugin.default(ajv);
ajv.addSchema(DOCUMENT, "control");

const STORE = "default";
const UNKNOWN_ID = "00000000-0000-7000-8000-00000000ffff";
const OTHER_HOST = /^(?!https?:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/?]|$))/;

/** Messages of 400 refusals that depend on the sandbox, its clock or other fields, so that no schema states them. */
const NOT_FOR_ITS_FORM: Partial<Record<OperationName, readonly RegExp[]>> = {
  addFault: [refusalText("until_past")],
  moveClock: [refusalText("clock_years")],
  listEvents: [refusalText("before_and_newer")],
  listDeliveries: [refusalText("before_and_newer")],
  createTestOrder: [
    refusalText("unknown_price"),
    refusalText("retired_price"),
    refusalText("unapproved_price"),
    refusalText("field_with_secret", { field: "price_id" }),
    refusalText("conflicting_parameters"),
    refusalText("capability_missing", { field: "currency" }),
  ],
  applyConfig: [
    refusalText("repeated_name"),
    refusalText("merchant_name_differs"),
    refusalText("repeated_key"),
  ],
};
/** Refusals of texts beyond the Basic Multilingual Plane that no pattern states (decision 113). */
const FOR_RARE_CHARACTERS = [
  ...["Ｔea", "Tεa", "Роса"].map((name) => inOrder(storeNameFault(name)?.[0] ?? "")),
  // A text with an invisible character, of any length.
  inOrder(...(textLineFault("\u200b", 1, 64)?.[0] ?? "").split(/\d+/)),
];
/** A key of the right form; the schema does not state its checksum. */
const KEY_IN_REQUEST = /"svc_test_\w+"/;
/** Operations that refuse an address with a foreign host or the sandbox's port. */
const SENDS: ReadonlySet<OperationName> = new Set(["addEndpoint", "registerListener", "applyConfig"]);

function resolve({ $ref = "" }: Schema): Schema {
  return DOCUMENT.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {};
}

function described(name: OperationName): Described {
  const { path, method } = CONTROL_OPERATIONS[name];
  return DOCUMENT.paths[path]?.[method.toLowerCase()] ?? {};
}

/** The schema of an operation's input: its body, or its query as one object. */
function schemaOf(name: OperationName): Schema {
  const { parameters = [], requestBody } = described(name);
  if (requestBody !== undefined) return requestBody.content["application/json"]?.schema ?? {};
  const query = parameters.filter((one) => one.in === "query");
  const properties = Object.fromEntries(query.map((one) => [one.name ?? "", one.schema ?? {}]));
  const required = query.filter((one) => one.required === true).map((one) => one.name ?? "");
  return { type: "object", properties, required, additionalProperties: false } as Schema;
}

/** A request on the wire; `read` is the value that the API reads from the query or body. */
type Sent = { readonly read: unknown; readonly query: string; readonly body: string | undefined };

function sentAs(name: OperationName, value: unknown): Sent {
  if (inputKind(name) === "body") return { read: value, query: "", body: JSON.stringify(value) };
  const fields = Object.entries(value as object).map(([field, one]) => [field, textOf(one)] as const);
  const query = new URLSearchParams(Object.fromEntries(fields)).toString();
  const read = [...new URLSearchParams(query)].map(
    ([field, text]) => [field, valueOf(name, field, text)] as const,
  );
  return { read: Object.fromEntries(read), query: query === "" ? "" : `?${query}`, body: undefined };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Converts a parameter's text to the type that its schema states. */
function valueOf(name: OperationName, field: string, text: string): unknown {
  const isNumber = schemaOf(name).properties?.[field]?.type === "integer";
  return isNumber && String(Number(text)) === text ? Number(text) : text;
}

/** Requests of an operation: valid requests, and requests with one wrong value. */
function requestsOf(name: OperationName): fc.Arbitrary<unknown> {
  const schema = schemaOf(name);
  const change = fc.record({ at: fc.nat(), isMissing: fc.boolean(), value: edgesOf(schema) });
  return fc
    .tuple(
      valuesOf(schema, resolve),
      fc.option(change, { freq: 2 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    )
    .chain(([value, changed]) => {
      const places = placesIn(value, schema, resolve);
      if (changed === null) return fc.constant(value);
      const place =
        changed.at % (places.length + 2) === 0 ? ["other_field"] : places[changed.at % places.length];
      if (place === undefined) return fc.constant({ other_field: changed.value });
      const own = schemaAt(schema, place);
      const next = changed.isMissing
        ? fc.constant(undefined)
        : fc.oneof(edgesOf(own), fc.constant(changed.value));
      return next.map((one) => withValueAt(value, place, one));
    });
}

function schemaAt(schema: Schema, [step, ...rest]: readonly (string | number)[]): Schema {
  const whole = schema.$ref === undefined ? schema : resolve(schema);
  if (step === undefined) return whole;
  return schemaAt((typeof step === "number" ? whole.items : whole.properties?.[step]) ?? {}, rest);
}

/** The verdicts of the API and of the schema on a request. */
async function verdicts(
  { harness, sandbox }: { readonly harness: Harness; readonly sandbox: RunningSandbox },
  name: OperationName,
  value: unknown,
): Promise<{ readonly allowed: boolean; readonly status: number; readonly message: string }> {
  const { method, path } = CONTROL_OPERATIONS[name];
  const { read, query, body } = sentAs(name, value);
  const token =
    folderTokenRole(name) === "administrator" ? harness.adminToken() : sandbox.ready.control_token;
  const answer = await sandbox.request({
    method,
    path: path.replace("{store_id}", STORE).replace("{id}", UNKNOWN_ID) + query,
    headers: { Authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body }),
  });
  const { error } = JSON.parse(String(answer.body)) as { readonly error?: { readonly message: string } };
  const isJson = body === undefined || isWellFormed(value);
  const allowed = isJson && judgeOf(name)(read);
  return { allowed, status: answer.status, message: error?.message ?? "" };
}

const JUDGES = new Map<OperationName, ValidateFunction>();

/** The compiled schema of an operation's input, which refers to the document. */
function judgeOf(name: OperationName): ValidateFunction {
  const known = JUDGES.get(name);
  if (known !== undefined) return known;
  const text = JSON.stringify(schemaOf(name)).replaceAll('"$ref":"#', '"$ref":"control#');
  const judge = ajv.compile(JSON.parse(text) as object);
  JUDGES.set(name, judge);
  return judge;
}

/** Whether UTF-8 can encode a value: no text has a lone surrogate. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, one]) => name.isWellFormed() && isWellFormed(one));
}

/** Whether an address in a request leads to another machine, or to the sandbox itself. */
function leadsElsewhere(value: unknown): boolean {
  const urls = Array.from(JSON.stringify(value).matchAll(/"url":("(?:[^"\\]|\\.)*")/g), ([, text = '""']) =>
    String(JSON.parse(text)),
  );
  return urls.some((url) => OTHER_HOST.test(url) || /:4242([/?]|$)/.test(url));
}

/** Operations whose fields depend on each other, so that few drawn requests are valid. */
const FEW_FIT: ReadonlySet<OperationName> = new Set(["addFault"]);
const READING = OPERATION_NAMES.filter((name) => inputKind(name) !== "nothing");

test.each(READING)(
  "%s answers 400 to exactly the requests that its schema refuses, apart from the refusals listed in this file",
  async (name) => {
    const harness = createHarness();
    const sandbox = await harness.start(EPHEMERAL);
    const seen = { allowed: 0, refused: 0 };
    const property = fc.asyncProperty(requestsOf(name), async (value) => {
      const { allowed, status, message } = await verdicts({ harness, sandbox }, name, value);
      seen[allowed ? "allowed" : "refused"] += 1;
      const isOther =
        NOT_FOR_ITS_FORM[name]?.some((refusal) => refusal.test(message)) === true ||
        KEY_IN_REQUEST.test(JSON.stringify(value)) ||
        (/[\u{10000}-\u{10ffff}]/u.test(JSON.stringify(value)) &&
          FOR_RARE_CHARACTERS.some((refusal) => refusal.test(message))) ||
        (SENDS.has(name) && leadsElsewhere(value));
      if (allowed && isOther) return;
      expect({ allowed, refused: status === 400, message }).toEqual({ allowed, refused: !allowed, message });
    });
    await fc.assert(property, { seed: SEED, numRuns: size(FEW_FIT.has(name) ? 60 : 40, 3000) });
    expect(Object.values(seen)).not.toContain(0);
  },
);

/** All patterns of a schema and its parts. */
function patternsIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    name === "pattern" && typeof one === "string" ? [one] : patternsIn(one),
  );
}

test("every pattern of a schema means the same with and without the Unicode flag", () => {
  const patterns = [...new Set(patternsIn(DOCUMENT))];
  expect(patterns.length).toBeGreaterThan(10);
  const texts = fc.oneof(
    fc.string({ unit: ANY_CHARACTER, maxLength: 8 }),
    fc.constantFrom("a\u{1f375}b", "\u{20bb7}", "\u{1d413}ea", "\u{10400}a", "\u{e0001}", "ＡＢ"),
    ...patterns.map((one) => fc.stringMatching(new RegExp(one, "u"))),
  );
  const readings = patterns.map((one) => [new RegExp(one), new RegExp(one, "u")] as const);
  const property = fc.property(texts, (text) => {
    for (const [plain, withFlag] of readings)
      expect([plain.source, text, plain.test(text)]).toEqual([plain.source, text, withFlag.test(text)]);
  });
  fc.assert(property, { seed: SEED, numRuns: size(100, 20_000) });
});

/** Path segments: valid, nearly valid and invalid ids. */
const SEGMENTS = [
  "default",
  "Default",
  "DEFAULT",
  "defaul",
  "",
  "x",
  "..",
  "%20",
  "*",
  "null",
  UNKNOWN_ID,
  ` ${UNKNOWN_ID}`,
  UNKNOWN_ID.toUpperCase(),
  `${UNKNOWN_ID}0`,
  UNKNOWN_ID.slice(1),
  UNKNOWN_ID.replaceAll("-", ""),
  "0",
  "00000000-0000-0000-0000-000000000000",
  "00000000-0000-0000-0000-00000000000g",
  `urn:uuid:${UNKNOWN_ID}`,
  `${UNKNOWN_ID}\n`,
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "\u{1f375}",
  "\ud800".toWellFormed(),
];

test("an operation answers exactly the paths whose ids match the schema, and any other path gets 404", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const { control_token: token } = sandbox.ready;
  const headers = { Authorization: `Bearer ${token}` };
  const judge = (parameter: "StoreId" | "Id") =>
    ajv.compile(DOCUMENT.components.parameters[parameter]?.schema ?? {});
  const [isStore, isId] = [judge("StoreId"), judge("Id")];
  for (const segment of SEGMENTS) {
    const at = encodeURIComponent(segment);
    const store = await sandbox.request({ path: `/__sandbox/stores/${at}/clock`, headers });
    const event = await sandbox.request({ path: `/__sandbox/stores/default/events/${at}`, headers });
    expect([segment, isStore(segment), store.status]).toEqual([
      segment,
      segment === "default" || isId(segment),
      segment === "default" ? 200 : 404,
    ]);
    const answered = [store, event].map(
      (answer) => answer.headers["Checkout-Sandbox-Operation"] !== undefined,
    );
    expect([segment, ...answered]).toEqual([segment, isStore(segment), isId(segment)]);
  }
});
