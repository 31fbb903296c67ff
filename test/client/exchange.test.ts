import { expect, test } from "vitest";
import {
  sendWithRetries,
  type ApiRequest,
  type Exchange,
  type ExchangeOptions,
} from "../../src/client/api/exchange.ts";
import type { OutboundRequest, OutboundResult } from "../../src/world.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const RETRIES = 2;
const REQUEST: ApiRequest = {
  method: "POST",
  url: "http://localhost:4242/v1/orders",
  headers: { "Idempotency-Key": "key-00001" },
  body: "{}",
  proxy: "http://localhost:3128",
};
const ID = "0199a3c4-5d00-7000-8000-000000000001";
const CHECKOUT = {
  ok: true,
  request_id: ID,
  data: {
    id: ID,
    object: "order",
    order_id: "o-1",
    amount_minor: 500,
    currency: "EUR",
    status: "created",
    checkout_url: "http://127.0.0.1:4242/pay/x",
    livemode: false,
  },
} as const;

const answered = (status: number, body: string, headers: Record<string, string> = {}): OutboundResult => ({
  ok: true,
  status,
  headers,
  body,
});
const created = (status = 201): OutboundResult => answered(status, JSON.stringify(CHECKOUT), { a: "b" });
const refusal = (status: number, code: string, headers: Record<string, string> = {}): OutboundResult =>
  answered(status, JSON.stringify({ ok: false, request_id: "r", error: { code, message: "m" } }), headers);
const failed = (failure: Extract<OutboundResult, { ok: false }>["failure"]): OutboundResult => ({
  ok: false,
  failure,
  message: "why",
});

/** Sends a request that gets these answers in turn, then the last answer repeatedly; records the steps. */
async function send(
  answers: readonly OutboundResult[],
  { request = {}, options = {} }: { request?: Partial<ApiRequest>; options?: Partial<ExchangeOptions> } = {},
) {
  const sent: OutboundRequest[] = [];
  const pauses: number[] = [];
  const told: unknown[] = [];
  const result: Exchange = await sendWithRetries(
    {
      now: () => NOW,
      random: () => 0.5,
      sleep: async (milliseconds) => void pauses.push(milliseconds),
      send: async (one) => {
        sent.push(one);
        return answers[sent.length - 1] ?? answers.at(-1) ?? failed("unreachable");
      },
    },
    { ...REQUEST, ...request },
    {
      policy: { retries: RETRIES, timeoutMs: 1234 },
      observer: {
        onAttempt: ({ url }) => told.push(["try", url]),
        onAnswer: (one) => told.push(["answer", one.ok ? one.status : one.failure]),
        onRetry: (why, delayMs) => told.push(["retry", why, delayMs]),
      },
      ...options,
    },
  );
  return { result, sent, pauses, told };
}

test("every result of an attempt determines whether the request is retried and whether its outcome is uncertain", async () => {
  const again = (code: string, rest: object) => ({ end: "gave_up", attemptCount: 3, code, ...rest });
  const naming = (value: string) => expect.stringContaining(value) as string;
  const once = (status: number, code: string) => ({
    end: "refusal",
    attemptCount: 1,
    isUncertain: false,
    status,
    error: { code, message: "m" },
    requestId: "r",
  });
  const rows: readonly (readonly [OutboundResult, object])[] = [
    [created(), { end: "success", attemptCount: 1, isUncertain: false, status: 201, response: CHECKOUT }],
    [created(200), { end: "success", attemptCount: 1, status: 200, headers: { a: "b" } }],
    [created(299), { end: "success", attemptCount: 1, status: 299 }],
    [created(300), again("status_300", { isUncertain: true, status: 300, message: naming("300") })],
    [created(199), again("status_199", { isUncertain: true, status: 199 })],
    [
      answered(201, "{}"),
      again("bad_answer", {
        isUncertain: true,
        status: 201,
        message: naming("201"),
        retryAfterMs: 0,
      }),
    ],
    [refusal(400, "invalid_json"), once(400, "invalid_json")],
    [refusal(409, "order_conflict"), once(409, "order_conflict")],
    [refusal(499, "odd"), once(499, "odd")],
    [refusal(409, "idempotency_in_progress"), again("idempotency_in_progress", { isUncertain: true })],
    [refusal(408, "request_timeout"), again("request_timeout", { isUncertain: true, status: 408 })],
    [refusal(429, "rate_limited"), again("rate_limited", { isUncertain: false, status: 429, message: "m" })],
    [refusal(500, "internal_error"), again("internal_error", { isUncertain: true, status: 500 })],
    [answered(429, "slow down"), again("status_429", { isUncertain: false, status: 429 })],
    [answered(404, "<html>"), again("status_404", { isUncertain: true, message: naming("404") })],
    [
      { ok: true, status: 502, headers: {}, body: "", proxy: "http://proxy:1" },
      again("status_502", { message: naming("http://proxy:1") }),
    ],
    [failed("unreachable"), again("unreachable", { isUncertain: false, status: undefined, message: "why" })],
    [failed("timeout"), again("timeout", { isUncertain: true, headers: {}, retryAfterMs: 0 })],
    [failed("connection_lost"), again("connection_lost", { isUncertain: true })],
    [failed("bad_answer"), again("bad_answer", { isUncertain: true })],
    [failed("aborted"), { end: "interrupted", attemptCount: 1, isUncertain: true, headers: {} }],
  ];
  for (const [answer, expected] of rows) {
    const { result, sent } = await send([answer]);
    expect([answer, result]).toMatchObject([answer, expected]);
    expect([answer, sent.length]).toEqual([answer, result.attemptCount]);
  }
});

