import { Agent, request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { CreateRequest } from "../../src/core/checkout/create-request.ts";
import type { SandboxHere } from "./program.ts";

/** The key and the order_id of a create. */
export type Create = { readonly key: string; readonly orderId: string };

/** A complete answer, with its unparsed body. */
export type Answer = { readonly status: number; readonly replayed: boolean; readonly body: string };

/** The target of creates, with an agent that keeps its connections open. */
export type Service = { readonly port: number; readonly apiKey: string; readonly agent: Agent };

/** The results of the creates of a load. */
export type Load = {
  readonly acknowledged: ReadonlyMap<Create, Answer>;
  /** Creates without a complete answer, so that their effect on the service is unknown. */
  readonly unanswered: readonly Create[];
};

export function purchase(orderId: string): CreateRequest {
  return { order_id: orderId, amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
}

/** The API key that a sandbox shows; throws if it shows none. */
export function apiKeyOf({ ready }: Pick<SandboxHere, "ready">): string {
  if (ready.api_key === null) throw new Error("the sandbox shows no API key");
  return ready.api_key;
}

/** The service of a sandbox over `connections` connections, which end with `agent.destroy()`. */
export function connect(sandbox: Pick<SandboxHere, "ready" | "port">, connections: number): Service {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return { port: sandbox.port, apiKey: apiKeyOf(sandbox), agent };
}

/** Opens the database of a sandbox with a state folder, read-only, until the test ends. */
export function openRows({ ready }: Pick<SandboxHere, "ready">): Database.Database {
  if (ready.data_dir === null) throw new Error("the sandbox keeps nothing");
  const rows = new Database(join(ready.data_dir, "sandbox.db"), { readonly: true, fileMustExist: true });
  onTestFinished(() => void rows.close());
  return rows;
}

/** Sends a create once; undefined without a complete answer. */
export function sendCreate(
  { port, apiKey, agent }: Service,
  { key, orderId }: Create,
): Promise<Answer | undefined> {
  const body = JSON.stringify(purchase(orderId));
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    "Idempotency-Key": key,
  };
  return new Promise((resolve) => {
    const sent = request(
      { host: "127.0.0.1", port, agent, method: "POST", path: "/v1/orders", headers },
      (response) => readAnswer(response, resolve),
    );
    sent.on("error", () => resolve(undefined));
    sent.end(body);
  });
}

/** Sends one create after the other on every connection until the service is gone. */
export async function loadUntilGone(
  service: Service,
  options: { readonly connections: number; readonly nextCreate: () => Create },
): Promise<Load> {
  const acknowledged = new Map<Create, Answer>();
  const unanswered: Create[] = [];
  const sendUntilGone = async (): Promise<void> => {
    for (;;) {
      const create = options.nextCreate();
      const answer = await sendCreate(service, create);
      if (answer === undefined) {
        unanswered.push(create);
        return;
      }
      acknowledged.set(create, answer);
    }
  };
  await Promise.all(Array.from({ length: options.connections }, sendUntilGone));
  return { acknowledged, unanswered };
}

function readAnswer(response: IncomingMessage, resolve: (answer: Answer | undefined) => void): void {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("error", () => resolve(undefined));
  response.on("end", () => {
    const replayed = response.headers["idempotent-replayed"] === "true";
    resolve({ status: response.statusCode ?? 0, replayed, body: Buffer.concat(chunks).toString("utf8") });
  });
}
