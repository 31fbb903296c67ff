import { storePath } from "../forms.ts";
import { act, page, pageOf, type PortalRoute } from "../route.ts";
import { deliveryPage } from "./delivery-page.ts";
import { endpointPage } from "./endpoint-page.ts";
import { endpointPath, readEndpoint } from "./endpoint-parts.ts";
import { eventPage, eventsPage } from "./event-pages.ts";
import { webhooksPage } from "./webhooks-page.ts";

const WEBHOOKS = "/portal/{store_id}/webhooks";
const ENDPOINT = `${WEBHOOKS}/endpoints/{id}`;

/** The pages of endpoints, events and deliveries. */
export const WEBHOOK_ROUTES: readonly PortalRoute[] = [
  page(WEBHOOKS, webhooksPage),
  page(`${WEBHOOKS}/events`, eventsPage),
  page(`${WEBHOOKS}/events/{id}`, eventPage),
  page(`${WEBHOOKS}/deliveries/{id}`, deliveryPage),
  pageOf(ENDPOINT, "showEndpoint", endpointPage),
  act(`${WEBHOOKS}/endpoints`, {
    operation: "addEndpoint",
    read: readEndpoint,
    leadsTo: (view, { id }) => endpointPath(view, id),
    reveals: ({ signingSecret }) => signingSecret,
  }),
  act(`${ENDPOINT}/state`, {
    operation: "setEndpointState",
    read: (fields) => ({ action: fields.get("action") }),
    leadsTo: (view, { id }) => endpointPath(view, id),
  }),
  act(`${ENDPOINT}/remove`, {
    operation: "setEndpointState",
    read: () => ({ action: "remove" }),
  }),
  act(`${ENDPOINT}/test`, {
    operation: "testEndpoint",
    leadsTo: (view, { eventId }) => storePath(view, `/webhooks/events/${eventId}`),
  }),
  act(`${ENDPOINT}/secret`, {
    operation: "showSecret",
    leadsTo: (view) => endpointPath(view, view.id),
    reveals: ({ inForce }) => inForce.join(" "),
  }),
  act(`${ENDPOINT}/rotate`, {
    operation: "rotateSecret",
    read: (fields) => ({ overlap_ms: Number(fields.get("overlap_ms") ?? "") }),
    leadsTo: (view) => endpointPath(view, view.id),
    reveals: ({ inForce: [newest = ""] }) => newest,
  }),
  act(`${WEBHOOKS}/events/{id}/replay`, {
    operation: "replayEvent",
    read: (fields) => {
      const endpoint = fields.get("endpoint_id") ?? "";
      return endpoint === "" ? {} : { endpoint_id: endpoint };
    },
    leadsTo: (view, { deliveries: [first, ...more] }) =>
      first === undefined || more.length > 0
        ? storePath(view, `/webhooks/events/${view.id}`)
        : storePath(view, `/webhooks/deliveries/${first.id}`),
  }),
  act(`${WEBHOOKS}/deliveries/replay`, {
    operation: "replayFailed",
    read: (fields) => ({ since: fields.get("since") }),
    reveals: ({ replayed, more }) => `${replayed}${more ? "+" : ""}`,
  }),
];
