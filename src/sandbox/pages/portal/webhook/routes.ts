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

const WEBHOOKS_PATH = "/portal/{store_id}/webhooks";
const ENDPOINT_PATH = `${WEBHOOKS_PATH}/endpoints/{id}` as const;
const SHOW_ENDPOINT = showOperation("showEndpoint", endpointPage);
/** The page of an endpoint, which contains the forms of its actions. */
const ENDPOINT_FORM_PAGE = {
  page: SHOW_ENDPOINT,
  pageOf: ({ storeId, id }: View) => ({ path: endpointPath({ storeId }, id), storeId, id }),
};

export const WEBHOOK_ROUTES: readonly PortalRoute[] = [
  pageRoute({ path: WEBHOOKS_PATH, minRole: "viewer" }, webhooksPage),
  pageRoute({ path: `${WEBHOOKS_PATH}/events`, minRole: "viewer" }, eventsPage),
  pageRoute({ path: `${WEBHOOKS_PATH}/events/{id}`, minRole: "viewer" }, eventPage),
  pageRoute({ path: `${WEBHOOKS_PATH}/deliveries/{id}`, minRole: "viewer" }, deliveryPage),
  pageRoute({ path: ENDPOINT_PATH, minRole: "viewer" }, SHOW_ENDPOINT),
  actionRoute(`${WEBHOOKS_PATH}/endpoints`, {
    operation: "addEndpoint",
    read: parseEndpointForm,
    nextAddress: (view, { id }) => endpointPath(view, id),
    secretOf: ({ signingSecret }) => signingSecret,
    notice: addedNotice,
    form: { page: webhooksPage, field: "url", names: { event_types: "types" } },
  }),
  actionRoute(`${ENDPOINT_PATH}/state`, {
    operation: "setEndpointState",
    read: (fields) => ({ action: fields.get("action") }),
    nextAddress: (view, { id }) => endpointPath(view, id),
    notice: stateNotice,
    form: ENDPOINT_FORM_PAGE,
  }),
  actionRoute(`${ENDPOINT_PATH}/remove`, {
    operation: "setEndpointState",
    read: () => ({ action: "remove" }),
    notice: ({ url }) => ({ words: WEBHOOK_TEXTS.notices.removed(url), tone: "" }),
  }),
  actionRoute(`${ENDPOINT_PATH}/test`, {
    operation: "testEndpoint",
    nextAddress: (view, { eventId }) => storePath(view, `/webhooks/events/${eventId}`),
    notice: ({ eventId }, scope) => deliveryNotice(scope, "tested", deliveriesOf(scope, eventId)),
    form: ENDPOINT_FORM_PAGE,
  }),
  actionRoute(`${ENDPOINT_PATH}/secret`, {
    operation: "showSecret",
    nextAddress: (view) => endpointPath(view, view.id),
    secretOf: ({ inForce }) => inForce.join(" "),
  }),
  actionRoute(`${ENDPOINT_PATH}/rotate`, {
    operation: "rotateSecret",
    read: (fields) => ({ overlap_ms: Number(fields.get("overlap_ms") ?? "") }),
    nextAddress: (view) => endpointPath(view, view.id),
    secretOf: ({ inForce: [newestSecret = ""] }) => newestSecret,
    form: ENDPOINT_FORM_PAGE,
  }),
  actionRoute(`${WEBHOOKS_PATH}/events/{id}/replay`, {
    operation: "replayEvent",
    read: (fields) => filledFields(fields, ["endpoint_id"]),
    nextAddress: (view, { deliveries: [delivery, ...otherDeliveries] }) =>
      delivery === undefined || otherDeliveries.length > 0
        ? storePath(view, `/webhooks/events/${view.id}`)
        : storePath(view, `/webhooks/deliveries/${delivery.id}`),
    notice: ({ deliveries }, scope) => deliveryNotice(scope, "replayed", deliveries),
    form: {
      page: eventPage,
      pageOf: ({ storeId, id }) => ({ path: storePath({ storeId }, `/webhooks/events/${id}`), storeId, id }),
    },
  }),
  actionRoute(`${WEBHOOKS_PATH}/deliveries/replay`, {
    operation: "replayFailed",
    read: (fields) => ({ since: fields.get("since") }),
    secretOf: ({ replayed, retried, more }) => `${replayed + retried}${more ? "+" : ""}`,
    form: { page: webhooksPage },
  }),
  actionRoute(`${WEBHOOKS_PATH}/deliveries/retry`, {
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
async function addedNotice({ id }: AnswerOf<"addEndpoint">, scope: ActionContext): Promise<Notice> {
  const { context, view } = scope;
  const test = await runAsViewer(context, "testEndpoint", { ...view, id, body: {} });
  return deliveryNotice(scope, "added", test.ok ? deliveriesOf(scope, test.value.eventId) : []);
}

function deliveriesOf({ context, view }: ActionContext, eventId: string) {
  return context.store.deliveries.list({ storeId: view.storeId, eventId, limit: MAX_DELIVERIES });
}

/** Maximum number of an event's deliveries that are read: more than the endpoints that a store can have. */
const MAX_DELIVERIES = 50;

function stateNotice({ id, state }: AnswerOf<"setEndpointState">, { context, view }: ActionContext): Notice {
  const { paused, disabled, enabled } = WEBHOOK_TEXTS.notices;
  if (state === "paused") return { words: paused, tone: "warn" };
  if (state === "disabled") return { words: disabled, tone: "warn" };
  return { words: enabled(healthOf(context, view, id).due), tone: "good" };
}
