import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import { headerLines } from "../../../../web/http.ts";
import { PAGE_SECURITY_HEADERS } from "../../../../web/page.ts";
import type { HttpResponse } from "../../../../world.ts";
import { refuseUnknownStore } from "../../../at-store.ts";
import type { PortalRoute } from "../route.ts";
import { viewOf, type LiveTopic, type View } from "../view.ts";
import { hubOf } from "./hub.ts";
import { createEventStream } from "./stream.ts";
import { requireTopic } from "./topic.ts";
import { formatPosition } from "./watched.ts";

/** The stream of an open page. An erasure does not wait for an open stream, but sends it a message (decision 91). */
export const LIVE_ROUTES: readonly PortalRoute[] = [
  {
    methods: ["GET"],
    path: "/portal/{store_id}/live",
    role: "portal merchant",
    entersStore: true,
    onlyOwnPages: true,
    answer: (context, call) => {
      const { caller: session, request, requestId } = call;
      const view = viewOf(context, call);
      const { storeId, language, query } = view;
      if (context.store.stores.names(storeId) === undefined) return refuseUnknownStore(storeId);
      const topic = topicOf(view);
      if (!topic.ok) return topic;
      const known = requireTopic(context, storeId, topic.value);
      if (!known.ok) return known;
      if (session === undefined)
        return refuse("credential_missing", ["this browser is not signed in", "此处尚未登录"]);
      const hub = hubOf(context);
      const now = formatPosition(topic.value.kind, hub.positionOf(storeId));
      // The last position that the page has received; without one, it follows from now on.
      const since = headerLines(request, "last-event-id")[0] ?? query.get("since") ?? now;
      const body = createEventStream(language, (mailbox) =>
        hub.follow(storeId, topic.value, { ...mailbox, session, since }),
      );
      return accept({ ...streamHead(requestId), body, unlogged: true });
    },
  },
];

/** The topic of a stream. Refuses with `invalid_parameter` if there is no such topic. */
function topicOf({ query }: View): Outcome<LiveTopic> {
  const kind = query.get("topic") ?? "";
  switch (kind) {
    case "checkouts":
    case "requests":
    case "webhooks":
    case "store":
      return accept({ kind });
    case "checkout":
    case "delivery":
      return accept({ kind, id: query.get("id") ?? "" });
    default:
      return refuse("invalid_parameter", "topic must be a topic that a page can follow");
  }
}

/** Headers that prevent proxies from storing or delaying the stream. */
function streamHead(requestId: string): Pick<HttpResponse, "status" | "headers"> {
  const headers = {
    ...PAGE_SECURITY_HEADERS,
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "X-Request-Id": requestId,
  };
  return { status: 200, headers };
}
