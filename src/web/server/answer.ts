import { STATUS_CODES, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { HttpResponse, ServerLimits, Service, World } from "../../world.ts";
import { isWholeBody } from "../http.ts";
import type { PendingRequest, IdleConnections } from "./connections.ts";
import { SERVER_LIMITS } from "./limits.ts";
import { readBody, requestOf } from "./requests.ts";
import { sendStream } from "./stream.ts";

export type RefuseUnread = (incoming: IncomingMessage, refusal: HttpResponse) => Promise<void>;

type AnswerOptions = {
  readonly limits: ServerLimits;
  readonly refuseUnread: RefuseUnread;
  readonly idleConnections: IdleConnections;
};

export async function answerRequest(
  service: Service,
  entry: PendingRequest,
  { limits, refuseUnread, idleConnections }: AnswerOptions,
): Promise<void> {
  const { incoming, response } = entry;
  const input = readBody(incoming, limits);
  entry.isLast = !(ArrayBuffer.isView(input) || "then" in input);
  const body = await input;
  if (body === undefined) return;
  if (ArrayBuffer.isView(body)) {
    entry.isServed = true;
    idleConnections.markBusy(incoming.socket);
    const serviceAnswer = await service.answer(requestOf(incoming, body));
    entry.isServed = false;
    await send(entry, serviceAnswer, limits);
    return;
  }
  const { method = "", url: target = "", rawHeaders } = incoming;
  const refusal = await service.refuse({ ...body, method, target, rawHeaders });
  if (!incoming.complete) return refuseUnread(incoming, refusal);
  response.shouldKeepAlive = false;
  await send(entry, refusal, limits);
}

async function send(
  { incoming, response }: Pick<PendingRequest, "incoming" | "response">,
  { status, headers, body, isDropped, isReset }: HttpResponse,
  { silenceMs }: ServerLimits,
): Promise<void> {
  if (isDropped === true) {
    if (isReset === true) incoming.socket.resetAndDestroy();
    else response.destroy();
    return;
  }
  if (isWholeBody(body)) {
    response.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body) });
    response.end(body);
    return;
  }
  response.writeHead(status, headers);
  response.flushHeaders();
  if (incoming.method === "HEAD") response.end();
  await sendStream(body, { response, socket: incoming.socket, silenceMs });
}

/**
 * Node's response would close the connection at once; bytes that arrive later would reset the connection, and the
 * client would lose the answer.
 */
export function writeToSocket(
  socket: Socket,
  { status, headers, body }: HttpResponse,
  { after, isHead = false }: Pick<World, "after"> & { readonly isHead?: boolean },
): void {
  if (!isWholeBody(body)) throw new Error("an unreadable request needs a whole body as its answer");
  const lines = Object.entries({
    ...headers,
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${head}\r\n`);
  socket.end(isHead ? "" : body);
  socket.resume();
  after(SERVER_LIMITS.lingerMs, () => socket.destroy());
}
