import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { duplicatesSubject, type RecordedDrill } from "../../core/readiness/drills/drill.ts";
import { isPullListenerUrl, type Endpoint } from "../../core/webhook/endpoint.ts";
import type { World } from "../../world.ts";
import { withStore } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import { deliveryErrorOf, postToReceiver, type PostContext, type PostResult } from "../webhook/post.ts";
import type { Leases } from "./leases.ts";

export type DrillsContext = Pick<ServiceContext, "store"> &
  PostContext & {
    readonly world: Pick<World, "now" | "uuid" | "sleep">;
    readonly leases: Pick<Leases, "check">;
    readonly listenerTargets: ReadonlyMap<string, string>;
  };

export function recordDrill(
  context: DrillsContext,
  storeId: string,
  body: RequestOf<"recordDrill">,
): Promise<Outcome<RecordedDrill>> {
  return withStore(context, storeId, (store, at) => {
    const { kind, subject, steps } = body;
    const check = kind === "duplicates" ? checkSubject(context, storeId, subject) : accept(undefined);
    if (!check.ok) return check;
    const drill: RecordedDrill = {
      id: context.world.uuid(),
      storeId,
      kind,
      subject: kind === "idempotency" ? storeId : subject,
      passed: steps.every((step) => step.passed),
      steps,
      at,
    };
    store.drills.insert(drill);
    return accept(drill);
  });
}

/**
 * Refuses the result if the enabled endpoints have changed since the drill began, or while a hold prevents deliveries.
 */
function checkSubject(context: DrillsContext, storeId: string, subject: string): Outcome<void> {
  const holdCheck = refuseHold(context, storeId);
  if (!holdCheck.ok) return holdCheck;
  const endpoints = context.store.endpoints
    .of(storeId)
    .filter(({ kind, state }) => kind === "url" && state === "enabled");
  return duplicatesSubject(endpoints) === subject ? accept(undefined) : refuseFact("endpoints_changed", {});
}

function endpointToDrill(context: DrillsContext, storeId: string, endpointId: string): Outcome<Endpoint> {
  const holdCheck = refuseHold(context, storeId);
  if (!holdCheck.ok) return holdCheck;
  const endpoint = context.store.endpoints.of(storeId).find(({ id }) => id === endpointId);
  if (endpoint === undefined) return refuseFact("no_endpoint", { endpoint: endpointId });
  if (endpoint.state !== "enabled")
    return refuseFact("endpoint_not_enabled", { endpoint: endpointId, state: endpoint.state });
  if (endpoint.kind === "url") return accept(endpoint);
  const url = context.listenerTargets.get(storeId);
  // A pull listener forwards to an address that is valid only on the listener's machine.
  if (url !== undefined && !isPullListenerUrl(endpoint.url)) return accept({ ...endpoint, url });
  return refuseFact("endpoint_of_listener", { endpoint: endpointId });
}

function refuseHold({ holdOf }: Pick<DrillsContext, "holdOf">, storeId: string): Outcome<void> {
  const hold = holdOf(storeId);
  return hold === undefined ? accept(undefined) : refuseFact("nothing_delivered", { hold });
}

type Post = Parameters<typeof postToReceiver>[1];

/**
 * Retries once over a new connection if a kept connection failed, which the server may have closed; a timeout is not
 * retried.
 */
async function postWithRetry(context: DrillsContext, post: Post): Promise<PostResult> {
  const answer = await postToReceiver(context, post);
  const { result } = answer;
  const isStale =
    result !== "forbidden" && !result.ok && result.wasReused === true && result.failure !== "timeout";
  return isStale ? postToReceiver(context, { ...post, connection: "fresh" }) : answer;
}

export async function postToEndpoint(
  context: DrillsContext,
  storeId: string,
  { leaseId, posts }: RequestOf<"postToEndpoint">,
): Promise<Outcome<AnswerOf<"postToEndpoint">>> {
  const leaseCheck = context.leases.check({ storeId, id: leaseId });
  if (!leaseCheck.ok) return leaseCheck;
  const requestsToSend: (() => Promise<PostedAnswer>)[] = [];
  for (const { endpointId, method, suffix, headers, body, connection, inParts } of posts) {
    const endpoint = endpointToDrill(context, storeId, endpointId);
    if (!endpoint.ok) return endpoint;
    const { url, ca } = endpoint.value;
    const headersByName = Map.groupBy(headers, ({ name }) => name);
    const lines = [...headersByName].filter(([, sameNameHeaders]) => sameNameHeaders.length > 1);
    const post = {
      storeId,
      ca,
      url: withSuffix(url, suffix),
      method,
      body: Buffer.from(body, "base64"),
      awaitBetweenParts: inParts === true ? () => context.world.sleep(PARTS_PAUSE_MS) : undefined,
      connection,
      headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
      lines: Object.fromEntries(lines.map(([name, rows]) => [name, rows.map(({ value }) => value)])),
    };
    requestsToSend.push(() => postWithRetry(context, post).then((answer) => postedAnswer(url, answer)));
  }
  return accept({ answers: await Promise.all(requestsToSend.map((send) => send())) });
}

/** Long enough that a receiver reads each part separately. */
const PARTS_PAUSE_MS = 50;

function withSuffix(address: string, suffix: RequestOf<"postToEndpoint">["posts"][number]["suffix"]): string {
  const url = new URL(address);
  if (suffix === "") return address;
  if (suffix === "/") url.pathname += suffix;
  else url.searchParams.append("x", "1");
  return url.href;
}

type PostedAnswer = AnswerOf<"postToEndpoint">["answers"][number];

function postedAnswer(url: string, { result, milliseconds }: PostResult): PostedAnswer {
  const empty = { status: null, body: "", retryAfter: null, error: null, message: "", fault: null } as const;
  const noAnswer = { url, milliseconds, ...empty };
  if (result === "forbidden")
    return { ...noAnswer, error: "target_forbidden", message: "the sandbox may not send to this address" };
  if (result.ok) {
    const { status, body, headers } = result;
    return { ...noAnswer, status, body, retryAfter: headers["retry-after"] ?? null };
  }
  const { fault, elsewhere } = result.facts ?? {};
  return {
    ...noAnswer,
    error: deliveryErrorOf(result),
    message: result.message,
    fault: fault === "refused" && elsewhere !== undefined ? "elsewhere" : (fault ?? null),
  };
}
