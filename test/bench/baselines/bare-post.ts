/**
 * Baseline: a bare node:http client that posts a body of an event's length repeatedly over kept-alive connections, and
 * reads each answer. It signs nothing. Arguments: the address, the number of requests, the number in flight and,
 * optionally, the path of a new database file. With a file the client writes the same rows as the dispatcher, in one
 * durable commit for all requests that ended during the previous commit. Prints the requests per second.
 */
import { hash } from "node:crypto";
import { Agent, request } from "node:http";
import Database from "better-sqlite3";
import { SANDBOX_FILE } from "../../../src/store/schema.ts";
import { CONSTANT_BODY } from "./announce.ts";

const BODY = CONSTANT_BODY.padEnd(600);
const UUID_LENGTH = 36;

const [url = "", count = "0", inFlight = "1", path] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(BODY) };
const turn = path === undefined ? countTurns() : openOutbox(path);
const startedAt = performance.now();
await sendAll();
const perSecond = (Number(count) * 1000) / (performance.now() - startedAt);
process.stdout.write(`${JSON.stringify({ perSecond })}\n`);
agent.destroy();

/** Sends all requests, `inFlight` at a time. Requests that end while the event loop is busy share a turn. */
function sendAll(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const ended: string[] = [];
  let sending = 0;
  let scheduled = false;
  const step = (): void => {
    scheduled = false;
    const next = turn(ended.splice(0), Number(inFlight) - sending);
    if (next.length === 0 && sending === 0) return resolve();
    for (const id of next) {
      sending += 1;
      post().then(() => {
        sending -= 1;
        ended.push(id);
        if (!scheduled) setImmediate(step);
        scheduled = true;
      }, reject);
    }
  };
  step();
  return promise;
}

function post(): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: "POST", headers }, (response) => {
      response.resume().on("end", resolve).on("error", reject);
    });
    sent.on("error", reject);
    sent.end(BODY);
  });
}

/** Records the requests that have ended, and returns the ids of the next requests, at most `room`. */
type Turn = (ended: readonly string[], room: number) => readonly string[];

function countTurns(): Turn {
  let left = Number(count);
  return (_ended, room) => {
    const next = Array.from({ length: Math.min(left, room) }, () => "");
    left -= next.length;
    return next;
  };
}

/** A full outbox. In one transaction, each turn records the results of attempts and takes the next deliveries. */
function openOutbox(file: string): Turn {
  const rows = new Database(file);
  for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = OFF"])
    rows.pragma(pragma);
  for (const migration of SANDBOX_FILE.migrations) rows.exec(migration);
  fill(rows);
  const take = rows.prepare<[number], { readonly id: string }>(
    `SELECT id FROM deliveries WHERE endpoint_id = 'endpoint' AND state = 'due' AND NOT EXISTS
       (SELECT 1 FROM delivery_attempts WHERE delivery_id = id AND finished_at IS NULL)
     ORDER BY next_at, rowid LIMIT ?`,
  );
  const start = rows.prepare(
    "INSERT INTO delivery_attempts (delivery_id, number, started_at, url, headers, body_hash) VALUES (?, 1, 1, ?, ?, ?)",
  );
  const finish = rows.prepare(
    "UPDATE delivery_attempts SET finished_at = 1, milliseconds = 1, status = 204 WHERE delivery_id = ? AND number = 1",
  );
  const settle = rows.prepare("UPDATE deliveries SET state = 'succeeded', tries = 1 WHERE id = ?");
  const turnOf = rows.transaction<Turn>((ended, room) => {
    for (const id of ended) {
      finish.run(id);
      settle.run(id);
    }
    const next = take.all(room).map(({ id }) => id);
    for (const id of next) start.run(id, url, JSON.stringify(headers), hash("sha256", BODY));
    return next;
  });
  return (ended, room) => turnOf.immediate(ended, room);
}

function fill(rows: Database.Database): void {
  const insert = rows.prepare(
    `INSERT INTO deliveries (id, store_id, endpoint_id, event_id, checkout_id, sequence, cause, in_order, state, next_at, created_at)
     VALUES (?, 'store', 'endpoint', ?, ?, 1, 'event', 1, 'due', ?, ?)`,
  );
  rows.transaction(() => {
    for (let index = 0; index < Number(count); index += 1) {
      const id = String(index).padStart(UUID_LENGTH, "0");
      insert.run(id, id, id, index, index);
    }
  })();
}
