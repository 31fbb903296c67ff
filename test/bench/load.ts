/**
 * The load generator, a separate process so that the server has a core to itself: kept-alive raw sockets with one
 * request in flight on each. It receives load orders from its parent process and sends back their results.
 */
import { connect, type Socket } from "node:net";
import { SEED, seededRandom } from "../support/campaign.ts";

/**
 * The requests to send: the same GETs in turn, or creates with different keys and order_ids, for each API key in turn.
 */
export type Traffic =
  | { readonly kind: "get"; readonly targets: readonly string[]; readonly apiKey: string | null }
  | { readonly kind: "create"; readonly apiKey: string | readonly string[] | null };

/** One run against one server. Answers count from `warmMs` until `measureMs` later. */
export type LoadOrder = {
  readonly port: number;
  readonly traffic: Traffic;
  readonly connections: number;
  readonly warmMs: number;
  readonly measureMs: number;
};

/** Latencies in milliseconds. `busy` is the part of one core that the generator itself used. */
export type LoadResult = {
  readonly answers: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly busy: number;
  /** Ids of the first checkouts that were created. */
  readonly ids: readonly string[];
};

export type LoadReply =
  | { readonly ok: true; readonly result: LoadResult }
  | { readonly ok: false; readonly message: string };

const RECEIVE_BYTES = 16 * 1024;
const MAX_SAMPLES = 1_000_000;
const MAX_IDS = 2000;
const SHOWN_CHARACTERS = 600;
/** Maximum wait for the last answers before a run fails. */
const GRACE_MS = 10_000;
/** The first characters of every successful answer; HTTP/1.0 is not accepted. */
const SUCCESS = "HTTP/1.1 2";
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
const CREATED_ID = /"id":"([0-9a-f-]{36})"/;

const latencies = new Float64Array(MAX_SAMPLES);
const random = seededRandom(SEED);
/** The number of creates over all runs, so that no two requests of a benchmark are the same. */
let serial = 0;

process.on("message", (order: LoadOrder) => {
  generate(order).then(
    (result) => reply({ ok: true, result }),
    (error: unknown) => reply({ ok: false, message: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => process.exit());

function reply(message: LoadReply): void {
  process.send?.(message);
}

async function generate(order: LoadOrder): Promise<LoadResult> {
  const { port, traffic, connections, warmMs, measureMs } = order;
  const nextRequest =
    traffic.kind === "get" ? cycle(getRequests(port, traffic)) : createRequests(port, traffic);
  const ids: string[] = [];
  const sockets: Connection[] = [];
  for (let index = 0; index < connections; index += 1) sockets.push(await openConnection(port));

  const startedAt = performance.now() + warmMs;
  const endsAt = startedAt + measureMs;
  const cpuBefore = process.cpuUsage();
  let answers = 0;
  const onAnswer = (answer: string, sentAt: number, now: number): void => {
    if (!answer.startsWith(SUCCESS)) throw new Error(`not a success:\n${answer.slice(0, SHOWN_CHARACTERS)}`);
    if (traffic.kind === "create" && ids.length < MAX_IDS) ids.push(CREATED_ID.exec(answer)?.[1] ?? "");
    if (now < startedAt || now >= endsAt || answers >= MAX_SAMPLES) return;
    latencies[answers] = now - sentAt;
    answers += 1;
  };
  try {
    const driven = Promise.all(sockets.map((socket) => socket.drive({ nextRequest, onAnswer, endsAt })));
    await withDeadline(driven, warmMs + measureMs + GRACE_MS);
  } finally {
    for (const socket of sockets) socket.close();
  }
  const cpu = process.cpuUsage(cpuBefore);
  if (answers === 0) throw new Error(`no answer within ${measureMs} ms`);
  const sorted = latencies.subarray(0, answers).toSorted();
  return {
    answers,
    perSecond: (answers * 1000) / measureMs,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    busy: (cpu.user + cpu.system) / 1000 / (warmMs + measureMs),
    ids,
  };
}

type Drive = {
  readonly nextRequest: () => string;
  readonly onAnswer: (answer: string, sentAt: number, now: number) => void;
  readonly endsAt: number;
};

type Connection = {
  /** Sends one request after the other until `endsAt`; resolves when the last answer is complete. */
  readonly drive: (drive: Drive) => Promise<void>;
  readonly close: () => void;
};

function openConnection(port: number): Promise<Connection> {
  let onData: (text: string) => void = () => undefined;
  const buffer = Buffer.allocUnsafe(RECEIVE_BYTES);
  const receive = (size: number): boolean => {
    onData(buffer.toString("latin1", 0, size));
    return true;
  };
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true, onread: { buffer, callback: receive } });
    socket.once("error", reject);
    socket.once("connect", () => {
      resolve({
        drive: (drive) => driveSocket(socket, drive, (listener) => (onData = listener)),
        close: () => socket.destroy(),
      });
    });
  });
}

