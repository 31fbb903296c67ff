import type { ErrorCode } from "./errors.ts";
import {
  fillTemplate,
  fillBothLanguages,
  findPlaceholderNames,
  valueText,
  type FactValue,
  type FactValues,
  type PlaceholderNames,
} from "./fact.ts";
import { english, type Words } from "./language.ts";
import type { Refusal, Refused } from "./outcome.ts";
import { REFUSALS_OF_CHECKOUTS } from "./refusals/checkout.ts";
import { SANDBOX_REFUSALS } from "./refusals/sandbox.ts";
import { WEBHOOK_REFUSALS } from "./refusals/webhook.ts";
import { SECRET_DESCRIPTION as A_SECRET, SECRET_DESCRIPTION_ZH as A_SECRET_ZH } from "./text.ts";

type Message = string | Words;

type Sentence = {
  readonly field?: string;
  readonly received?: string;
  /** The suggested command. Default: the commands of the error code. */
  readonly next?: string;
} & ({ readonly text: Message; readonly expected?: Words } | { readonly expected: Words });
type Row = Sentence & { readonly code: ErrorCode };

export const KEY_FAULTS = {
  not_a_key: "does not have the form svc_test_… of a test key",
  mistyped_key: "has a wrong checksum: it was cut off or mistyped",
} as const;

const HOST_TEXT = "Host {host} is not a name of this server; {flag}";
const EXPECTED_PRICE = [
  "price_id must name an approved price of this store",
  "price_id 应为本商店已批准的价格",
] as const;
const NO_SECRET_WORDS = [`{field} must be free of ${A_SECRET}`, `{field} 不得包含 ${A_SECRET_ZH}`] as const;

