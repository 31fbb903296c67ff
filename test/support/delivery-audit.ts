import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import type Database from "better-sqlite3";
import { matchesEventPatterns } from "../../src/core/checkout/event-types.ts";
import type { WebhookEvent } from "../../src/core/webhook/webhook.ts";
import { verifyWebhook } from "../../src/core/webhook/verify.ts";
import { openHttpReceiver, readBody } from "./http-receiver.ts";

/** A witness's answer, and its delay. */
export type Reply = { readonly status: number; readonly afterMs: number };

/** A witness's record of one event. */
type EventRecord = {
  /** The number of complete requests. */
  requests: number;
  readonly body: string;
  /** The statuses of the answers, in order. */
  readonly answered: number[];
};

/** A merchant's receiver that verifies each request, and records violations by the sandbox. */
export type Witness = {
  readonly url: string;
  readonly seen: ReadonlyMap<string, EventRecord>;
  readonly faults: string[];
  /** The maximum number of concurrent requests so far. */
  readonly mostAtOnce: () => number;
  /** Tells the witness that another process sends from now on: requests in flight from the last process have ended. */
  readonly nextRun: () => void;
  /** Called when a request is complete, and when its answer is sent. */
  watch: (moment: "request" | "answer") => void;
};

/** A request without an answer yet; its event is known once its body was read. */
type OpenRequest = { readonly run: number; event?: WebhookEvent };

/** Opens a witness. `reply` gets the number of earlier refusals of the event. */
export async function openWitness(options: {
  readonly name: string;
  readonly secret: string;
  /** The maximum number of concurrent requests. */
  readonly atOnce: number;
  readonly reply: (refusals: number) => Reply;
}): Promise<Witness> {
  const seen = new Map<string, EventRecord>();
  const faults: string[] = [];
  /** For each checkout the sequences that were answered with 2xx. */
  const taken = new Map<string, Set<number>>();
  /** For each checkout the last sequence that was received. */
  const last = new Map<string, number>();
  const underWay = new Set<OpenRequest>();
  let run = 0;
  let most = 0;

  const notice = (event: WebhookEvent, body: string): EventRecord => {
    const known = seen.get(event.event_id) ?? { requests: 0, body, answered: [] };
    const [id, sequence] = [checkoutOf(event), sequenceOf(event)];
    if (!isInOrder(event, taken))
      faults.push(`${options.name}: ${describe(event)} came before the one before it was taken`);
    if (sequence < (last.get(id) ?? 0))
      faults.push(`${options.name}: ${describe(event)} came after a later one`);
    last.set(id, sequence);
    if (known.body !== body) faults.push(`${options.name}: ${describe(event)} came with other bytes`);
    known.requests += 1;
    seen.set(event.event_id, known);
    return known;
  };

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const own: OpenRequest = { run };
    underWay.add(own);
    const now = [...underWay].filter((other) => other.run === run);
    most = Math.max(most, now.length);
    if (now.length > options.atOnce) faults.push(`${options.name}: ${now.length} at once`);
    response.on("close", () => underWay.delete(own));
    const body = await readBody(request);
    if (body === undefined) return;
    const verdict = verifyWebhook({
      rawBody: body,
      headers: request.rawHeaders,
      secrets: options.secret,
      now: Date.now(),
    });
    if (!verdict.ok) {
      faults.push(`${options.name}: ${verdict.code}: ${body.toString()}`);
      response.writeHead(400).end();
      return;
    }
    const { event } = verdict;
    if (now.some((other) => underWay.has(other) && other.event !== undefined && isOfOne(other.event, event)))
      faults.push(`${options.name}: ${describe(event)} came while another one of its checkout was under way`);
    own.event = event;
    const known = notice(event, body.toString());
    witness.watch("request");
    const { status, afterMs } = options.reply(known.answered.filter((past) => past !== 200).length);
    if (afterMs > 0) await sleep(afterMs);
    underWay.delete(own);
    if (response.destroyed) return;
    known.answered.push(status);
    if (status === 200) takenOf(event, taken).add(sequenceOf(event));
    response.writeHead(status).end();
    witness.watch("answer");
  };

  const url = await openHttpReceiver((request, response) => void take(request, response));
  const nextRun = (): void => void (run += 1);
  const mostAtOnce = (): number => most;
  const witness: Witness = { url, seen, faults, mostAtOnce, nextRun, watch: () => undefined };
  return witness;
}

/** Whether every earlier event of the checkout was accepted: an endpoint subscribes to all of them or none. */
function isInOrder(event: WebhookEvent, taken: Map<string, Set<number>>): boolean {
  const before = takenOf(event, taken);
  const earlier = Array.from({ length: sequenceOf(event) - 1 }, (_unused, index) => index + 1);
  return earlier.every((sequence) => before.has(sequence));
}

function isOfOne(one: WebhookEvent, other: WebhookEvent): boolean {
  return checkoutOf(one) === checkoutOf(other);
}

/** The id of an event's checkout, or the event's own id if the event has no checkout. */
function checkoutOf(event: WebhookEvent): string {
  const { id = event.event_id } = (event.data ?? {}) as { readonly id?: string };
  return id;
}

function takenOf(event: WebhookEvent, taken: Map<string, Set<number>>): Set<number> {
  const id = checkoutOf(event);
  const known = taken.get(id) ?? new Set();
  taken.set(id, known);
  return known;
}

function sequenceOf(event: WebhookEvent): number {
  return event.type === "webhook.test" ? 1 : event.sequence;
}