function driveSocket(
  socket: Socket,
  drive: Drive,
  listen: (onData: (text: string) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let pending = "";
    let sentAt = 0;
    const sendNext = (now: number): void => {
      sentAt = now;
      socket.write(drive.nextRequest(), "latin1");
    };
    listen((text) => {
      pending = pending === "" ? text : pending + text;
      try {
        if (!isWhole(pending)) return;
        const now = performance.now();
        drive.onAnswer(pending, sentAt, now);
        pending = "";
        if (now < drive.endsAt) sendNext(now);
        else resolve();
      } catch (error) {
        reject(error);
      }
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the server closed a connection")));
    sendNext(performance.now());
  });
}

/** Whether the bytes are one complete answer. Throws if there are more bytes, or no Content-Length. */
function isWhole(bytes: string): boolean {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return false;
  const length = CONTENT_LENGTH.exec(bytes)?.[1];
  if (length === undefined)
    throw new Error(`an answer without Content-Length:\n${bytes.slice(0, SHOWN_CHARACTERS)}`);
  const missing = headEnd + 4 + Number(length) - bytes.length;
  if (missing < 0) throw new Error(`more came than one answer:\n${bytes.slice(0, SHOWN_CHARACTERS)}`);
  return missing === 0;
}

function getRequests(port: number, traffic: Extract<Traffic, { kind: "get" }>): string[] {
  const authorization = authorizationLine(traffic.apiKey);
  return traffic.targets.map(
    (target) => `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${authorization}\r\n`,
  );
}

function cycle(requests: readonly string[]): () => string {
  let index = 0;
  return () => {
    index = index + 1 < requests.length ? index + 1 : 0;
    return requests[index] ?? "";
  };
}

/** Keys are scattered, like the keys of real clients (digests or random ids); order_ids count upwards. */
function createRequests(port: number, { apiKey }: Extract<Traffic, { kind: "create" }>): () => string {
  const body = (orderId: string): string =>
    `{"order_id":"${orderId}","amount_minor":1999,"currency":"EUR","payment_method":"alipay_plus"}`;
  const orderOf = (number: number): string => `bench-${String(number).padStart(9, "0")}`;
  const [afterBody = ""] = body("|").split("|").slice(1);
  const beforeBody = body("|").slice(0, -afterBody.length - 1);
  const heads = [apiKey]
    .flat()
    .map((key) =>
      [
        "POST /v1/orders HTTP/1.1",
        `Host: 127.0.0.1:${port}`,
        `${authorizationLine(key)}Content-Type: application/json`,
        `Content-Length: ${body(orderOf(0)).length}`,
        "Idempotency-Key: ",
      ].join("\r\n"),
    );
  return () => {
    serial += 1;
    const scattered = Math.floor(random() * 2 ** 32).toString(16);
    return `${heads[serial % heads.length]}${scattered}-bench-${serial}\r\n\r\n${beforeBody}${orderOf(serial)}${afterBody}`;
  };
}

function authorizationLine(apiKey: string | null): string {
  return apiKey === null ? "" : `Authorization: Bearer ${apiKey}\r\n`;
}

function quantile(sorted: Float64Array, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

async function withDeadline(work: Promise<unknown>, milliseconds: number): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`the server did not answer for ${GRACE_MS} ms`)),
    milliseconds,
  );
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
