import type { Checkout } from "../../../../core/checkout/checkout.ts";
import type { StoryEvent, StoryRequest } from "../../../../core/explain/timeline.ts";
import { html, type Html } from "../../../../web/html.ts";
import type { DeliveryAttempt } from "../../../../store/webhook/delivery-attempts.ts";
import { actionForm, linkUnlessSaved, storePath } from "../forms.ts";
import { sentText, copyableText, momentWithDate, factList } from "../parts.ts";
import { differencesTable, requestDetails } from "../request/exchange.ts";
import type { OperationContext } from "../../../control/handler.ts";
import type { PartView } from "../view.ts";
import { attemptDetails, type AttemptedDelivery } from "../webhook/attempt-parts.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

/** The details of a request's line: the link to its page, its refusal, and its bytes. */
export function requestLineDetails(view: PartView, request: StoryRequest, checkout: Checkout): Html {
  const { requestId, at, storeAt, key, refused, differences } = request;
  return html`${factList([
    [COMMON_TEXTS.request, idLink(view, `/requests/${requestId}`, requestId)],
    at === storeAt ? null : [COMMON_TEXTS.realTime, momentWithDate(at)],
    key === null ? null : ["Idempotency-Key", copyableText(key)],
    refused && [CHECKOUTS_TEXTS.refusal, html`<span lang="en">${refused.message}</span>`],
  ])}
  ${differences.length === 0 ? "" : differencesTable(differences)} ${requestDetails(request, checkout)}`;
}

/** The details of an event's line: the body of its deliveries, and the button that replays the event. */
export function eventLineDetails(
  { store }: OperationContext,
  view: PartView,
  { event, checkout }: { readonly event: StoryEvent; readonly checkout: Checkout },
): Html {
  const body = store.events.find(event.id)?.body ?? "";
  const action = storePath(view, `/checkouts/${checkout.id}/events/${event.id}/replay`);
  return html`${factList([[COMMON_TEXTS.event, idLink(view, `/webhooks/events/${event.id}`, event.id)]])}
  ${sentText(CHECKOUTS_TEXTS.eventBody, body)} ${actionForm(view, { action, label: CHECKOUTS_TEXTS.replay })}`;
}

type DeliveryAndAttempt = { readonly delivery: AttemptedDelivery; readonly attempt: DeliveryAttempt };

/** The details of an attempt's line: the link to its delivery, and all stored data of the attempt. */
export function attemptLineDetails(
  context: OperationContext,
  view: PartView,
  { delivery, attempt }: DeliveryAndAttempt,
): Html {
  const { id } = delivery;
  return html`${factList([[CHECKOUTS_TEXTS.delivery, idLink(view, `/webhooks/deliveries/${id}`, id)]])}
  ${attemptDetails(context, delivery, attempt)}`;
}

function idLink(view: PartView, page: string, id: string): Html {
  return linkUnlessSaved(view, storePath(view, page), html`<code>${id}</code>`);
}
