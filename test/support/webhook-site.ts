import { parseJson } from "../../src/core/json.ts";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished } from "vitest";
import { verifyWebhook } from "../../src/core/webhook/verify.ts";
import { DEFAULT_HEADER_NAMES } from "../../src/core/webhook/signature.ts";
import type { HttpRequest, HttpResponse } from "../../src/world.ts";
import { createHarness, type RunningSandbox } from "./harness.ts";
import type { WireAnswerOf } from "./wire.ts";

/** The fields of an event that tests read. */
type ReceivedEvent = {
  readonly event_id: string;
  readonly type: string;
  readonly sequence: number;
  readonly data: { readonly id?: string; readonly status?: string; readonly amount_minor?: number };
};

/** A delivery that a receiver got. */
export type Received = {
  readonly at: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly event: ReceivedEvent;
  /** `ok`, or the reason why a correct receiver would refuse the delivery. */
  readonly verdict: string;
};

/** A receiver's answer: a status, or a complete response. */
type ReceiverAnswer = number | Partial<HttpResponse> | Promise<HttpResponse>;

/** A merchant's receiver on a port of the fake network. */
export type Receiver = {
  readonly url: string;
  readonly got: Received[];
  /** Sets the receiver's answer from now on, by the number of the delivery, from 1. */
  answers: (number: number, received: Received) => ReceiverAnswer;
};

type Answer<Data> = {
  readonly ok: boolean;
  readonly data: Data;
  readonly error?: { readonly code: string; readonly message: string; readonly next?: string };
};

/** A sandbox of the harness, with functions for its endpoints and receivers. */
export async function openWebhookSite(args: readonly string[] = []) {
  const harness = createHarness();
  const site: { sandbox: RunningSandbox } = { sandbox: await harness.start(args) };
  // Retries can hide an internal error, so stderr must have no stack trace.
  onTestFinished(async () => {
    const { stderr } = await site.sandbox.stop();
    expect(stderr).not.toMatch(/^\s+at /m);
  });
  const secretOf = new Map<string, readonly string[]>();
  let orders = 0;

  const control = async <Data>(path: string, body?: object, method?: string): Promise<Answer<Data>> => {
    const headers = { Authorization: `Bearer ${site.sandbox.ready.control_token}` };
    const how = method === undefined ? {} : { method };
    const sent = body === undefined ? how : { body: JSON.stringify(body) };
    const answer = await site.sandbox.request({ path: `/__sandbox/stores/default${path}`, headers, ...sent });
    return JSON.parse(String(answer.body)) as Answer<Data>;
  };

  /** A receiver that records each delivery with its verdict, and answers 200 until the test sets another answer. */
  const receiver = (port: number): Receiver => {
    const made: Receiver = { url: `http://localhost:${port}/hooks`, got: [], answers: () => 200 };
    harness.occupy(port, {
      answer: async (request) => {
        const received = readDelivery(request, {
          at: harness.clock.now(),
          secrets: secretOf.get(made.url) ?? [site.sandbox.ready.signing_secret],
        });
        made.got.push(received);
        const said = await made.answers(made.got.length, received);
        return typeof said === "number"
          ? { status: said, headers: {}, body: "" }
          : { status: 200, headers: {}, body: "", ...said };
      },
      refuse: () => ({ status: 400, headers: {}, body: "" }),
    });
    return made;
  };

  const addEndpoint = async (
    url: string,
    eventTypes?: readonly string[],
    { inOrder = false } = {},
  ): Promise<WireAnswerOf<"showEndpoint">> => {
    const types = eventTypes === undefined ? {} : { event_types: eventTypes };
    const body = { url, ...types, ...(inOrder ? { in_order: true } : {}) };
    const added = await control<WireAnswerOf<"addEndpoint">>("/endpoints", body);
    if (!added.ok) throw new Error(added.error?.message);
    return added.data;
  };

  const retrieve = async (id: string): Promise<{ readonly status: string; readonly order_id: string }> => {
    const answer = await site.sandbox.request({ path: `/v1/checkout-sessions/${id}` });
    // A fault may have lost or cut the answer.
    const { data } = (parseJson(String(answer.body)) ?? {}) as {
      readonly data?: Awaited<ReturnType<typeof retrieve>>;
    };
    return data ?? { status: "", order_id: "" };
  };

  return {
    harness,
    control,
    /** Deletes the object at a path of the control API. */
    remove: (path: string) => control(path, undefined, "DELETE"),
    receiver,
    addEndpoint,
    /** Sets the secrets of the receiver at a URL. */
    setSecrets: (url: string, secrets: readonly string[]) => void secretOf.set(url, secrets),
    restart: async () => {
      await site.sandbox.stop();
      site.sandbox = await harness.start(args);
    },
    stop: () => site.sandbox.stop(),
    sandbox: () => site.sandbox,
    /** Creates an order, and returns its id. */
    order: async (orderId = `order-${(orders += 1)}`): Promise<string> => {
      const answer = await site.sandbox.request({
        path: "/v1/orders",
        headers: { "Idempotency-Key": `key-of-${orderId}` },
        body: JSON.stringify({ order_id: orderId, price_id: "price_coffee" }),
      });
      return (JSON.parse(String(answer.body)) as { readonly data: { readonly id: string } }).data.id;
    },
    pay: (id: string, outcome: string) => control(`/checkouts/${id}/pay`, { outcome }),
    /** Moves the store's clock, and sends everything that is due. */
    advance: async (milliseconds: number): Promise<WireAnswerOf<"moveClock">["delivered"]> =>
      (await control<WireAnswerOf<"moveClock">>("/clock", { action: "advance", by_ms: milliseconds })).data
        .delivered,
    deliveries: async (query = ""): Promise<WireAnswerOf<"listDeliveries">["deliveries"]> =>
      (await control<WireAnswerOf<"listDeliveries">>(`/deliveries${query}`)).data.deliveries,
    events: async (query = ""): Promise<WireAnswerOf<"listEvents">["events"]> =>
      (await control<WireAnswerOf<"listEvents">>(`/events${query}`)).data.events,
    endpoint: async (id: string): Promise<WireAnswerOf<"showEndpoint">> =>
      (await control<WireAnswerOf<"showEndpoint">>(`/endpoints/${id}`)).data,
    statusOf: async (id: string): Promise<string> => (await retrieve(id)).status,
    /** The v1 answer about a checkout; empty texts if there is none. */
    retrieve,
    /** Opens the database, for changes that no program makes. */
    database: () => {
      const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
      database.pragma("recursive_triggers = ON");
      return database;
    },
  };
}

function readDelivery(
  request: HttpRequest,
  { at, secrets }: { readonly at: number; readonly secrets: readonly string[] },
): Received {
  const pairs = request.rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name, request.rawHeaders[index + 1] ?? ""] as const] : [],
  );
  const verdict = verifyWebhook({ rawBody: request.body, headers: request.rawHeaders, secrets, now: at });
  const body = Buffer.from(request.body).toString("utf8");
  return {
    at,
    headers: Object.fromEntries(pairs),
    body,
    event: JSON.parse(body) as ReceivedEvent,
    verdict: verdict.ok ? "ok" : verdict.code,
  };
}

export function signatureHeader({ headers }: Received): string {
  return headers[DEFAULT_HEADER_NAMES.signature] ?? "";
}
