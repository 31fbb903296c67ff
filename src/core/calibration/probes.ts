import type { CheckoutObject } from "../checkout/checkout.ts";
import { ERRORS, type ErrorCode } from "../errors.ts";
import { isRecord, parseJson } from "../json.ts";

export type ProbeRequest = {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Default: the API key. */
  readonly credential?: "none";
  readonly idempotencyKey?: string;
  /** Default: `application/json`. */
  readonly contentType?: string;
  readonly body?: string;
};

export type ProbeAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly wasResent?: true;
};

export type ProbeAnswers = ReadonlyMap<string, ProbeAnswer>;

export type ProbeResults = {
  readonly answers: ProbeAnswers;
  readonly missReasons: ReadonlyMap<string, string>;
};

type ProbeCheck = {
  readonly decision: number;
  readonly expected: string;
  readonly holds: (answer: ProbeAnswer, answers: ProbeAnswers) => boolean;
  readonly refusal?: ErrorCode;
};

type Probe = {
  readonly name: string;
  readonly summary: string;
  /** Returns undefined if an earlier answer lacks the id that the request needs. */
  readonly buildRequest: (run: string, answers: ProbeAnswers) => ProbeRequest | undefined;
  readonly checks: readonly ProbeCheck[];
};

const V7_UUID_PATTERN = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

export const REPLAY_HEADER = "idempotent-replayed";

/** The calibration stops unless the answer to this probe contains `livemode: false`. */
export const FIRST_PROBE = "create";
export const REPLAY_PROBE = "replay";
export const BOTH_FORMS_PROBE = "both-forms";

const MAX_BODY_BYTES = 16_384;

export const AMOUNT_MINOR = 100;
const CURRENCY = "EUR";
const amountBody = (orderId: string, extraFields: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    order_id: orderId,
    amount_minor: AMOUNT_MINOR,
    currency: CURRENCY,
    payment_method: "alipay_plus",
    ...extraFields,
  });
export const probeOrderId = (run: string): string => `calibrate-${run}`;
/** Must not contain the order_id of the first order, by which the receiver finds that order's events. */
const sessionOrderIdOf = (run: string): string => `calibrate-session-${run}`;
const keyOf = (run: string, number: number): string => `calibrate-${run}-${number}`;
const REFUSED_ORDER_ID = "calibrate-refused";
const refusedBody = (extraFields: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ order_id: REFUSED_ORDER_ID, ...extraFields });

function orderRequest(
  keyNumber: number,
  bodyFor: (run: string) => string,
  overrides: Partial<ProbeRequest> = {},
): Probe["buildRequest"] {
  return (run) => ({
    method: "POST",
    path: "/orders",
    idempotencyKey: keyOf(run, keyNumber),
    body: bodyFor(run),
    ...overrides,
  });
}

function retrieveRequest(probeName: string): Probe["buildRequest"] {
  return (_run, answers) => {
    const { id } = checkoutInAnswer(answers.get(probeName));
    return id === undefined ? undefined : { method: "GET", path: retrievePath(id) };
  };
}

export function probeHeaders(
  { credential, idempotencyKey, contentType = "application/json", body }: ProbeRequest,
  authorization: string,
): Readonly<Record<string, string>> {
  return {
    ...(credential === "none" ? {} : { Authorization: authorization }),
    ...(idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey }),
    ...(body === undefined ? {} : { "Content-Type": contentType }),
  };
}

function refusalCheck(decision: number, code: ErrorCode): ProbeCheck {
  const { status } = ERRORS[code];
  return {
    decision,
    expected: `${status} ${code}, as JSON`,
    holds: (answer) => answer.status === status && isJson(answer) && errorCodeIn(answer) === code,
    refusal: code,
  };
}

function refusedCreate(
  summary: string,
  [decision, code]: readonly [decision: number, code: ErrorCode],
  overrides: Partial<ProbeRequest>,
): Omit<Probe, "name"> {
  const buildRequest = orderRequest(2, () => amountBody(REFUSED_ORDER_ID), overrides);
  return { summary, buildRequest, checks: [refusalCheck(decision, code)] };
}

