import type { HttpBody, OutboundRequest, OutboundResult, Service } from "../world.ts";

export type InProcessResult = OutboundResult & { readonly requestId: string };

export async function sendToService(
  answerTo: Service["answer"],
  { method, url, headers, body }: OutboundRequest,
): Promise<InProcessResult> {
  const { host, pathname, search } = new URL(url);
  const answer = await answerTo({
    method,
    target: pathname + search,
    rawHeaders: Object.entries({ Host: host, ...headers }).flat(),
    body: Buffer.from(body ?? ""),
  });
  const pairs = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const lowerCaseHeaders = Object.fromEntries(pairs);
  const requestId = lowerCaseHeaders["x-request-id"] ?? "";
  const text = answer.isDropped === true ? undefined : await textOf(answer.body);
  if (text === undefined)
    return { ok: false, failure: "connection_lost", message: "the connection was closed", requestId };
  return { ok: true, status: answer.status, headers: lowerCaseHeaders, body: text, requestId };
}

async function textOf(body: HttpBody): Promise<string | undefined> {
  if (typeof body === "string") return body;
  if (ArrayBuffer.isView(body)) return Buffer.from(body).toString("utf8");
  const parts: Uint8Array[] = [];
  try {
    for await (const part of body) parts.push(part);
  } catch {
    return undefined;
  }
  return Buffer.concat(parts).toString("utf8");
}
