import * as z from "zod/mini";
import { snakeCase } from "../text.ts";
import { createPart, type Part } from "../fact.ts";
import { isRecord } from "../json.ts";
import { accept, prefixFieldName, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { printableLiteral } from "../text.ts";
import { checkoutOperations } from "./operations/checkout.ts";
import { clockOperations } from "./operations/clock.ts";
import { configOperations } from "./operations/config.ts";
import { drillOperations } from "./operations/drills.ts";
import { keyOperations } from "./operations/keys.ts";
import type { Operation } from "./operation.ts";
import type { ControlRole } from "./protocol.ts";
import { portalOperations } from "./operations/portal.ts";
import { readinessOperations } from "./operations/readiness.ts";
import { sandboxOperations } from "./operations/sandbox.ts";
import { requestOperations } from "./operations/requests.ts";
import { storesOperations } from "./operations/stores.ts";
import { webhookOperations } from "./operations/webhook.ts";
import {
  convertUnchecked,
  toDomainNames,
  wireFieldsAt,
  wireSchema,
  type WireOf,
} from "../shape/wire-names.ts";
import { faultOperations } from "./operations/faults.ts";
import type { DomainOf } from "../shape/fields.ts";

export const SUBJECTS = {
  checkouts: {
    description: "Orders, sessions, their payment, prices and return origins.",
    operations: checkoutOperations,
  },
  webhooks: { description: "Endpoints, events and deliveries.", operations: webhookOperations },
  faults: { description: "Injected faults of v1 and of deliveries.", operations: faultOperations },
  clock: { description: "The time of a store.", operations: clockOperations },
  requests: {
    description: "The log of v1 requests, and explanations of ids.",
    operations: requestOperations,
  },
  readiness: {
    description: "The launch checklist, and the administrator's actions.",
    operations: readinessOperations,
  },
  drills: { description: "Drills that prove items of the checklist.", operations: drillOperations },
  keys: {
    description: "API keys of a store, and tokens with rights on one store.",
    operations: keyOperations,
  },
  stores: { description: "The stores of the sandbox, and their snapshots.", operations: storesOperations },
  config: { description: "The configuration, as in a configuration file.", operations: configOperations },
  portal: { description: "Sign-ins to the portal.", operations: portalOperations },
  sandbox: { description: "The process that runs the sandbox.", operations: sandboxOperations },
};

type Subjects = typeof SUBJECTS;
type Operations = Merge<Subjects[keyof Subjects]["operations"]>;
type Merge<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

export type OperationName = keyof Operations;
export type RequestOf<Name extends OperationName> = DomainOf<Operations[Name]["request"]>;
export type WireAnswerOf<Name extends OperationName> = WireOf<Operations[Name]["answer"]>;
export type AnswerOf<Name extends OperationName> = DomainOf<Operations[Name]["answer"]>;

export const CONTROL_OPERATIONS = Object.fromEntries(
  Object.values(SUBJECTS).flatMap(({ operations }) => Object.entries<Operation>(operations)),
) as Readonly<Record<OperationName, Operation>>;

export const OPERATION_NAMES = Object.keys(CONTROL_OPERATIONS) as readonly OperationName[];

export function folderTokenRole(name: OperationName): ControlRole {
  return CONTROL_OPERATIONS[name].minRole === "administrator" ? "administrator" : "control";
}

export function inputKind(name: OperationName): "nothing" | "body" | "query" {
  const { method, request } = CONTROL_OPERATIONS[name];
  if (request instanceof z.ZodMiniUndefined) return "nothing";
  return method === "POST" ? "body" : "query";
}

export function pathOf(
  name: OperationName,
  { storeId, id }: { readonly storeId: string; readonly id: string },
): string {
  const { path } = CONTROL_OPERATIONS[name];
  return path.replace("{store_id}", encodeURIComponent(storeId)).replace("{id}", encodeURIComponent(id));
}

/** Refuses with `invalid_parameter`, naming the field as on the wire. */
export function decodeRequest<Name extends OperationName>(
  name: Name,
  body: unknown,
): Outcome<RequestOf<Name>> {
  const result = wireSchema(CONTROL_OPERATIONS[name].request).safeParse(body);
  return result.success ? accept(result.data as RequestOf<Name>) : refuseIssue(name, result.error, body);
}

function refuseIssue(
  name: OperationName,
  { issues: [issue] }: z.core.$ZodError,
  body: unknown,
): Outcome<never> {
  const inputName = CONTROL_OPERATIONS[name].method === "POST" ? "the body" : "the query";
  const field = issue === undefined || issue.path.length === 0 ? inputName : issue.path.join(".");
  const receivedText = printableLiteral(valueAt(body, issue?.path ?? []) ?? body);
  const isUnknown = issue?.code === "unrecognized_keys";
  const names = isUnknown ? wireFieldsAt(CONTROL_OPERATIONS[name].request, issue.path) : [];
  const allowedFields = names.length === 0 ? "" : createPart("allowed_fields", { names });
  return prefixFieldName(
    field,
    refuseFact("request_field", { why: issuePart(issue), known: allowedFields, received: receivedText }),
  );
}

function issuePart(issue: z.core.$ZodIssue | undefined): Part {
  const said = issue?.message ?? "is invalid";
  switch (issue?.code) {
    case "invalid_type":
      return createPart("issue_type", { said, expected: issue.expected });
    case "invalid_value":
      return createPart("issue_value", { said, values: issue.values.map(String) });
    case "too_small":
      return createPart("issue_too_small", {
        said,
        least: String(issue.minimum),
        unit: unitOf(issue.origin),
      });
    case "too_big":
      return createPart("issue_too_big", { said, most: String(issue.maximum), unit: unitOf(issue.origin) });
    case "invalid_format":
      return issue.format === "regex"
        ? createPart("issue_pattern", { said })
        : createPart("issue_format", { said, format: issue.format });
    case "unrecognized_keys":
      return createPart("issue_unknown_keys", { said, keys: issue.keys });
    case "custom":
      return createPart("issue_own", { said, chinese: String(issue.params?.["chinese"] ?? "无效") });
    case undefined:
    case "invalid_element":
    case "invalid_key":
    case "invalid_union":
    case "not_multiple_of":
      return createPart("issue_own", { said, chinese: "无效" });
  }
}

function unitOf(origin: string): Part | "" {
  if (origin === "string") return createPart("unit_characters", {});
  return origin === "array" ? createPart("unit_items", {}) : "";
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => {
    const isPresent = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    return isPresent ? (value as Readonly<Record<PropertyKey, unknown>>)[key] : undefined;
  }, body);
}