function creationChecks(object: CheckoutObject): readonly ProbeCheck[] {
  const fields = {
    object,
    amount_minor: AMOUNT_MINOR,
    currency: CURRENCY,
    status: "created",
    livemode: false,
  };
  return [
    {
      decision: 20,
      expected: `201 with livemode false, object ${object} and the values of the request, as JSON`,
      holds: (answer) => {
        const checkout = checkoutInAnswer(answer);
        const matchesRequest = Object.entries(fields).every(([name, value]) => checkout[name] === value);
        return answer.status === 201 && isJson(answer) && matchesRequest;
      },
    },
    {
      decision: 2,
      expected: "id and request_id are UUIDs of version 7, in lower case; X-Request-Id is the request_id",
      holds: (answer) => {
        const requestId = answer.body["request_id"];
        const isV7 = (id: unknown): boolean => typeof id === "string" && V7_UUID_PATTERN.test(id);
        return (
          [checkoutInAnswer(answer)["id"], requestId].every(isV7) &&
          answer.headers["x-request-id"] === requestId
        );
      },
    },
  ];
}

function unchangedCheck(probeName: string): ProbeCheck {
  return {
    decision: 9,
    expected: "200 with the same checkout, still created",
    holds: (answer, answers) =>
      answer.status === 200 &&
      JSON.stringify(checkoutInAnswer(answer)) === JSON.stringify(checkoutInAnswer(answers.get(probeName))),
  };
}

function isJson({ headers }: ProbeAnswer): boolean {
  return /^application\/json *(?:;|$)/i.test(headers["content-type"] ?? "");
}

export function errorCodeIn({ body }: ProbeAnswer): unknown {
  return isRecord(body["error"]) ? body["error"]["code"] : undefined;
}

export function checkoutInAnswer(answer: ProbeAnswer | undefined): Readonly<Record<string, unknown>> {
  const data = answer?.body["data"];
  return isRecord(data) ? data : {};
}

export function retrievePath(id: unknown): string {
  return `/checkout-sessions/${encodeURIComponent(String(id))}`;
}

const SHORT_KEY = "short";

const SESSION_PROBE = "create-session";

