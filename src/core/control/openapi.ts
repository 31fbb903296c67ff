import * as z from "zod";
import { ERROR_CODES, ERRORS, type ErrorCode } from "../errors.ts";
import { OPERATION_HEADER, VERSION_HEADER } from "./operation.ts";
import {
  CONTROL_OPERATIONS,
  OPERATION_NAMES,
  takes,
  type AnswerOf,
  type OperationName,
} from "./operations.ts";
import { wireSchema } from "./wire-names.ts";

type Json = Readonly<Record<string, unknown>>;

/** What is refused before an operation is reached, and what fails behind it (decision 3). */
const REFUSALS_OF_ALL: readonly ErrorCode[] = [
  "invalid_request",
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
const REFUSALS_OF_READING = {
  nothing: ["invalid_parameter"],
  query: ["invalid_parameter"],
  body: ["invalid_json", "invalid_parameter"],
} as const satisfies Readonly<Record<string, readonly ErrorCode[]>>;

const INFO = {
  title: "Control API of the checkout sandbox",
  version: "1.0.0",
  description:
    "Acts on a sandbox from outside the v1 interface: as the payer, on the clock, on the store. No real service has it.",
};

const STORE_PARAMETER: Json = {
  name: "store_id",
  in: "path",
  required: true,
  description: "The id of a store, in lower case; `default` is the first one.",
  schema: { type: "string" },
};
const ID_PARAMETER: Json = {
  name: "id",
  in: "path",
  required: true,
  description: "The id of what is meant, in lower case.",
  schema: { type: "string", format: "uuid" },
};
const REQUEST_ID: Json = {
  description: "The request_id of the answer.",
  schema: { type: "string", format: "uuid" },
};
const SANDBOX_HEADERS: Json = {
  [VERSION_HEADER]: {
    description: "The version of the sandbox, for who was admitted.",
    schema: { type: "string" },
  },
  [OPERATION_HEADER]: {
    description: "The operationId that answered; missing where there is no such operation.",
    schema: { type: "string" },
  },
};
const ALLOW: Json = { description: "The methods that the path has.", schema: { type: "string" } };

/** The control API as an OpenAPI 3.1 document, made from the table that the router goes over (decision 43). */
export function describeControlApi(): AnswerOf<"describe"> {
  const paths: Record<string, Json> = {};
  for (const name of OPERATION_NAMES) {
    const { path, method } = CONTROL_OPERATIONS[name];
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(name) };
  }
  return {
    openapi: "3.1.0",
    info: INFO,
    security: [{ controlToken: [] }],
    paths,
    components: {
      securitySchemes: {
        controlToken: {
          type: "http",
          scheme: "bearer",
          description:
            "The control_token of .checkout/run.json; an ephemeral sandbox takes CHECKOUT_SANDBOX_CONTROL_TOKEN as it was set before the start.",
        },
        adminToken: {
          type: "http",
          scheme: "bearer",
          description:
            "The admin_token of .checkout/admin.json, or CHECKOUT_SANDBOX_ADMIN_TOKEN as it was set before the start. Good for the administrator's operations, and for no others.",
        },
      },
      schemas: { Refusal: refusalSchema() },
    },
  };
}

function describeOperation(name: OperationName): Json {
  const { path, summary, role, request, refusals } = CONTROL_OPERATIONS[name];
  const codes = [...REFUSALS_OF_ALL, ...REFUSALS_OF_READING[takes(name)], ...refusals];
  const parameters = [
    ...(path.includes("{store_id}") ? [STORE_PARAMETER] : []),
    ...(path.includes("{id}") ? [ID_PARAMETER] : []),
    ...(takes(name) === "query" ? queryParameters(schemaOf(request)) : []),
  ];
  return {
    operationId: name,
    summary,
    ...(role === "administrator" ? { security: [{ adminToken: [] }] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(takes(name) === "body"
      ? { requestBody: { required: true, content: jsonContent(schemaOf(request)) } }
      : {}),
    responses: { "200": success(name), ...refusalsByStatus(codes) },
  };
}

function queryParameters({ properties }: Json): Json[] {
  const fields = Object.entries((properties ?? {}) as Readonly<Record<string, Json>>);
  return fields.map(([name, schema]) => ({ name, in: "query", required: false, schema }));
}

function success(name: OperationName): Json {
  const { answer, bare } = CONTROL_OPERATIONS[name];
  const whole = bare ? answer : z.object({ ok: z.literal(true), requestId: z.uuid(), data: answer });
  return {
    description: "Done.",
    headers: { "X-Request-Id": REQUEST_ID, ...SANDBOX_HEADERS },
    content: jsonContent(schemaOf(whole)),
  };
}

function refusalsByStatus(codes: readonly ErrorCode[]): Record<string, Json> {
  const statuses = [...new Set(codes.map((code) => ERRORS[code].status))].toSorted(
    (left, right) => left - right,
  );
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      refused(
        status,
        codes.filter((code) => ERRORS[code].status === status),
      ),
    ]),
  );
}

function refused(status: number, codes: readonly ErrorCode[]): Json {
  const named = { properties: { error: { properties: { code: { enum: codes } } } } };
  return {
    description: `Refused: ${codes.join(", ")}.`,
    headers: {
      "X-Request-Id": REQUEST_ID,
      ...SANDBOX_HEADERS,
      ...(status === ERRORS.method_not_allowed.status ? { Allow: ALLOW } : {}),
    },
    content: jsonContent({ allOf: [{ $ref: "#/components/schemas/Refusal" }, named] }),
  };
}

/** The error envelope (interface 17), with the closed list of codes (decision 4). */
function refusalSchema(): Json {
  const error = z.object({ code: z.enum(ERROR_CODES), message: z.string() });
  return schemaOf(z.object({ ok: z.literal(false), requestId: z.uuid(), error }));
}

function jsonContent(schema: Json): Json {
  return { "application/json": { schema } };
}

/**
 * What the wire carries, as a part of the document: the dialect is that of the whole, a format needs no pattern beside it,
 * and an object has no other fields than those described.
 */
function schemaOf(schema: z.ZodType): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(wireSchema(schema), {
    io: "input",
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (jsonSchema.properties !== undefined) jsonSchema.additionalProperties ??= false;
    },
  });
  return rest;
}
