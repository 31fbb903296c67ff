import { expect, test } from "vitest";
import { describeControlApi } from "../../src/core/control/openapi.ts";
import { OPERATION_NAMES, inputKind } from "../../src/core/control/operations.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Found = { readonly at: string; readonly value: { readonly [name: string]: Json } };

const ORIGIN = "http://127.0.0.1:4242";
/** The document as sent over the wire. */
const document = JSON.parse(JSON.stringify(describeControlApi(ORIGIN))) as { readonly [name: string]: Json };
const objects = [...objectsIn(document, "#")];
const KINDS = ["schemas", "responses", "parameters", "headers"];

/** Every object of a value, with its JSON pointer. */
function* objectsIn(value: Json, at: string): Generator<Found> {
  if (value === null || typeof value !== "object") return;
  if (!Array.isArray(value)) yield { at, value: value as Found["value"] };
  for (const [name, inner] of Object.entries(value)) yield* objectsIn(inner, `${at}/${name}`);
}

function valueAt(at: string): Found["value"] | undefined {
  return objects.find((found) => found.at === at)?.value;
}

test("fixtures/openapi-control.json equals the served description of the control API", async () => {
  const text = `${JSON.stringify(describeControlApi("http://127.0.0.1:4242"), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot("../../fixtures/openapi-control.json");
});

test("the description of the control API names the address of the sandbox as its first server", () => {
  expect(document["servers"]).toEqual([
    { url: ORIGIN, description: expect.any(String) as string },
    { url: "/", description: expect.any(String) as string },
  ]);
});

test("every reference in the control API's description resolves, and every component is referenced", () => {
  const references = new Set<Json>(objects.flatMap(({ value }) => value["$ref"] ?? []));
  const named = KINDS.flatMap((kind) =>
    Object.keys(valueAt(`#/components/${kind}`) ?? {}).map((name) => `#/components/${kind}/${name}`),
  );
  expect(named.length).toBeGreaterThan(OPERATION_NAMES.length);
  expect(references).toEqual(new Set(named));
});

test("every request body and answer of the control API is a named schema", () => {
  const schemas = objects.filter(({ at }) =>
    /\/(requestBody|responses\/200)\/content\/[^/]+\/json\/schema$/.test(at),
  );
  const bodies = OPERATION_NAMES.filter((name) => inputKind(name) === "body");
  expect(schemas).toHaveLength(OPERATION_NAMES.length + bodies.length);
  const named = { $ref: expect.stringMatching(/^#\/components\/schemas\/[A-Z]\w+$/) as string };
  for (const { at, value } of schemas) expect([at, value]).toEqual([at, named]);
});

test("a control API object with several fields is a named schema if it is used in two places", () => {
  const places = new Map<string, string[]>();
  for (const { at, value } of objects) {
    if (!/^#\/components\/schemas\/[^/]+\/.*[^/]/.test(at) || value["properties"] === undefined) continue;
    // An object with one field needs no name.
    if (Object.keys(value["properties"] as object).length < 2) continue;
    const text = JSON.stringify(value);
    places.set(text, [...(places.get(text) ?? []), at]);
  }
  expect([...places.values()].filter(({ length }) => length > 1)).toEqual([]);
});

test("every control API field whose name ends in _at has the format date-time, except in a dialect", () => {
  const moments = objects.filter(({ at }) => /\/properties\/\w+_at$/.test(at) && !at.includes("/Dialect/"));
  expect(moments.length).toBeGreaterThan(10);
  const untold = moments.filter(({ value }) => !JSON.stringify(value).includes('"format":"date-time"'));
  expect(untold).toEqual([]);
});

test("every control API operation has exactly one declared tag, and every declared tag is used", () => {
  const subjects = objects.filter(({ at }) => /^#\/tags\/\d+$/.test(at)).map(({ value }) => value["name"]);
  const operations = objects.filter(({ value }) => value["operationId"] !== undefined);
  expect(operations).toHaveLength(OPERATION_NAMES.length);
  const used = operations.map(({ value }) => JSON.stringify(value["tags"]));
  expect(new Set(used)).toEqual(new Set(subjects.map((name) => JSON.stringify([name]))));
});

test("the only required query parameters of the control API are a listener's url and the id to explain", () => {
  const required = objects.filter(({ value }) => value["in"] === "query" && value["required"] === true);
  const named = required.map(({ at, value }) => [/\/(\w+)\/get\//.exec(at)?.[1], value["name"]]);
  expect(named).toEqual([
    ["requests", "url"],
    ["explain", "id"],
    ["page", "id"],
  ]);
});

test("every control API operation is described in one to four sentences", () => {
  const said = objects
    .filter(({ value }) => value["operationId"] !== undefined)
    .map(({ value }) => [value["operationId"], JSON.stringify(value["description"]).slice(1, -1)] as const);
  expect(said).toHaveLength(OPERATION_NAMES.length);
  const texts = said.map(([, text]) => text);
  expect(new Set(texts).size).toBe(texts.length);
  const wrong = said.filter(
    ([, text]) => !/^[A-Z][^.]{15,}\.( [A-Z][^.]{10,}\.){0,3}$/.test(text.replaceAll(/`[^`]*`/g, "x")),
  );
  expect(wrong).toEqual([]);
});

test("the control API's schema of a restricted string states its length, format or pattern", () => {
  const rows: readonly (readonly [name: string, field: string, says: readonly string[]])[] = [
    ["CreateStoreRequest", "name", ["maxLength", "minLength", "not", "pattern"]],
    ["AddPriceRequest", "id", ["maxLength", "minLength", "not", "pattern"]],
    ["AddPriceRequest", "description", ["maxLength", "minLength", "not", "pattern"]],
    ["AddEndpointRequest", "url", ["maxLength", "not", "pattern"]],
    ["RegisterListenerRequest", "url", ["maxLength", "not", "pattern"]],
    ["DrillStepFacts", "name", ["maxLength"]],
    ["ReplayEventRequest", "endpoint_id", ["format", "pattern"]],
    ["ReplayFailedRequest", "since", ["format", "pattern"]],
  ];
  for (const [name, field, says] of rows) {
    const schema = valueAt(`#/components/schemas/${name}/properties/${field}`) ?? {};
    const keys = Object.keys(schema).filter((key) => key !== "type");
    expect([name, field, keys.toSorted()]).toEqual([name, field, says]);
  }
});
