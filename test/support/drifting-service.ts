import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** An answer of the service, which a drift may change. */
type Answer = {
  readonly method: string;
  readonly path: string;
  status: number;
  readonly headers: Headers;
  /** The body, parsed as JSON. */
  body: Body;
};
type Body = {
  request_id?: string;
  readonly data?: Record<string, unknown>;
  readonly error?: { code: string };
};

/**
 * One difference of a service from the sandbox, the step of each workflow that fails first because of it, and the
 * finding of a calibration.
 */
type Drift = {
  readonly request?: (path: string, body: string) => string;
  readonly answer?: (answer: Answer) => void;
  /** Changes the body of a delivery. */
  readonly delivery?: (body: string) => string;
  readonly fails: readonly string[];
  /** An earlier drift that hides this one. */
  readonly hiddenBy?: string;
  /** The decisions in which `calibrate --check` differs from a record without the drift. */
  readonly found:
    | { readonly by: "answers"; readonly decisions: readonly number[] | "not_this_service" }
    | { readonly by: "payment"; readonly decisions: readonly number[] }
    | { readonly by: "workflows alone"; readonly because: string };
};

const isCreate = ({ method, path, status }: Answer): boolean =>
  method === "POST" && path.startsWith("/v1/") && status === 201;

/** The step of the first create in each workflow that has one. */
const EVERY_CREATE: readonly string[] = [
  "lost-answer create",
  "unavailable create",
  "rate-limit create",
  "happy-path create",
  "decline-then-pay create",
  "five-declines create",
  "expiry create",
  "late-success create",
  "cancel create",
  "cancel-after-success create",
  "attempts create",
  "duplicates create",
  "disorder create",
  "return-before-webhook create",
  "order-by-sum create",
  "session-by-sum create",
  "order-by-price create",
  "order-replayed first",
  "session-replayed first",
];

/** Twelve services that differ slightly from the sandbox; a calibration detects ten of them. */
export const DRIFTS: Readonly<Record<string, Drift>> = {
  "a create is answered 200": {
    answer: (answer) => void (isCreate(answer) && (answer.status = 200)),
    found: { by: "answers", decisions: [2, 5, 20] },
    fails: EVERY_CREATE,
  },
  "a key for another request has another code": {
    answer: ({ body: { error } }) =>
      void (error?.code === "idempotency_key_reused" && (error.code = "conflict")),
    found: { by: "answers", decisions: [5] },
    fails: ["order-replayed changed", "session-replayed changed"],
  },
  "livemode is missing": {
    answer: ({ path, body: { data } }) => void (path.startsWith("/v1/") && delete data?.["livemode"]),
    found: { by: "answers", decisions: "not_this_service" },
    fails: EVERY_CREATE,
  },
  "a replay is not marked by its header": {
    answer: ({ headers }) => headers.delete("idempotent-replayed"),
    found: { by: "answers", decisions: [5] },
    fails: ["order-replayed again", "session-replayed again"],
  },
  "a 429 has no Retry-After": {
    answer: ({ headers }) => headers.delete("retry-after"),
    found: { by: "workflows alone", because: "a calibration never provokes a rate limit" },
    fails: ["rate-limit refused"],
  },
  "a payment is reported by another event type": {
    answer: ({ path, body }) => {
      if (/\/events\b/.test(path)) renameEvents(body);
    },
    delivery: (body) => body.replace('"type":"order.succeeded"', '"type":"order.paid"'),
    found: { by: "payment", decisions: [11, 12, 16] },
    fails: ["happy-path events", "decline-then-pay events"],
  },
  "a replay has a new request_id": {
    answer: (answer) => {
      if (isCreate(answer)) answer.body.request_id = randomUUID();
    },
    found: { by: "answers", decisions: [2, 5] },
    fails: ["order-replayed again", "session-replayed again"],
  },
  "a checkout expires later": {
    request: (path, body) => (path.endsWith("/clock") ? body.replace("3601000", "3001000") : body),
    found: { by: "workflows alone", because: "no answer shows a lifetime, and nobody waits for an hour" },
    fails: ["expiry expired", "late-success late"],
  },
  "a checkout expires immediately": {
    answer: ({ method, path, body: { data } }) => {
      if (method === "GET" && path.startsWith("/v1/") && data?.["status"] === "created")
        data["status"] = "expired";
    },
    found: { by: "answers", decisions: [9] },
    hiddenBy: "a checkout expires later",
    fails: ["order-by-sum retrieve", "session-by-sum retrieve", "order-by-price retrieve"],
  },
  "missing fields are reported before unknown fields": {
    answer: ({ body: { error } }) =>
      void (error?.code === "unknown_parameter" && (error.code = "missing_parameter")),
    found: { by: "answers", decisions: [3] },
    fails: ["bodies other-field", "order-of-refusals unknown-before-missing"],
  },
  "amounts are strings": {
    answer: ({ path, body: { data } }) => {
      if (path.startsWith("/v1/") && data !== undefined) data["amount_minor"] = String(data["amount_minor"]);
    },
    found: { by: "answers", decisions: [2, 9, 20] },
    fails: EVERY_CREATE,
  },
  "a session is called an order": {
    answer: ({ path, body: { data } }) => {
      if (path.startsWith("/v1/") && data !== undefined) data["object"] = "order";
    },
    found: { by: "answers", decisions: [2, 9, 20] },
    fails: ["session-by-sum create"],
  },
};