function describe(event: WebhookEvent): string {
  return `${event.type} ${sequenceOf(event)} (${event.event_id})`;
}

export type AuditedEndpoint = {
  readonly name: string;
  readonly id: string;
  readonly eventTypes: readonly string[];
  readonly witness: Witness;
};

type EventRow = Record<"id" | "type" | "checkoutId" | "body", string> & { readonly sequence: number };
type DeliveryRow = Record<"id" | "eventId" | "checkoutId" | "cause" | "state", string> &
  Record<"sequence" | "tries", number>;
type AttemptRow = Record<"deliveryId" | "url" | "headers" | "bodyHash", string> & {
  readonly number: number;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly status: number | null;
  readonly error: string | null;
  readonly nextAt: number | null;
};

/**
 * Finds faults after everything was delivered: compares every event of the tables with its deliveries, their attempts,
 * and the requests that each endpoint received. All endpoints existed before the first event.
 */
export function auditFaults(rows: Database.Database, endpoints: readonly AuditedEndpoint[]): string[] {
  const events = rows
    .prepare<[], EventRow>("SELECT id, type, checkout_id AS checkoutId, sequence, body FROM events")
    .all();
  return endpoints.flatMap((endpoint) => {
    const deliveries = Object.groupBy(deliveriesOf(rows, endpoint.id), ({ eventId }) => eventId);
    const attempts = Object.groupBy(attemptsOf(rows, endpoint.id), ({ deliveryId }) => deliveryId);
    const wanted = events.filter(({ type }) => matchesEventPatterns(endpoint.eventTypes, type));
    const ids = new Set(wanted.map(({ id }) => id));
    const others = [...Object.keys(deliveries), ...endpoint.witness.seen.keys()].filter((id) => !ids.has(id));
    const faults = wanted.flatMap((event) => {
      const [delivery, ...more] = deliveries[event.id] ?? [];
      if (delivery === undefined || more.length > 0)
        return [`${event.type} ${event.id} has ${more.length} deliveries`];
      const found = faultOf(event, { delivery, attempts: attempts[delivery.id] ?? [], endpoint });
      return found === undefined ? [] : [`${event.type} ${event.id} ${found}`];
    });
    const unwanted = others.map((id) => `${id} was not wanted`);
    return [...faults, ...unwanted].map((fault) => `${endpoint.name}: ${fault}`);
  });
}

/** The contradiction between a finished delivery and its event, attempts or endpoint; undefined if there is none. */
function faultOf(
  event: EventRow,
  {
    delivery,
    attempts,
    endpoint,
  }: {
    readonly delivery: DeliveryRow;
    readonly attempts: readonly AttemptRow[];
    readonly endpoint: AuditedEndpoint;
  },
): string | undefined {
  const { checkoutId, sequence } = event;
  if (delivery.checkoutId !== checkoutId || delivery.sequence !== sequence || delivery.cause !== "event")
    return "has a delivery that is not its own";
  if (delivery.state !== "succeeded") return `is ${delivery.state}`;
  if (attempts.some(({ number }, index) => number !== index + 1)) return "has a gap in its attempts";
  const ownHash = hash("sha256", event.body);
  for (const [index, attempt] of attempts.entries()) {
    const { number, url, headers, bodyHash, finishedAt, status, error, nextAt } = attempt;
    const said = `in attempt ${number}`;
    if (finishedAt === null) return `is not finished ${said}`;
    if (error !== null && error !== "interrupted") return `has the error ${error} ${said}`;
    if (url !== endpoint.witness.url || bodyHash !== ownHash || !headers.includes(event.id))
      return `is another request ${said}`;
    const next = attempts[index + 1];
    if ((status === 200) !== (next === undefined)) return `was answered ${status} ${said}`;
    if ((nextAt === null) !== (next === undefined)) return `is to be tried again at ${nextAt} ${said}`;
    if (next !== undefined && next.startedAt < (nextAt ?? 0)) return `was tried too early after ${said}`;
  }
  const statuses = attempts.flatMap(({ status }) => status ?? []);
  if (delivery.tries !== statuses.length) return `counts ${delivery.tries} attempts`;

  const seen = endpoint.witness.seen.get(event.id);
  if (seen === undefined) return "was never received";
  if (seen.body !== event.body) return "was received with other bytes";
  if (seen.requests > attempts.length)
    return `was received ${seen.requests} times in ${attempts.length} attempts`;
  // The receiver sent each recorded answer, in this order; the service may have missed some answers.
  let place = 0;
  for (const status of statuses) {
    place = seen.answered.indexOf(status, place) + 1;
    if (place === 0) return `has an answer that was never given: ${status}`;
  }
  return undefined;
}

function deliveriesOf(rows: Database.Database, endpointId: string): DeliveryRow[] {
  return rows
    .prepare<[string], DeliveryRow>(
      `SELECT id, event_id AS eventId, checkout_id AS checkoutId, sequence, cause, state, tries
       FROM deliveries WHERE endpoint_id = ?`,
    )
    .all(endpointId);
}

function attemptsOf(rows: Database.Database, endpointId: string): AttemptRow[] {
  return rows
    .prepare<[string], AttemptRow>(
      `SELECT delivery_id AS deliveryId, number, url, headers, body_hash AS bodyHash, started_at AS startedAt,
         finished_at AS finishedAt, status, error, next_at AS nextAt
       FROM delivery_attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE endpoint_id = ?)
       ORDER BY delivery_id, number`,
    )
    .all(endpointId);
}