export function encodeRequest<Name extends OperationName>(
  name: Name,
  body: RequestOf<Name>,
): Fields | undefined {
  return z.encode(wireSchema(CONTROL_OPERATIONS[name].request), body) as Fields | undefined;
}

export function isRequestOf<Name extends OperationName>(name: Name, body: RequestOf<Name>): boolean {
  return z.safeEncode(wireSchema(CONTROL_OPERATIONS[name].request), body).success;
}

/** With `isSameVersion`, accepts data that the schema refuses, because another program stored it (decision 95). */
export function decodeAnswer<Name extends OperationName>(
  name: Name,
  body: unknown,
  isSameVersion = false,
): AnswerOf<Name> | undefined {
  const { answer, isBare } = CONTROL_OPERATIONS[name];
  const data = isBare ? body : envelope.safeParse(body).data?.data;
  const result = wireSchema(answer).safeParse(data);
  const isKept = !result.success && isSameVersion && isRecord(data);
  return (isKept ? convertUnchecked(answer, data, "domain") : result.data) as AnswerOf<Name> | undefined;
}

/** Checks the request of an untyped caller before it is encoded. */
export function checkRequest<Name extends OperationName>(
  name: Name,
  body: RequestOf<Name>,
): Outcome<RequestOf<Name>> {
  const encodedBody = z.safeEncode(CONTROL_OPERATIONS[name].request, body);
  return encodedBody.success ? accept(body) : refuseIssue(name, encodedBody.error, body);
}

export function toDomainMessage(name: OperationName, message: string): string {
  return toDomainNames(CONTROL_OPERATIONS[name].request, message);
}

/** Encodes the answer without its envelope. Keeps stored values that the schema refuses. */
export function encodeAnswer<Name extends OperationName>(
  name: Name,
  answer: AnswerOf<Name>,
): WireAnswerOf<Name> {
  const schema = CONTROL_OPERATIONS[name].answer;
  const result = z.safeEncode(wireSchema(schema), answer);
  return (result.success ? result.data : convertUnchecked(schema, answer, "wire")) as WireAnswerOf<Name>;
}

/** Encoding one batch blocks the event loop for only a few milliseconds. */
const BATCH_SIZE = 500;

export function* encodeInSteps<Name extends OperationName>(
  name: Name,
  answer: AnswerOf<Name>,
): Generator<void, Fields> {
  const lists = Object.entries(answer).filter(isLongList);
  const emptyLists = Object.fromEntries(lists.map(([field]) => [field, []]));
  const result: Record<string, unknown> = { ...(encodeAnswer(name, { ...answer, ...emptyLists }) as Fields) };
  for (const [field, entries] of lists) {
    const parts: unknown[] = [];
    for (let start = 0; start < entries.length; start += BATCH_SIZE) {
      const part = { ...emptyLists, [field]: entries.slice(start, start + BATCH_SIZE) };
      parts.push((encodeAnswer(name, { ...answer, ...part }) as Fields)[snakeCase(field)]);
      yield;
    }
    result[snakeCase(field)] = parts.flat();
  }
  return result;
}

function isLongList(field: [string, unknown]): field is [string, readonly unknown[]] {
  return Array.isArray(field[1]) && field[1].length > BATCH_SIZE;
}

type Fields = Readonly<Record<string, unknown>>;

const envelope = z.object({ ok: z.literal(true), data: z.unknown() });
