/**
 * A process that sends many creates at the same moment, once for each line of its stdin. See parallel-creates.test.ts.
 */
import { hash } from "node:crypto";
import { createInterface } from "node:readline";
import { buildCreateRequest, type RequestedCreate, type ServiceTarget } from "../../src/client/api/client.ts";
import { errorResponse } from "../../src/core/checkout/wire-shapes.ts";
import { REAL } from "./real.ts";

/** The requests as a line of JSON: one create for each key, all with one body. */
export type ManyCreates = {
  readonly target: ServiceTarget;
  readonly endpoint: RequestedCreate["endpoint"];
  readonly body: string;
  readonly keys: readonly string[];
};

/** One answer, as the process prints it. */
export type ManyAnswer = {
  /** `201 created`, `201 replayed`, `409 order_conflict`, or the reason for a missing answer. */
  readonly outcome: string;
  /** The digest of the exact bytes of the body. */
  readonly bodySha256: string;
};

const TIMEOUT_MS = 60_000;
const MAX_RESPONSE_BYTES = 64 * 1024;

REAL.stdout.write("ready\n");
for await (const line of createInterface(REAL.stdin())) {
  const { keys, ...creates } = JSON.parse(line) as ManyCreates;
  const answers = await Promise.all(keys.map((key) => sendOne(creates, key)));
  REAL.stdout.write(`${JSON.stringify(answers)}\n`);
}

async function sendOne(
  { target, endpoint, body }: Omit<ManyCreates, "keys">,
  key: string,
): Promise<ManyAnswer> {
  const request = buildCreateRequest(target, { endpoint, key, body });
  const result = await REAL.send({
    ...request,
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  if (!result.ok) return { outcome: `${result.failure}: ${result.message}`, bodySha256: "" };
  const bodySha256 = hash("sha256", result.body, "hex");
  if (result.status !== 201) return { outcome: `${result.status} ${errorCode(result.body)}`, bodySha256 };
  const replayed = Object.hasOwn(result.headers, "idempotent-replayed");
  return { outcome: replayed ? "201 replayed" : "201 created", bodySha256 };
}

function errorCode(text: string): string {
  return errorResponse.parse(JSON.parse(text)).error.code;
}
