import * as z from "zod/mini";
import { ERRORS, type ErrorCode } from "../errors.ts";
import { camelCase, UUID_SOURCE } from "../text.ts";
import { DEFAULT_STORE, OPERATION_HEADER, VERSION_HEADER } from "./protocol.ts";
import {
  CONTROL_OPERATIONS,
  OPERATION_NAMES,
  SUBJECTS,
  inputKind,
  type AnswerOf,
  type OperationName,
} from "./operations.ts";
import { jsonSchemaRulesOf, wireSchemaNames, wireSchema } from "../shape/wire-names.ts";

type Json = Readonly<Record<string, unknown>>;

const COMMON_REFUSALS: readonly ErrorCode[] = [
  "credential_missing",
  "credential_invalid",
  "scope_missing",
  "host_not_allowed",
  "origin_not_allowed",
  "method_not_allowed",
  "request_timeout",
  "body_too_large",
  "headers_too_large",
  "internal_error",
  "storage_unavailable",
];
const INPUT_REFUSALS = {
  nothing: ["invalid_request", "invalid_parameter"],
  query: ["invalid_request", "invalid_parameter"],
  body: ["invalid_request", "invalid_json", "invalid_parameter"],
} as const satisfies Readonly<Record<string, readonly ErrorCode[]>>;

const INFO = {
  title: "Control API of the checkout sandbox",
  version: "1.0.0",
  description:
    "Controls a sandbox from outside the v1 interface: as the payer, on the clock, on the store. No real service has this API.",
};

const PARAMETERS: Readonly<Record<"StoreId" | "Id", Json>> = {
  StoreId: {
    name: "store_id",
    in: "path",
    required: true,
    description: "The id of a store, in lower case; `default` stands for the first store.",
    schema: { type: "string", pattern: `^(?:${DEFAULT_STORE}|${UUID_SOURCE})$` },
  },
  Id: {
    name: "id",
    in: "path",
    required: true,
    description: "The id of the object, in lower case.",
    schema: { type: "string", format: "uuid", pattern: `^${UUID_SOURCE}$` },
  },
};
const HEADERS: Readonly<Record<"RequestId" | "Version" | "Operation" | "Allow", Json>> = {
  RequestId: { description: "The request_id of the answer.", schema: { type: "string", format: "uuid" } },
  Version: {
    description: "The version of the sandbox, for callers with a valid token.",
    schema: { type: "string" },
  },
  Operation: {
    description: "The operationId that answered; missing if there is no such operation.",
    schema: { type: "string" },
  },
  Allow: { description: "The allowed methods of the path.", schema: { type: "string" } },
};
const COMMON_HEADERS: Json = {
  "X-Request-Id": reference("headers", "RequestId"),
  [VERSION_HEADER]: reference("headers", "Version"),
  [OPERATION_HEADER]: reference("headers", "Operation"),
};
const SECURITY_SCHEMES: Json = {
  controlToken: {
    type: "http",
    scheme: "bearer",
    description:
      "The control_token in .checkout/run.json; for an ephemeral sandbox, CHECKOUT_SANDBOX_CONTROL_TOKEN as set before the start.",
  },
  adminToken: {
    type: "http",
    scheme: "bearer",
    description:
      "The admin_token in .checkout/admin.json, or CHECKOUT_SANDBOX_ADMIN_TOKEN as set before the start. Valid only for the administrator's operations.",
  },
};

const BODY_NAMES = Object.fromEntries(
  OPERATION_NAMES.map((name) => [name, nameBodies(name)] as const),
) as Readonly<Record<OperationName, ReturnType<typeof nameBodies>>>;
const SCHEMAS = allSchemas();

/** Derives the OpenAPI 3.1 document from the router's table, so that they cannot differ (decision 43). */
export function describeControlApi(origin: string): AnswerOf<"describe"> {
  const paths: Record<string, Json> = {};
  for (const name of OPERATION_NAMES) {
    const { path, method } = CONTROL_OPERATIONS[name];
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(name) };
  }
  const queries = new Set(
    OPERATION_NAMES.filter((name) => inputKind(name) === "query").map((name) => BODY_NAMES[name].request),
  );
  return {
    openapi: "3.1.0",
    info: INFO,
    servers: [
      { url: origin, description: "On the machine of the sandbox." },
      { url: "/", description: "Where this document was read." },
    ],
    security: [{ controlToken: [] }],
    tags: Object.entries(SUBJECTS).map(([name, { description }]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: allRefusals(),
      schemas: Object.fromEntries(Object.entries(SCHEMAS).filter(([name]) => !queries.has(name))),
    },
  };
}

