/**
 * Baseline: a bare node:http client that posts a body of an event's length so many times, one at a time, and reads each
 * answer. Signs nothing. Takes the address, the count, `keep-alive` or `close`, and the path of a new database file where
 * it is to keep the same rows as the dispatcher: one durable commit for each request. Prints how many it sent in a second.
 */
import { hash } from "node:crypto";
import { Agent, request } from "node:http";
import Database from "better-sqlite3";
import { SANDBOX_FILE } from "../../../src/store/schema.ts";
import { CONSTANT_BODY } from "./announce.ts";

const BODY = CONSTANT_BODY.padEnd(600);
const UUID_LENGTH = 36;

const [url = "", count = "0", connection = "", path] = process.argv.slice(2);
const agent = new Agent({ keepAlive: connection === "keep-alive" });
const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(BODY) };
const step = path === undefined ? () => undefined : openOutbox(path);
const startedAt = performance.now();
for (let sent = 0; sent < Number(count); sent += 1) {
  step();
  await post();
}
step();
const perSecond = (Number(count) * 1000) / (performance.now() - startedAt);
process.stdout.write(`${JSON.stringify({ perSecond })}\n`);
agent.destroy();

function post(): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: "POST", headers }, (response) => {
      response.resume().on("end", resolve).on("error", reject);
    });
    sent.on("error", reject);
    sent.end(BODY);
  });
}

/** A full outbox. Each step notes in one transaction how the last try ended, and takes the next one. */
function openOutbox(file: string): () => void {
  const rows = new Database(file);
  for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = OFF"])
    rows.pragma(pragma);
  for (const migration of SANDBOX_FILE.migrations) rows.exec(migration);
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
  const take = rows.prepare<[], { readonly id: string }>(
    "SELECT id FROM deliveries WHERE endpoint_id = 'endpoint' AND state = 'due' ORDER BY next_at, id LIMIT 1",
  );
  const start = rows.prepare(
    "INSERT INTO delivery_attempts (delivery_id, number, started_at, url, headers, body_hash) VALUES (?, 1, 1, ?, ?, ?)",
  );
  const finish = rows.prepare(
    "UPDATE delivery_attempts SET finished_at = 1, milliseconds = 1, status = 204 WHERE delivery_id = ? AND number = 1",
  );
  const settle = rows.prepare("UPDATE deliveries SET state = 'succeeded', tries = 1 WHERE id = ?");
  let last: string | undefined;
  const turn = rows.transaction(() => {
    if (last !== undefined) {
      finish.run(last);
      settle.run(last);
    }
    last = take.get()?.id;
    if (last !== undefined) start.run(last, url, JSON.stringify(headers), hash("sha256", BODY));
  });
  return () => turn.immediate();
}