function renameEvents({ data }: Body): void {
  for (const event of (data?.["events"] ?? []) as { type: string }[])
    event.type = event.type.replace("succeeded", "paid");
}

/** Drifts that fail different workflows, so that one run shows each drift by its own steps. */
type Drifts = {
  readonly names: readonly string[];
  readonly drifts: readonly Drift[];
  readonly fails: readonly string[];
};

const workflowsOf = (fails: readonly string[]): readonly string[] =>
  fails.map((step) => step.split(" ")[0] ?? "");

/** All drifts in few groups, because each group takes a run. */
export function groupedDrifts(): readonly Drifts[] {
  const groups: Drifts[] = [];
  for (const [name, drift] of Object.entries(DRIFTS)) {
    const failed = workflowsOf(drift.fails);
    const at = groups.findIndex(
      ({ names, fails }) =>
        !workflowsOf(fails).some((flow) => failed.includes(flow)) &&
        !names.some((one) => one === drift.hiddenBy),
    );
    const group = groups[at] ?? { names: [], drifts: [], fails: [] };
    groups[at < 0 ? groups.length : at] = {
      names: [...group.names, name],
      drifts: [...group.drifts, drift],
      fails: [...group.fails, ...drift.fails],
    };
  }
  return groups;
}

/** Opens a proxy for the sandbox at `origin` that applies these drifts until the test ends; returns its own origin. */
export async function openDriftingService(origin: string, drifts: readonly Drift[]): Promise<string> {
  const server = createServer((incoming, response) => {
    void (async () => {
      const { method = "GET", url: path = "/", headers } = incoming;
      const parts: Buffer[] = [];
      for await (const chunk of incoming) parts.push(chunk as Buffer);
      const body = Buffer.concat(parts).toString("utf8");
      const kept = Object.entries(headers).filter(
        ([name]) => !["host", "connection", "content-length"].includes(name),
      );
      const sent = await fetch(`${origin}${path}`, {
        method,
        // On a busy machine a kept connection may be closed when it is used again.
        headers: { ...(Object.fromEntries(kept) as Record<string, string>), connection: "close" },
        ...(method === "GET"
          ? {}
          : { body: drifts.reduce((text, { request }) => request?.(path, text) ?? text, body) }),
      }).catch(() => undefined);
      // The sandbox has closed the connection, so this server closes its own.
      if (sent === undefined) return void incoming.socket.destroy();
      const answer: Answer = {
        method,
        path,
        status: sent.status,
        headers: new Headers(sent.headers),
        body: (await sent.json()) as Body,
      };
      for (const drift of drifts) drift.answer?.(answer);
      for (const name of ["content-length", "transfer-encoding", "connection", "keep-alive"])
        answer.headers.delete(name);
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(JSON.stringify(answer.body));
    })();
  }).listen(0, "127.0.0.1");
  server.keepAliveTimeout = 0;
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