test("the outcome of a request is uncertain if any attempt was uncertain, whatever answers follow", async () => {
  const last = refusal(403, "scope_missing");
  const rows = [
    [[failed("timeout"), last], { end: "refusal", attemptCount: 2, isUncertain: true }],
    [
      [failed("timeout"), failed("unreachable"), last],
      { end: "refusal", attemptCount: 3, isUncertain: true },
    ],
    [[failed("unreachable"), refusal(429, "rate_limited"), last], { end: "refusal", isUncertain: false }],
    [
      [refusal(503, "storage_unavailable"), created()],
      { end: "success", attemptCount: 2, isUncertain: true },
    ],
    [[failed("unreachable"), failed("aborted")], { end: "interrupted", attemptCount: 2, isUncertain: true }],
  ] as const;
  for (const [answers, expected] of rows) expect((await send(answers)).result).toMatchObject(expected);
});

test("every attempt sends the same request with a timeout, and pauses grow or follow Retry-After", async () => {
  const { result, sent, pauses, told } = await send([failed("timeout"), failed("unreachable"), created()]);
  const one = {
    ...REQUEST,
    headers: { ...REQUEST.headers, "User-Agent": "checkout-cli" },
    timeoutMs: 1234,
    maxResponseBytes: 1_048_576,
  };
  expect([result.end, sent]).toEqual(["success", [one, one, one]]);
  expect(pauses).toEqual([150, 300]);
  const tried = ["try", REQUEST.url];
  expect(told).toEqual([
    tried,
    ["answer", "timeout"],
    ["retry", "why", 150],
    tried,
    ["answer", "unreachable"],
    ["retry", "why", 300],
    tried,
    ["answer", 201],
  ]);
  const asked = (value: string) => send([refusal(429, "rate_limited", { "retry-after": value })]);
  const rows = [
    ["0", [150, 300], 0],
    ["3", [3000, 3000], 3000],
    ["60", [60_000, 60_000], 60_000],
    ["61", [], 61_000],
    [new Date(NOW + 7000).toUTCString(), [7000, 7000], 7000],
  ] as const;
  for (const [value, waits, retryAfterMs] of rows) {
    const { result: ended, pauses: waited } = await asked(value);
    expect([value, waited, ended]).toMatchObject([
      value,
      waits,
      { end: "gave_up", attemptCount: waits.length + 1, retryAfterMs },
    ]);
  }
});

test("the sandbox's address is looked up before every attempt, and nothing is sent while no sandbox is running", async () => {
  const places = [undefined, "http://localhost:1/v1/orders", "http://localhost:2/v1/orders"];
  const locate = (): string | undefined => places.shift();
  const { result, sent, told } = await send([failed("connection_lost"), created()], { request: { locate } });
  expect([result.end, result.attemptCount, sent.map(({ url }) => url)]).toEqual([
    "success",
    3,
    ["http://localhost:1/v1/orders", "http://localhost:2/v1/orders"],
  ]);
  expect(told.slice(0, 2)).toEqual([
    ["answer", "unreachable"],
    ["retry", expect.any(String), 150],
  ]);
  const gone = await send([], { request: { locate: () => undefined } });
  const end = { end: "gave_up", code: "unreachable", isUncertain: false };
  expect([gone.sent, gone.result]).toMatchObject([[], end]);
});

test("an abort signal is passed to every attempt, and ends the pause before a retry", async () => {
  for (const [answer, uncertain] of [
    [failed("timeout"), true],
    [failed("unreachable"), false],
  ] as const) {
    const stopping = new AbortController();
    const observer = { onRetry: () => stopping.abort() };
    const { signal } = stopping;
    const { result, sent } = await send([answer], { options: { signal, observer } });
    expect([result, sent.map((one) => one.signal === signal)]).toEqual([
      { end: "interrupted", attemptCount: 1, isUncertain: uncertain, headers: {} },
      [true],
    ]);
  }
  const alone = await send([created()], { options: { policy: { retries: 0, timeoutMs: 1 } } });
  expect(alone.result.attemptCount).toBe(1);
});