function describeOperation(name: OperationName): Json {
  const { path, summary, description, part, minRole: role } = CONTROL_OPERATIONS[name];
  const { request, response } = BODY_NAMES[name];
  const parameters = [
    ...(path.includes("{store_id}") ? [reference("parameters", "StoreId")] : []),
    ...(path.includes("{id}") ? [reference("parameters", "Id")] : []),
    ...(inputKind(name) === "query" ? queryParameters(request) : []),
  ];
  return {
    operationId: name,
    summary,
    description: part === undefined ? description : `${description} A service of single stores refuses it.`,
    tags: Object.entries(SUBJECTS).flatMap(([tag, { operations }]) => (name in operations ? [tag] : [])),
    ...(role === "administrator" ? { security: [{ adminToken: [] }] } : {}),
    "x-least-role": role,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(inputKind(name) === "body"
      ? { requestBody: { required: true, content: jsonContent(reference("schemas", request)) } }
      : {}),
    responses: {
      "200": {
        description: "Done.",
        headers: COMMON_HEADERS,
        content: jsonContent(reference("schemas", response)),
      },
      ...refusalsByStatus(codesOf(name)),
    },
  };
}

function queryParameters(query: string): Json[] {
  const { properties, required = [] } = SCHEMAS[query] ?? {};
  const requiredNames = required as readonly string[];
  return Object.entries(properties as Readonly<Record<string, Json>>).map(([name, schema]) => ({
    name,
    in: "query",
    required: requiredNames.includes(name),
    schema,
  }));
}

function allRefusals(): Json {
  const kinds = OPERATION_NAMES.flatMap((name) => groupByStatus(codesOf(name)));
  return Object.fromEntries(
    kinds.map(([status, codes]) => [nameOfRefusal(status, codes), describeRefusal(status, codes)]),
  );
}

function refusalsByStatus(codes: readonly ErrorCode[]): Json {
  return Object.fromEntries(
    groupByStatus(codes).map(([status, ownCodes]) => [
      String(status),
      reference("responses", nameOfRefusal(status, ownCodes)),
    ]),
  );
}

function codesOf(name: OperationName): readonly ErrorCode[] {
  const { refusals, part } = CONTROL_OPERATIONS[name];
  const partCodes: readonly ErrorCode[] = part === undefined ? [] : ["state_conflict"];
  return [...new Set([...COMMON_REFUSALS, ...INPUT_REFUSALS[inputKind(name)], ...refusals, ...partCodes])];
}

function nameOfRefusal(status: number, codes: readonly ErrorCode[]): string {
  const ownCodes = codes.filter((code) => !COMMON_REFUSALS.includes(code));
  return `Refused${status}${ownCodes.map((code) => upperFirst(camelCase(code))).join("")}`;
}

function groupByStatus(codes: readonly ErrorCode[]): [status: number, codes: readonly ErrorCode[]][] {
  const groups = Map.groupBy(codes, (code) => ERRORS[code].status);
  return [...groups].toSorted(([left], [right]) => left - right);
}

function describeRefusal(status: number, codes: readonly ErrorCode[]): Json {
  return {
    description: `Refused: ${codes.join(", ")}.`,
    headers: {
      ...COMMON_HEADERS,
      ...(status === ERRORS.method_not_allowed.status ? { Allow: reference("headers", "Allow") } : {}),
    },
    content: jsonContent(refusalSchema(codes)),
  };
}

function refusalSchema(codes: readonly ErrorCode[]): Json {
  const error = z.object({
    code: z.enum(codes),
    message: z.string(),
    next: z.optional(z.string()),
    path: z.optional(z.array(z.union([z.string(), z.int()]))),
  });
  const { $schema: _dialect, ...schema } = z.toJSONSchema(
    z.object({ ok: z.literal(false), request_id: z.uuid(), error }),
    { override: ({ jsonSchema }) => closeObject(jsonSchema) },
  );
  return schema;
}

function closeObject(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.properties !== undefined) schema.additionalProperties ??= false;
}

function jsonContent(schema: Json): Json {
  return { "application/json": { schema } };
}

function reference(kind: "schemas" | "parameters" | "headers" | "responses", name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}

function upperFirst(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function nameBodies(name: OperationName) {
  const { request, answer, isBare } = CONTROL_OPERATIONS[name];
  const answerShape = isBare ? answer : z.object({ ok: z.literal(true), requestId: z.uuid(), data: answer });
  const title = upperFirst(name);
  return { request: addName(request, `${title}Request`), response: addName(answerShape, `${title}Response`) };
}

function addName(schema: z.ZodMiniType, name: string): string {
  const wire = wireSchema(schema);
  const knownName = wireSchemaNames.get(wire)?.id;
  if (knownName === undefined && !(schema instanceof z.ZodMiniUndefined))
    wireSchemaNames.add(wire, { id: name });
  return knownName ?? name;
}

function allSchemas(): Readonly<Record<string, Json>> {
  const { schemas } = z.toJSONSchema(wireSchemaNames, {
    io: "input",
    uri: (name) => `#/components/schemas/${name}`,
    override: ({ zodSchema, jsonSchema }) => {
      closeObject(jsonSchema);
      Object.assign(jsonSchema, jsonSchemaRulesOf(zodSchema));
    },
  });
  // Sorted, because the registry's order depends on which schema was used first.
  const sortedSchemas = Object.entries(schemas).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(
    sortedSchemas.map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [name, schema]),
  );
}
