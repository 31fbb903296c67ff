import { displayText, shortId } from "../../../../core/text.ts";
import type { Status } from "../../../../core/checkout/checkout.ts";
import { html, joinTexts, type Html } from "../../../../web/html.ts";
import { merchantText } from "../../shared/merchant-text.ts";
import { countDue } from "../../../runtime/clock.ts";
import type { ClockMove } from "../../../clock-moves.ts";
import { listUrl, storePath } from "../forms.ts";
import { momentWithDate, linkTo, statusBadge } from "../parts.ts";
import type { PortalContext, View } from "../view.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { CLOCK_TEXTS as TEXTS } from "./texts.ts";

/** The address of the clock page with the result of the last move. */
export function movePath({ storeId }: View, _done: unknown, { clockMoves }: PortalContext): string {
  const move = clockMoves.last(storeId);
  return listUrl({ storeId }, "/clock", {
    [MOVE_PARAM]: move === undefined ? null : String(move.number),
  });
}

const MOVE_PARAM = "move";

export function isMoving({ clockMoves }: PortalContext, { storeId }: View): boolean {
  return clockMoves.last(storeId)?.isOver === false;
}

/** The progress of a move and, after its end, its result: changes, then deliveries, then deliveries in flight. */
export function movePart(context: PortalContext, view: View, now: number): Html {
  const move = context.clockMoves.last(view.storeId);
  if (move === undefined || (move.isOver && view.query.get(MOVE_PARAM) !== String(move.number)))
    return html``;
  const dueCount = countDue(context, view.storeId, now);
  const parts = [
    ...changesPart(view, move),
    ...deliveriesPart(context, view, move),
    ...pendingPart(view, dueCount),
  ];
  const isEmpty = parts.length === 0 && move.isOver;
  return html`<section class="notice ${move.isOver ? "good" : ""} move" role="status">
    ${move.isOver ? "" : progressPart(move, now)}
    ${
      isEmpty
        ? html`<p>${TEXTS.nothingHappened}</p>`
        : html`<ul>
            ${parts}
          </ul>`
    }
  </section>`;
}

/** The progress of a move: the clock shows the time of the last processed item. */
function progressPart({ from, to }: ClockMove, now: number): Html {
  const totalMs = Math.max(1, to - from);
  const elapsedMs = Math.min(Math.max(0, now - from), totalMs);
  return html`<p>${TEXTS.movingTo} ${momentWithDate(to)} · ${TEXTS.isAt} ${momentWithDate(now)}</p>
    <progress max="${String(totalMs)}" value="${String(elapsedMs)}"></progress>`;
}

function changesPart(view: View, { changes }: ClockMove): readonly Html[] {
  return [...changes].map(([status, { count, firstChanges }]) => {
    const list = firstChanges.map(
      ({ at, checkoutId, orderId, from }) =>
        html`<li>
          ${momentWithDate(at)} ${linkTo(storePath(view, `/checkouts/${checkoutId}`), merchantText(orderId))}
          ${statusBadge(from)} → ${statusBadge(status)}
        </li>`,
    );
    const moreLine =
      count > firstChanges.length ? html`<li>${TEXTS.more(count - firstChanges.length)}</li>` : "";
    return html`<li>
      <strong
        ><a href="${addressOf(view, status)}"
          >${TEXTS.became(count)} ${COMMON_TEXTS.statuses[status]}</a
        ></strong
      >
      <ul>
        ${list} ${moreLine}
      </ul>
    </li>`;
  });
}

function addressOf(view: View, status: Status): string {
  return listUrl(view, "/checkouts", { status });
}

function deliveriesPart({ store }: PortalContext, view: View, { attempts }: ClockMove): readonly Html[] {
  return [...attempts].map(([endpointId, results]) => {
    const endpoint = store.endpoints.find(endpointId);
    const name = endpoint === undefined ? `…${shortId(endpointId)}` : displayText(endpoint.url);
    const counts = [...results].map(([result, count]) =>
      /^2\d\d$/.test(result) ? TEXTS.delivered(count, result) : TEXTS.notDelivered(count, result),
    );
    const address = storePath(view, `/webhooks/endpoints/${endpointId}`);
    return html`<li>→ <a href="${address}">${name}</a> ${joinTexts(counts)}</li>`;
  });
}

/** The number of due deliveries that are not answered yet. */
function pendingPart(view: View, count: number): readonly Html[] {
  if (count === 0) return [];
  const address = listUrl(view, "/webhooks", { state: "due" });
  return [html`<li><a href="${address}">${TEXTS.underWay(count)}</a></li>`];
}
