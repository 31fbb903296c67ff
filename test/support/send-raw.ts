import { request, type RequestOptions } from "node:http";
import type { FullAnswer } from "./harness.ts";

/**
 * Sends a request with these headers, and reads the answer. If the answer stays open, reads its first part, up to a
 * line break, and leaves the connection open until the service ends.
 */
export function sendRaw(options: RequestOptions, body: string | Uint8Array | undefined): Promise<FullAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", ...options }, (answer) => {
      const lines = answer.rawHeaders;
      const names = lines.flatMap((name, at) => (at % 2 === 0 ? [[name, lines[at + 1] ?? ""] as const] : []));
      const parts: Buffer[] = [];
      const read = (): void => {
        const whole = Buffer.concat(parts).toString("utf8");
        resolve({ status: answer.statusCode ?? 0, headers: Object.fromEntries(names), body: whole });
      };
      answer.on("data", (part: Buffer) => {
        parts.push(part);
        if (part.at(-1) === LINE_BREAK && answer.headers["content-length"] === undefined) read();
      });
      answer.on("error", reject);
      answer.on("end", read);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const LINE_BREAK = 10;
