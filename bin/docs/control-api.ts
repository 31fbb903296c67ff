import { describeControlApi } from "../../src/core/control/openapi.ts";
import {
  CONTROL_OPERATIONS,
  OPERATION_NAMES,
  SUBJECTS,
  inputKind,
  type OperationName,
} from "../../src/core/control/operations.ts";
import type { MinRole } from "../../src/core/control/rights.ts";
import { code, page, prose, table, wrap } from "./markdown.ts";

type Json = Readonly<Record<string, unknown>>;
type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};

/** Copied through JSON to drop undefined fields, as in the document that is sent. */
const DOCUMENT = JSON.parse(JSON.stringify(describeControlApi("http://127.0.0.1:4242"))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};
const SCHEMAS = DOCUMENT.components.schemas;

export function controlApiPage(): string {
  const subjects = Object.entries(SUBJECTS).flatMap(([name, { description, operations }]) => {
    const head = `## ${name.slice(0, 1).toUpperCase()}${name.slice(1)}\n\n${wrap(description)}`;
    return [head].concat(OPERATION_NAMES.filter((operation) => operation in operations).map(partOf));
  });
  return page("Control API", [
    wrap(
      "The sandbox's own API, on the same port as v1: pay as the customer, move the clock, read requests, events and " +
        "deliveries. No real service has it. `GET /__sandbox/openapi.json` is its full description, from which a client can " +
        "be generated. Send the control token as `Authorization: Bearer …`: `checkout env --control` prints it. A store is " +
        "named by its id; `default` names the first store.",
    ),
    "```sh\n" +
      'eval "$(npx checkout env --control)"\n' +
      'curl -sf -H "Authorization: Bearer $CHECKOUT_CONTROL_TOKEN" "${CHECKOUT_BASE_URL%/v1}/__sandbox/stores/default/events"\n' +
      "```",
    wrap(
      "An answer is `{ok, request_id, data}`; the fields below are in `data`. A refusal is the error envelope of v1, " +
        "with a code of [errors.md](../../docs/errors.md). An operation of the administrator needs the admin token instead.",
    ),
    ...subjects,
  ]);
}

const TOKENS_FOR: Readonly<Record<MinRole, string>> = {
  administrator: "Needs the admin token.",
  owner: "Needs the control token.",
  store: "A token of the store may call it.",
  viewer: "A token of the store may call it, also a viewer's.",
};

function partOf(name: OperationName): string {
  const { method, path, description, refusals, minRole } = CONTROL_OPERATIONS[name];
  const token = [TOKENS_FOR[minRole]];
  const refusalTexts = refusals.length === 0 ? [] : [`Refuses with ${refusals.map(code).join(", ")}.`];
  const answer = answerFields(name);
  return [
    `### ${name}`,
    code(`${method} ${path}`),
    wrap([prose(description), ...token].join(" ")),
    ...inputTable(name),
    ...(answer === "" ? [] : [wrap(`Returns ${answer}.`)]),
    ...refusalTexts.map(wrap),
  ].join("\n\n");
}

function inputTable(name: OperationName): readonly string[] {
  const kind = inputKind(name);
  if (kind === "nothing") return [];
  const { path, method } = CONTROL_OPERATIONS[name];
  const operation = DOCUMENT.paths[path]?.[method.toLowerCase()] ?? {};
  const fields = kind === "body" ? bodyFields(operation) : queryFields(operation);
  return fields.length === 0 ? [] : [table([kind === "body" ? "field" : "query", "", ""], fields)];
}

function bodyFields(operation: Json): readonly (readonly string[])[] {
  const { content } = operation["requestBody"] as {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  const schema = resolveReference(content["application/json"]?.schema ?? {});
  const schemas = [schema, ...(schema.anyOf ?? []).map(resolveReference)];
  const rows = new Map<string, readonly string[]>();
  for (const { properties = {}, required = [] } of schemas)
    for (const [field, property] of Object.entries(properties))
      if (!rows.has(field))
        rows.set(field, [code(field), typeOf(property), required.includes(field) ? "required" : ""]);
  return [...rows.values()];
}

function queryFields(operation: Json): readonly (readonly string[])[] {
  const parameters = (operation["parameters"] ?? []) as readonly {
    readonly in?: string;
    readonly name?: string;
    readonly required?: boolean;
    readonly schema?: Schema;
  }[];
  return parameters
    .filter((parameter) => parameter.in === "query")
    .map(({ name = "", required, schema = {} }) => [
      code(name),
      typeOf(schema),
      required === true ? "required" : "",
    ]);
}

function answerFields(name: OperationName): string {
  const { isBare } = CONTROL_OPERATIONS[name];
  const response = SCHEMAS[`${name.slice(0, 1).toUpperCase()}${name.slice(1)}Response`];
  if (response === undefined || isBare) return "";
  const data = resolveReference(response.properties?.["data"] ?? {});
  const fields = Object.keys(data.properties ?? {});
  return fields.map(code).join(", ");
}

function resolveReference(schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (SCHEMAS[name] ?? schema);
}

function typeOf(schema: Schema): string {
  const { $ref, const: only, enum: values, anyOf, items, type, format, minimum, maximum, maxLength } = schema;
  if ($ref !== undefined && resolveReference(schema).enum === undefined)
    return code($ref.split("/").at(-1) ?? "");
  if ($ref !== undefined) return typeOf(resolveReference(schema));
  if (only !== undefined) return code(JSON.stringify(only));
  if (values !== undefined) return values.map((value) => code(String(value))).join(", ");
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(" or ");
  if (items !== undefined) return `list of ${typeOf(items)}`;
  const range =
    minimum === undefined
      ? ""
      : maximum === undefined
        ? ` from ${minimum}`
        : ` from ${minimum} to ${maximum}`;
  const length = maxLength === undefined ? "" : `, at most ${maxLength} characters`;
  return `${format ?? [type ?? "any"].flat().join(" or ")}${range}${length}`;
}
