import { toIso } from "../../../../core/clock.ts";
import { decodeRequest } from "../../../../core/control/operations.ts";
import { parseSpan } from "../../../../core/duration.ts";
import { accept, addField, mapValue, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { displayText, printableLiteral, shortId } from "../../../../core/text.ts";
import { html, joinTexts, type Html } from "../../../../web/html.ts";
import type { ClockMove } from "../../../clock-moves.ts";
import { countDueDeliveries } from "../../../runtime/clock.ts";
import { storeTime } from "../../../with-store.ts";
import { merchantText } from "../../shared/layout.ts";
import { inputField, type TypedForm } from "../fields.ts";
import { actionForm, listUrl, storePath, type ActionForm } from "../forms.ts";
import { momentWithDate, factList, linkTo, section, statusBadge, table, type TableRow } from "../parts.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { dueItemsUntil, MAX_PENDING_ITEMS, type PendingItem, type PendingItems } from "./due.ts";
import { CLOCK_TEXTS as TEXTS } from "./texts.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SPANS = ["1m", "10m", "1h", "6h", "1d", "7d"] as const;
const MAX_ITEMS = 25;
const MOVE_PARAM = "move";

export async function clockPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const now = storeTime(context, view.storeId);
  const main = html`${movePart(context, view, now)}
    <p id="moving" class="notice" role="status" hidden>${TEXTS.moving}</p>
    ${clockPanel(context, view, now)} ${moveForms(context, view, now)}
    ${dueSection(view, dueItemsUntil(context, view.storeId, now + DAY_MS), now)}`;
  return accept({ title: FRAME_TEXTS.clock, main, liveTopic: "store" });
}

export function parseClockForm(fields: ReadonlyMap<string, string>): Outcome<unknown> {
  const action = fields.get("action") ?? "";
  if (action === "set")
    return mapValue(parseMoment((fields.get("to") ?? "").trim()), (to) => ({ action, to }));
  if (action !== "advance") return accept({ action });
  const span = addField("by", parseSpan((fields.get("by") ?? "").trim()));
  return mapValue(span, (ms) => ({ action, by_ms: ms }));
}

function parseMoment(text: string): Outcome<string> {
  const hasMomentForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (hasMomentForm && decodeRequest("moveClock", { action: "set", to: text }).ok) return accept(text);
  return addField("to", refuseFact("moment_form", { received: printableLiteral(text) }));
}

export function clockMovePath({ storeId }: View, { clockMoves }: PortalContext): string {
  const move = clockMoves.last(storeId);
  const number = move === undefined ? null : String(move.number);
  return listUrl({ storeId }, "/clock", { [MOVE_PARAM]: number });
}

