import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { createTestEvent } from "../../src/core/checkout/event.ts";
import { DEFAULT_HEADER_NAMES, signHeaders } from "../../src/core/webhook/signature.ts";
import { verifyWebhook } from "../../src/webhooks.ts";

const secrets = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const BODY = createTestEvent({ id: "e1", storeId: "Größe" }, Date.UTC(2026, 0, 1)).body;

/** A receiver for node:http. */
function plainReceiver(): Server {
  return createServer((incoming, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const verdict = verifyWebhook({
        rawBody: Buffer.concat(chunks),
        headers: incoming.rawHeaders,
        secrets,
      });
      response.writeHead(verdict.ok ? 204 : 400).end(verdict.ok ? undefined : verdict.code);
    })();
  }).listen(0, "127.0.0.1");
}

/** The receiver of docs/verifying.md for Hono. */
function honoReceiver(): Server {
  const app = new Hono();
  app.post("/hooks", async (c) => {
    const rawBody = new Uint8Array(await c.req.arrayBuffer());
    const verdict = verifyWebhook({ rawBody, headers: c.req.raw.headers, secrets });
    return verdict.ok ? c.body(null, 204) : c.text(verdict.code, 400);
  });
  return serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
}

/** The receiver of docs/verifying.md for Next.js: a function from Request to Response. */
async function POST(incoming: Request): Promise<Response> {
  const rawBody = new Uint8Array(await incoming.arrayBuffer());
  const verdict = verifyWebhook({ rawBody, headers: incoming.headers, secrets });
  return verdict.ok ? new Response(null, { status: 204 }) : new Response(verdict.code, { status: 400 });
}

type Sent = { readonly headers: Record<string, string | string[]>; readonly body: string };

/** A valid request with this change. */
function webhook(change: Partial<Sent> = {}): Sent {
  const timestamp = Math.floor(Date.now() / 1000);
  const signed = signHeaders([secrets], { eventId: "e1", timestamp, rawBody: Buffer.from(BODY) });
  return {
    body: BODY,
    ...change,
    headers: { "Content-Type": "application/json", ...signed, ...change.headers },
  };
}

async function post(server: Server, { headers, body }: Sent): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: "127.0.0.1", port, path: "/hooks", method: "POST", headers });
  sent.end(body);
  const [answer] = (await once(sent, "response")) as [NodeJS.ReadableStream & { statusCode: number }];
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return `${answer.statusCode} ${text}`.trim();
}

test("receivers on node:http and Hono accept genuine webhooks, and refuse all others with 400 and the error code", async () => {
  for (const [name, server] of [
    ["node:http", plainReceiver()],
    ["hono", honoReceiver()],
  ] as const) {
    onTestFinished(() => void server.close());
    if (!server.listening) await once(server, "listening");
    const doubled = name === "hono" ? "signature_malformed" : "signature_doubled";
    const rows: readonly (readonly [answer: string, sent: Sent])[] = [
      ["204", webhook()],
      ["204", webhook({ headers: { "Content-Type": "text/plain" } })],
      ["400 signature_mismatch", webhook({ body: `${BODY}\n` })],
      ["400 signature_mismatch", webhook({ body: "" })],
      ["400 timestamp_malformed", webhook({ headers: { [DEFAULT_HEADER_NAMES.timestamp]: "soon" } })],
      ["400 event_id_mismatch", webhook({ headers: { [DEFAULT_HEADER_NAMES.eventId]: "e2" } })],
      [
        `400 ${doubled}`,
        webhook({ headers: { [DEFAULT_HEADER_NAMES.signature]: ["0".repeat(64), "0".repeat(64)] } }),
      ],
    ];
    for (const [answer, sent] of rows) expect([name, await post(server, sent)]).toEqual([name, answer]);
  }
});

test("verifyWebhook reads headers only once, so that they may come from an iterator", () => {
  const { headers, body } = webhook();
  const pairs = Object.entries(headers);
  for (const readable of [pairs.values(), new Headers(headers as Record<string, string>).entries(), pairs])
    expect(verifyWebhook({ rawBody: body, headers: readable, secrets })).toMatchObject({ ok: true });
});

test("a handler from Request to Response verifies a webhook without a framework", async () => {
  const { headers, body } = webhook();
  const incoming = (text: string): Request =>
    new Request("http://shop.example/hooks", {
      method: "POST",
      headers: headers as Record<string, string>,
      body: text,
    });
  expect((await POST(incoming(body))).status).toBe(204);
  const refused = await POST(incoming(`${body} `));
  expect([refused.status, await refused.text()]).toEqual([400, "signature_mismatch"]);
});