/** In the order of the checks (decision 3) within each code. */
export const V1_REFUSALS = {
  invalid_request: {
    http_version: { expected: ["HTTP/1.1 was expected", "应为 HTTP/1.1"] },
    transfer_coding: "the only supported transfer coding is chunked",
    invalid_http: "the request is not valid HTTP/1.1: {reason}",
    expectation: { expected: ["Expect may only be 100-continue", "Expect 只能为 100-continue"] },
    no_path: { expected: ["the request target must be a path", "请求目标应为路径"] },
    host_lines: { expected: ["exactly one Host header was expected", "应有且只有一个 Host 请求头"] },
  },
  headers_too_large: {
    header_lines: "a request may have at most {most} header lines",
    head_bytes: "the request line and headers may have at most {most} bytes",
    head_overflow: "the request line and headers are too large for this server",
  },
  body_too_large: { body_too_large: "a body may have at most {most} bytes" },
  request_timeout: {
    request_timeout: "the whole request must arrive within {seconds} s, its headers within {headSeconds} s",
  },
  host_not_allowed: {
    host_not_allowed: `${HOST_TEXT} HOST adds it where the server is started`,
    host_port_not_allowed: `${HOST_TEXT} HOST:PORT adds it where the server is started; HOST without a port allows no port, or the server's port`,
  },
  origin_not_allowed: {
    origin_not_allowed: {
      text: "this API is for servers, not for pages in a browser; got Origin {origin}",
      received: "Origin {origin}",
    },
  },
  not_found: { unknown_path: ["{owner} has no {received}", "{chinese}没有 {received}"] },
  method_not_allowed: {
    method_not_allowed: {
      text: ["{path} takes {methods}; got {received}", "{path} 只接受 {methods}；收到 {received}"],
      expected: ["{path} takes {methods}", "{path} 只接受 {methods}"],
    },
  },
  credential_missing: { credential_missing: "the header Authorization: Bearer <API key> is missing" },
  credential_invalid: {
    credential_lines: "one Authorization header was expected; got {received}",
    not_bearer: "Authorization must be: Bearer <API key>",
    not_a_key: `the API key ${KEY_FAULTS.not_a_key}`,
    mistyped_key: `the API key ${KEY_FAULTS.mistyped_key}`,
    unknown_key: "the API key is unknown here, or was revoked",
  },
  rate_limited: {
    rate_limited: "more than {perSecond} requests a second with this API key; try again in {seconds} s",
    too_many_requests: "too many requests with this API key; try again in {seconds} s",
  },
  environment_not_allowed: {
    environment_not_allowed: "v1 accepts only test credentials, even after production was approved",
  },
  production_approval_missing: {
    production_approval_missing:
      "live credentials need production approval, and v1 accepts only test credentials",
  },
  scope_missing: {
    scope_missing: {
      text: "this operation needs the scope {scope}; the API key has: {granted}",
      expected: ["the scope {scope}", "权限范围 {scope}"],
      received: "the API key has: {granted}",
    },
  },
  unknown_parameter: {
    query: { expected: ["v1 has no query parameters", "v1 没有查询参数"] },
    unknown_parameter: {
      text: "{received} is not a field of this request; fields: {fields}",
      expected: ["fields: {fields}", "字段：{fields}"],
    },
  },
  unsupported_content_type: {
    content_type: {
      expected: ["Content-Type must be application/json", "Content-Type 应为 application/json"],
    },
    content_encoding: {
      expected: ["the body must have no Content-Encoding", "请求体不得使用 Content-Encoding"],
    },
  },
  invalid_json: { invalid_json: "the body is not strict JSON: {received}" },
  invalid_parameter: {
    inexact_number: {
      text: '"{field}" has the number {received}, which cannot be kept exactly; integers may reach ±9007199254740991',
      expected: ["integers may reach ±9007199254740991", "整数的绝对值至多 9007199254740991"],
    },
    no_object: { expected: ["the body must be a JSON object", "请求体应为 JSON 对象"] },
    invalid_parameter: { expected: ["{field} must be {form}", "{field} must be {form}"] },
    field_with_secret: {
      text: `{field} must be free of ${A_SECRET}`,
      expected: NO_SECRET_WORDS,
    },
    field_with_token: {
      text: [`{field} must not contain ${A_SECRET}`, `{field} 不得包含 ${A_SECRET_ZH}`],
      expected: NO_SECRET_WORDS,
    },
    fault_secret: [`must not contain ${A_SECRET}`, `不得包含 ${A_SECRET_ZH}`],
    unknown_price: {
      text: `${EXPECTED_PRICE[0]}; got {price}, which is not in its catalog: see checkout prices list`,
      field: "price_id",
      expected: EXPECTED_PRICE,
      received: "{price}, which is not in its catalog",
      next: "checkout prices list",
    },
    retired_price: {
      text: `${EXPECTED_PRICE[0]}; got {price}, which is retired: choose another one from checkout prices list`,
      field: "price_id",
      expected: EXPECTED_PRICE,
      received: "{price}, which is retired",
      next: "checkout prices list",
    },
    unapproved_price: {
      text: `${EXPECTED_PRICE[0]}; got {price}, which is not approved: see checkout admin approve-price`,
      field: "price_id",
      expected: EXPECTED_PRICE,
      received: "{price}, which is not approved",
      next: "checkout admin approve-price",
    },
  },
  idempotency_key_missing: {
    idempotency_key_missing:
      "a create needs the header Idempotency-Key with 8 to 128 printable ASCII characters; use the same key when you retry",
  },
  idempotency_key_invalid: {
    key_lines: {
      expected: ["one Idempotency-Key header was expected", "应有且只有一个 Idempotency-Key 请求头"],
    },
    key_with_secret: `Idempotency-Key must not contain ${A_SECRET}`,
    key_form: {
      expected: [
        "Idempotency-Key must have 8 to 128 printable ASCII characters",
        "Idempotency-Key 应为 8 到 128 个可打印 ASCII 字符",
      ],
    },
  },
  conflicting_parameters: {
    conflicting_parameters: {
      text: "price_id already sets amount, currency and payment method; leave out {fields}, or leave out price_id",
      field: "price_id",
      expected: ["leave out {fields}, or leave out price_id", "去掉 {fields}，或去掉 price_id"],
    },
  },
  missing_parameter: { missing_parameter: "{field} is required: {form}" },
  invalid_session_id: {
    invalid_session_id: { expected: ["the session id must be a UUID", "会话 ID 应为 UUID"] },
  },
  session_not_found: {
    session_not_found: "this store has no checkout session or order with the id {received}",
  },
  idempotency_key_reused: {
    idempotency_key_reused:
      "Idempotency-Key {key} was used for another request; a retry must repeat path and body, a new request needs a new key",
  },
  store_inactive: {
    store_inactive: {
      text: "store {store} is not active, so it cannot open a checkout",
      received: "store {store} is not active",
    },
  },
  capability_missing: {
    capability_missing: {
      text: "{field} {received} is not active for this store; active: {active}",
      expected: ["active: {active}", "已启用：{active}"],
    },
  },
  order_conflict: {
    order_conflict: {
      text: "order_id {order} already has the {object} {id} with status {status}; a new one can be created only after that one failed, was cancelled or expired",
      received: "the {object} {id} with status {status}",
    },
  },
} as const satisfies Partial<Record<ErrorCode, Readonly<Record<string, Message | Sentence>>>>;