function movePart(context: PortalContext, view: View, now: number): Html {
  const move = context.clockMoves.last(view.storeId);
  if (move === undefined || (move.isOver && view.query.get(MOVE_PARAM) !== String(move.number)))
    return html``;
  const dueCount = countDueDeliveries(context, view.storeId, now);
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
        ><a href="${listUrl(view, "/checkouts", { status })}"
          >${TEXTS.became(count)} ${COMMON_TEXTS.statuses[status]}</a
        ></strong
      >
      <ul>
        ${list} ${moreLine}
      </ul>
    </li>`;
  });
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

function pendingPart(view: View, count: number): readonly Html[] {
  if (count === 0) return [];
  const address = listUrl(view, "/webhooks", { state: "due" });
  return [html`<li><a href="${address}">${TEXTS.underWay(count)}</a></li>`];
}

function clockPanel(context: PortalContext, view: View, now: number): Html {
  const { store, world } = context;
  const clock = store.clocks.of(view.storeId);
  const isFrozen = clock !== undefined && clock.frozenAt !== null;
  const isReal = !isFrozen && (clock?.offsetMs ?? 0) === 0;
  const badge = isFrozen
    ? html`<span class="badge warn">${FRAME_TEXTS.frozen}</span>`
    : html`<span class="badge">${isReal ? TEXTS.real : FRAME_TEXTS.moved}</span>`;
  const realNow = world.now();
  const facts = factList([
    [TEXTS.now, html`<span class="row">${momentWithDate(now)} ${badge}</span>`],
    isReal ? null : [TEXTS.realNow, momentWithDate(realNow)],
    isReal ? null : [TEXTS.difference, TEXTS.apart(spanText(now - realNow))],
  ]);
  return html`<section class="panel">
    ${facts}
    <div class="actions">
      ${isFrozen ? "" : moveForm(context, view, { label: TEXTS.freeze, fields: { action: "freeze" } })}
      ${isReal ? "" : moveForm(context, view, { label: TEXTS.toReal, fields: { action: "real" } })}
    </div>
  </section>`;
}

function moveForms(context: PortalContext, view: View, now: number): Html {
  if (!view.may("POST", storePath(view, "/clock"))) return html``;
  const spanField = (typedForm: TypedForm): Html =>
    inputField(TEXTS.span, "by", { required: true, placeholder: "31m", hint: TEXTS.spanHint, typedForm });
  const value = `${toIso(now + HOUR_MS).slice(0, 19)}Z`;
  const momentField = (typedForm: TypedForm): Html =>
    inputField(TEXTS.moment, "to", { required: true, value, hint: TEXTS.momentHint, typedForm });
  return html`<section class="panel">
    <h2>${TEXTS.advance}</h2>
    <p class="hint">${TEXTS.advanceHint}</p>
    <div class="actions">
      ${SPANS.map((by) => moveForm(context, view, { label: `+${by}`, fields: { action: "advance", by } }))}
    </div>
    <div class="actions">
      ${moveForm(context, view, { label: TEXTS.advanceNow, fields: { action: "advance" }, content: spanField })}
      ${moveForm(context, view, { label: TEXTS.setNow, fields: { action: "set" }, content: momentField })}
    </div>
  </section>`;
}

function moveForm({ clockMoves }: PortalContext, view: View, form: Omit<ActionForm, "action">): Html {
  const isDisabled = clockMoves.last(view.storeId)?.isOver === false;
  return actionForm(view, { ...form, action: storePath(view, "/clock"), isDisabled });
}

function dueSection(view: View, { items, hasMore }: PendingItems, now: number): Html {
  const hourCount = items.filter(({ at }) => at <= now + HOUR_MS).length;
  const countText = (total: number): string =>
    hasMore && total === items.length ? `${Math.min(total, MAX_PENDING_ITEMS - 1)}+` : String(total);
  const counts = html`<p>${TEXTS.counts(countText(hourCount), countText(items.length))}</p>`;
  const list = table({ caption: COMMON_TEXTS.due, isLinked: true }, items.slice(0, MAX_ITEMS), (item) =>
    dueRow(view, item, now),
  );
  const moreNote = items.length > MAX_ITEMS ? html`<p class="hint">${TEXTS.listed(MAX_ITEMS)}</p>` : "";
  return section(COMMON_TEXTS.due, html`${counts} ${list}`, moreNote);
}

function dueRow(view: View, { at, kind, subject, outcome, path }: PendingItem, now: number): TableRow {
  return [
    [COMMON_TEXTS.at, momentWithDate(at)],
    [TEXTS.in, at <= now ? TEXTS.waiting : spanText(at - now)],
    [COMMON_TEXTS.item, html`${TEXTS[kind]}${outcome === "" ? "" : html` <code>${outcome}</code>`}`],
    [COMMON_TEXTS.of, linkTo(storePath(view, path), subject), "head"],
  ];
}

function spanText(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const index = parts.findIndex(([count]) => count > 0);
  const twoParts = parts.slice(Math.max(index, 0), index + 2).filter(([count]) => count > 0);
  const text = twoParts.map(([count, unit]) => `${count}${unit}`).join(" ") || "0s";
  return `${milliseconds < 0 ? "-" : "+"}${text}`;
}
