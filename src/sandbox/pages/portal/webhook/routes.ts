import { filledFields } from "../fields.ts";
import { storePath } from "../forms.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import {
  actionRoute,
  runAsViewer,
  pageRoute,
  showOperation,
  type ActionContext,
  type PortalRoute,
} from "../route.ts";
import type { Notice, View } from "../view.ts";
import { deliveryPage } from "./delivery-page.ts";
import { endpointPage } from "./endpoint-page.ts";
import { endpointPath, healthOf, parseEndpointForm } from "./endpoint-parts.ts";
import { eventPage } from "./event-page.ts";
import { eventsPage } from "./events-page.ts";
import { deliveryNotice } from "./delivery-notice.ts";
import { webhooksPage } from "./webhooks-page.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

const WEBHOOKS = "/portal/{store_id}/webhooks";
const ENDPOINT = `${WEBHOOKS}/endpoints/{id}` as const;
const SHOW_ENDPOINT = showOperation("showEndpoint", endpointPage);
/** The page of an endpoint, which contains the forms of its actions. */
const OF_ENDPOINT = {
  page: SHOW_ENDPOINT,
  at: ({ storeId, id }: View) => ({ path: endpointPath({ storeId }, id), storeId, id }),
};

export const WEBHOOK_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: WEBHOOKS, least: "viewer" }, webhooksPage),
  pageRoute({ path: `${WEBHOOKS}/events`, least: "viewer" }, eventsPage),
  pageRoute({ path: `${WEBHOOKS}/events/{id}`, least: "viewer" }, eventPage),
  pageRoute({ path: `${WEBHOOKS}/deliveries/{id}`, least: "viewer" }, deliveryPage),
  pageRoute({ path: ENDPOINT, least: "viewer" }, SHOW_ENDPOINT),
  actionRoute(`${WEBHOOKS}/endpoints`, {
    operation: "addEndpoint",
    read: parseEndpointForm,
    leadsTo: (view, { id }) => endpointPath(view, id),
    reveals: ({ signingSecret }) => signingSecret,
    notice: addedNotice,
    form: { page: webhooksPage, field: "url", names: { event_types: "types" } },
  }),
  actionRoute(`${ENDPOINT}/state`, {
    operation: "setEndpointState",
    read: (fields) => ({ action: fields.get("action") }),
    leadsTo: (view, { id }) => endpointPath(view, id),
    notice: stateNotice,
    form: OF_ENDPOINT,
  }),
  actionRoute(`${ENDPOINT}/remove`, {
    operation: "setEndpointState",
    read: () => ({ action: "remove" }),
    notice: ({ url }) => ({ words: WEBHOOK_TEXTS.notices.removed(url), tone: "" }),
  }),
  actionRoute(`${ENDPOINT}/test`, {
    operation: "testEndpoint",
    leadsTo: (view, { eventId }) => storePath(view, `/webhooks/events/${eventId}`),
    notice: ({ eventId }, at) => deliveryNotice(at, "tested", deliveriesOf(at, eventId)),
    form: OF_ENDPOINT,
  }),
  actionRoute(`${ENDPOINT}/secret`, {
    operation: "showSecret",
    leadsTo: (view) => endpointPath(view, view.id),
    reveals: ({ inForce }) => inForce.join(" "),
  }),
  actionRoute(`${ENDPOINT}/rotate`, {
    operation: "rotateSecret",
    read: (fields) => ({ overlap_ms: Number(fields.get("overlap_ms") ?? "") }),
    leadsTo: (view) => endpointPath(view, view.id),
    reveals: ({ inForce: [newestSecret = ""] }) => newestSecret,
    form: OF_ENDPOINT,
  }),
  actionRoute(`${WEBHOOKS}/events/{id}/replay`, {
    operation: "replayEvent",
    read: (fields) => filledFields(fields, ["endpoint_id"]),
    leadsTo: (view, { deliveries: [delivery, ...otherDeliveries] }) =>
      delivery === undefined || otherDeliveries.length > 0
        ? storePath(view, `/webhooks/events/${view.id}`)
        : storePath(view, `/webhooks/deliveries/${delivery.id}`),
    notice: ({ deliveries }, at) => deliveryNotice(at, "replayed", deliveries),
    form: {
      page: eventPage,
      at: ({ storeId, id }) => ({ path: storePath({ storeId }, `/webhooks/events/${id}`), storeId, id }),
    },
  }),
  actionRoute(`${WEBHOOKS}/deliveries/replay`, {
    operation: "replayFailed",
    read: (fields) => ({ since: fields.get("since") }),
    reveals: ({ replayed, retried, more }) => `${replayed + retried}${more ? "+" : ""}`,
    form: { page: webhooksPage },
  }),
  actionRoute(`${WEBHOOKS}/deliveries/retry`, {
    operation: "retryDeliveries",
    read: (fields) => filledFields(fields, ["endpoint_id"]),
    notice: ({ retried, more }) => ({
      words: WEBHOOK_TEXTS.notices.retried(retried, more),
      tone: retried === 0 ? "" : "good",
    }),
    form: { page: webhooksPage },
  }),
];

/** Tests a new endpoint immediately, so that its page shows whether it answers. */
async function addedNotice({ id }: AnswerOf<"addEndpoint">, at: ActionContext): Promise<Notice> {
  const { context, view } = at;
  const test = await runAsViewer(context, "testEndpoint", { ...view, id, body: {} });
  return deliveryNotice(at, "added", test.ok ? deliveriesOf(at, test.value.eventId) : []);
}

function deliveriesOf({ context, view }: ActionContext, eventId: string) {
  const anyState = { endpointId: null, checkoutId: null, state: null };
  const filter = { ...anyState, storeId: view.storeId, eventId, limit: MAX_DELIVERIES };
  return context.store.deliveries.list(filter);
}

/** Maximum number of deliveries of a replay: more than the number of endpoints that a store can have. */
const MAX_DELIVERIES = 50;

function stateNotice({ id, state }: AnswerOf<"setEndpointState">, { context, view }: ActionContext): Notice {
  const { paused, disabled, enabled } = WEBHOOK_TEXTS.notices;
  if (state === "paused") return { words: paused, tone: "warn" };
  if (state === "disabled") return { words: disabled, tone: "warn" };
  return { words: enabled(healthOf(context, view, id).due), tone: "good" };
}
