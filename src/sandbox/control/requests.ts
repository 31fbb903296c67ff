import type { RequestOf } from "../../core/control/operations.ts";
import { accept, mapValue } from "../../core/outcome.ts";
import { parseStatuses } from "../../core/request/statuses.ts";
import type { LoggedRequest } from "../../core/request/logged-request.ts";
import { storyCheckoutId, explain, refuseUnknownRequest } from "../explain/explain.ts";
import type { OperationContext, HandlersOf } from "./handler.ts";
import { pollUntil } from "../runtime/write-signals.ts";
import type { RequestEntry } from "../../core/request/shapes.ts";
import { withoutDurations } from "../../core/explain/explanation.ts";

const DEFAULT_LIMIT = 100;

export const requestHandlers = {
  listRequests: async (context, { storeId, body }) => {
    const requests = await awaitRequests(context, storeId, body);
    const position = requests.at(-1)?.position ?? body.after ?? 0;
    const entries = requests.map((request) => entryOf(request));
    return accept({ storeId, requests: entries, position, failure: context.requests.failure() ?? null });
  },
  showRequest: async ({ requests }, { storeId, id }) => {
    const request = requests.find(storeId, id);
    if (request === undefined) return refuseUnknownRequest(requests, id);
    return accept({ ...entryOf(request), replayedAt: request.replays.map(({ storeAt }) => storeAt) });
  },
  explain: async (context, { storeId, body }) => {
    const explanation = await explain(context, storeId, body);
    return body.without === undefined ? explanation : mapValue(explanation, withoutDurations);
  },
  saveStory: async (context, { storeId, body }) => {
    const { language = "en" } = body;
    const checkoutId = storyCheckoutId(context, storeId, body);
    if (!checkoutId.ok) return checkoutId;
    const story = await context.saveStory({ storeId, id: checkoutId.value, language });
    return story.ok ? accept({ checkoutId: checkoutId.value, html: story.value }) : story;
  },
} satisfies HandlersOf<"requests">;

async function awaitRequests(
  context: OperationContext,
  storeId: string,
  query: RequestOf<"listRequests">,
): Promise<readonly LoggedRequest[]> {
  const { requests: log } = context;
  const { status, waitMs } = query;
  const filter = {
    statuses: status === undefined ? null : (parseStatuses(status) ?? null),
    method: query.method?.toUpperCase() ?? null,
    path: query.path ?? null,
    orderId: query.orderId ?? null,
    omitsDrills: query.by === "merchant",
    from: query.from ?? null,
    limit: query.limit ?? DEFAULT_LIMIT,
  };
  let position = query.after ?? null;
  const read = (): readonly LoggedRequest[] => {
    const requests = log.list(storeId, { ...filter, after: position });
    if (requests.length === 0) position = log.last(storeId);
    return requests;
  };
  const isEnough = (requests: readonly LoggedRequest[]): boolean => requests.length > 0;
  const newestRequests = await pollUntil(context, { storeId, waitMs }, { read, isEnough, signals: log });
  return newestRequests.toReversed();
}

function entryOf<Request extends LoggedRequest>(
  request: Request,
): Omit<Request, "byDrill"> & Pick<RequestEntry, "message" | "fact" | "byDrill" | "realAt"> {
  const { at: realAt, storeAt: at, refused, byDrill } = request;
  const [message, fact] = [refused?.message ?? null, refused?.told?.fact ?? null];
  return { ...request, at, realAt, message, fact, byDrill: byDrill === true };
}