function rowsOf<Table extends Readonly<Record<string, Readonly<Record<string, Message | Sentence>>>>>(
  table: Table,
): RowsOf<Table> {
  const rows = Object.entries(table).flatMap(([code, sentences]) =>
    Object.entries(sentences).map(([name, sentence]) => [
      name,
      { code, ...(isMessage(sentence) ? { text: sentence } : sentence) },
    ]),
  );
  return Object.fromEntries(rows) as RowsOf<Table>;
}

function isMessage(sentence: Message | Sentence): sentence is Message {
  return typeof sentence === "string" || Array.isArray(sentence);
}

type RowsOf<Table> = {
  [Entry in EntriesOf<Table> as Entry[1]]: { readonly code: Entry[0] } & (Entry[2] extends Message
    ? { readonly text: Entry[2] }
    : Entry[2]);
};
type EntriesOf<Table> = {
  [Code in keyof Table]: {
    [Name in keyof Table[Code]]: readonly [code: Code, name: Name, sentence: Table[Code][Name]];
  }[keyof Table[Code]];
}[keyof Table];

const REFUSALS = {
  ...rowsOf(REFUSALS_OF_CHECKOUTS),
  ...rowsOf(WEBHOOK_REFUSALS),
  ...rowsOf(SANDBOX_REFUSALS),
  ...rowsOf(V1_REFUSALS),
} as const satisfies Readonly<Record<string, Row>>;

export type FactName = keyof typeof REFUSALS;

type KnownFact = { readonly fact: FactName; readonly values: FactValues };

type NamesOf<FactRow> = FactRow extends { readonly text: infer Text }
  ? PlaceholderNames<Text extends readonly string[] ? Text[number] : Text>
  : FactRow extends { readonly expected: readonly [infer Expected, string] }
    ? PlaceholderNames<Expected> | "received"
    : never;

type ValuesOf<Name extends FactName> = Readonly<
  Record<NamesOf<(typeof REFUSALS)[Name]>, FactValue> & { field?: string }
>;

export type FactWithoutValues = {
  [Name in FactName]: [NamesOf<(typeof REFUSALS)[Name]>] extends [never] ? Name : never;
}[FactName];

const ROWS: ReadonlyMap<string, Row> = new Map<string, Row>(Object.entries(REFUSALS));

export function refuseFact<Name extends FactName>(
  fact: Name,
  values: ValuesOf<Name>,
  fields: Omit<Refusal, "code" | "message" | "chinese" | "told"> = {},
): Refused {
  const told = { fact, values };
  const [message, chinese] = factText(told);
  return { ok: false, refusal: { code: REFUSALS[fact].code, message, chinese, told, ...fields } };
}

function factText({ fact, values }: KnownFact): readonly [message: string, chinese?: string] {
  const row: Row = REFUSALS[fact];
  if (!("text" in row))
    return [`${fillTemplate(row.expected[0], values)}; got ${valueText(values["received"], english)}`];
  return typeof row.text === "string"
    ? [fillTemplate(row.text, values)]
    : fillBothLanguages(row.text, values);
}

export function factParts({ fact, values }: KnownFact): {
  readonly field: string | undefined;
  readonly expected: Words | undefined;
  readonly received: string | undefined;
  readonly next: string | undefined;
} {
  const row: Row = REFUSALS[fact];
  const valueOf = (name: string): string | undefined =>
    name in values ? valueText(values[name], english) : undefined;
  return {
    field: row.field ?? valueOf("field"),
    expected: row.expected && fillBothLanguages(row.expected, values),
    received: row.received === undefined ? valueOf("received") : fillTemplate(row.received, values),
    next: row.next,
  };
}

/** Other programs can write to the log, so the values are checked too. */
export function isRefusalFact(value: unknown): value is KnownFact {
  const { fact, values } = Object(value) as Readonly<Record<string, unknown>>;
  const row = typeof fact === "string" ? ROWS.get(fact) : undefined;
  if (row === undefined || typeof values !== "object" || values === null) return false;
  const givenValues = new Map<string, unknown>(Object.entries(values));
  const texts = "text" in row ? [row.text].flat() : [row.expected[0], "{received}"];
  return texts.every((text) =>
    findPlaceholderNames(text).every((name) => isFactValue(givenValues.get(name))),
  );
}

function isFactValue(value: unknown): boolean {
  return Array.isArray(value) || typeof value === "string" || typeof value === "number";
}