const PROBES_BY_NAME: Readonly<Record<string, Omit<Probe, "name">>> = {
  [FIRST_PROBE]: {
    summary: "creates an order of 1.00 EUR",
    buildRequest: orderRequest(1, (run) => amountBody(probeOrderId(run))),
    checks: creationChecks("order"),
  },
  [REPLAY_PROBE]: {
    summary: "sends the same create with the same key",
    buildRequest: orderRequest(1, (run) => amountBody(probeOrderId(run))),
    checks: [
      {
        decision: 5,
        expected:
          "201 with the same bytes, and Idempotent-Replayed: true, which the first answer does not have",
        holds: ({ status, headers, text }, answers) => {
          const firstAnswer = answers.get(FIRST_PROBE);
          const isMarked =
            headers[REPLAY_HEADER] === "true" && firstAnswer?.headers[REPLAY_HEADER] === undefined;
          return status === 201 && text === firstAnswer?.text && isMarked;
        },
      },
    ],
  },
  "other-values": {
    summary: "sends another amount with the same key",
    buildRequest: orderRequest(1, (run) => amountBody(probeOrderId(run), { amount_minor: 200 })),
    checks: [refusalCheck(5, "idempotency_key_reused")],
  },
  "other-path": {
    summary: "sends the same body with the same key to /checkout-sessions",
    buildRequest: orderRequest(1, (run) => amountBody(probeOrderId(run)), { path: "/checkout-sessions" }),
    checks: [refusalCheck(5, "idempotency_key_reused")],
  },
  "same-order": {
    summary: "creates the open order again, with another key",
    buildRequest: orderRequest(2, (run) => amountBody(probeOrderId(run))),
    checks: [refusalCheck(8, "order_conflict")],
  },
  [SESSION_PROBE]: {
    summary: "creates a checkout session of 1.00 EUR",
    buildRequest: orderRequest(3, (run) => amountBody(sessionOrderIdOf(run)), { path: "/checkout-sessions" }),
    checks: creationChecks("checkout_session"),
  },
  "unknown-id": {
    summary: "retrieves an id that does not exist",
    buildRequest: () => ({ method: "GET", path: "/checkout-sessions/00000000-0000-4000-8000-000000000000" }),
    checks: [refusalCheck(9, "session_not_found")],
  },
  "no-json": refusedCreate("sends a body that is not JSON", [6, "invalid_json"], { body: "{order_id: 1}" }),
  "field-twice": refusedCreate("sends a field twice", [6, "invalid_json"], {
    body: `{"order_id":"${REFUSED_ORDER_ID}",${amountBody(REFUSED_ORDER_ID).slice(1)}`,
  }),
  "plain-text": refusedCreate("sends a body as text/plain", [6, "unsupported_content_type"], {
    contentType: "text/plain",
  }),
  "large-body": refusedCreate("sends a body of more than 16 KiB", [6, "body_too_large"], {
    body: amountBody(REFUSED_ORDER_ID, { description: "x".repeat(MAX_BODY_BYTES) }),
  }),
  [BOTH_FORMS_PROBE]: {
    summary: "sends a price_id and an amount",
    buildRequest: orderRequest(4, (run) => amountBody(`calibrate-both-${run}`, { price_id: "price_coffee" })),
    checks: [refusalCheck(7, "conflicting_parameters")],
  },
  "unknown-price": refusedCreate("sends a price_id that does not exist", [7, "invalid_parameter"], {
    body: refusedBody({ price_id: "no-such-price" }),
  }),
  "no-credential": refusedCreate("sends a create without the API key", [4, "credential_missing"], {
    credential: "none",
  }),
  "no-key": {
    summary: "sends a create without an Idempotency-Key",
    buildRequest: () => ({ method: "POST", path: "/orders", body: amountBody(REFUSED_ORDER_ID) }),
    checks: [refusalCheck(4, "idempotency_key_missing")],
  },
  "credential-before-key": refusedCreate("sends a short key without the API key", [3, "credential_missing"], {
    idempotencyKey: SHORT_KEY,
    credential: "none",
  }),
  "key-before-body": refusedCreate(
    "sends a short key with an incomplete body",
    [3, "idempotency_key_invalid"],
    {
      idempotencyKey: SHORT_KEY,
      body: refusedBody({}),
    },
  ),
  "unknown-before-missing": refusedCreate(
    "sends an incomplete body with an unknown field",
    [3, "unknown_parameter"],
    { body: refusedBody({ extra: 1 }) },
  ),
  "missing-before-invalid": refusedCreate(
    "sends an incomplete body with an invalid amount",
    [3, "missing_parameter"],
    { body: refusedBody({ amount_minor: 0 }) },
  ),
  // Retrieved last, to notice checkouts that expire during the calibration.
  retrieve: {
    summary: "retrieves the order",
    buildRequest: retrieveRequest(FIRST_PROBE),
    checks: [unchangedCheck(FIRST_PROBE)],
  },
  "retrieve-session": {
    summary: "retrieves the checkout session",
    buildRequest: retrieveRequest(SESSION_PROBE),
    checks: [unchangedCheck(SESSION_PROBE)],
  },
};

export const PROBES: readonly Probe[] = Object.entries(PROBES_BY_NAME).map(([name, probe]) =>
  Object.assign({ name }, probe),
);

export function parseProbeAnswer(
  answer: Pick<ProbeAnswer, "status" | "headers"> & { readonly body: string },
  wasResent: boolean,
): ProbeAnswer {
  const { status, headers, body: text } = answer;
  const body = parseJson(text);
  return { status, headers, text, body: isRecord(body) ? body : {}, ...(wasResent && { wasResent }) };
}
