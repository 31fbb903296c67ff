import { toIso } from "../../../../core/clock.ts";
import { decodeRequest } from "../../../../core/control/operations.ts";
import { accept, addField, mapValue, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import { storeTime } from "../../../with-store.ts";
import { inputField } from "../fields.ts";
import { actionForm, storePath, typedValues } from "../forms.ts";
import { momentWithDate, factList, linkTo, section, table, type Facts, type TableRow } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { isMoving, movePart } from "./clock-move.ts";
import { dueItemsUntil, MAX_PENDING_ITEMS, type PendingItem, type PendingItems } from "./due.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { CLOCK_TEXTS as TEXTS } from "./texts.ts";
import { parseSpan } from "../../../../core/duration.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { printableLiteral } from "../../../../core/text.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SPANS = ["1m", "10m", "1h", "6h", "1d", "7d"] as const;
/** Maximum number of due items listed. */
const MAX_ITEMS = 25;

/** The store's clock, and the items that will be due within a day. */
export async function clockPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const now = storeTime(context, view.storeId);
  const dueItems = dueItemsUntil(context, view.storeId, { until: now + DAY_MS });
  const isBusy = isMoving(context, view);
  const main = html`${movePart(context, view, now)}
    <p id="moving" class="notice" role="status" hidden>${TEXTS.moving}</p>
    ${clockPanel(context, view, { now, isBusy })} ${moveForms(view, { now, isBusy })}
    ${dueSection(view, dueItems, now)}`;
  return Promise.resolve(accept({ title: FRAME_TEXTS.clock, main, liveTopic: "store" }));
}

/** Parses a form of the clock. Refuses an invalid span. */
export function parseClockForm(fields: ReadonlyMap<string, string>): Outcome<unknown> {
  const action = fields.get("action") ?? "";
  if (action === "set")
    return mapValue(parseMoment((fields.get("to") ?? "").trim()), (to) => ({ action, to }));
  if (action !== "advance") return accept({ action });
  const span = addField("by", parseSpan((fields.get("by") ?? "").trim()));
  return mapValue(span, (ms) => ({ action, by_ms: ms }));
}

/** Parses a time as the user typed it; also refuses a day that does not exist. */
function parseMoment(text: string): Outcome<string> {
  const hasMomentForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (hasMomentForm && decodeRequest("moveClock", { action: "set", to: text }).ok) return accept(text);
  return addField("to", refuseFact("moment_form", { received: printableLiteral(text) }));
}

/** The store's time, and whether a move is in progress, which makes another move impossible. */
type ClockState = { readonly now: number; readonly isBusy: boolean };

function clockPanel({ store, world }: PortalContext, view: View, { now, isBusy }: ClockState): Html {
  const clock = store.clocks.of(view.storeId);
  const isFrozen = clock !== undefined && clock.frozenAt !== null;
  const isReal = !isFrozen && (clock?.offsetMs ?? 0) === 0;
  const badge = isFrozen
    ? html`<span class="badge warn">${FRAME_TEXTS.frozen}</span>`
    : html`<span class="badge">${isReal ? TEXTS.real : FRAME_TEXTS.moved}</span>`;
  const realNow = world.now();
  const facts: Facts = [
    [TEXTS.now, html`<span class="row">${momentWithDate(now)} ${badge}</span>`],
    isReal ? null : [TEXTS.realNow, momentWithDate(realNow)],
    isReal ? null : [TEXTS.difference, TEXTS.apart(spanText(now - realNow))],
  ];
  return html`<section class="panel">
    ${factList(facts)}
    <div class="actions">
      ${isFrozen ? "" : moveForm(view, TEXTS.freeze, { action: "freeze" }, { isBusy })}
      ${isReal ? "" : moveForm(view, TEXTS.toReal, { action: "real" }, { isBusy })}
    </div>
  </section>`;
}

function moveForms(view: View, { now, isBusy }: ClockState): Html {
  const action = storePath(view, "/clock");
  if (!view.may("POST", action)) return html``;
  const typedSpan = typedValues(view, action, { action: "advance" });
  const typedMoment = typedValues(view, action, { action: "set" });
  return html`<section class="panel">
    <h2>${TEXTS.advance}</h2>
    <p class="hint">${TEXTS.advanceHint}</p>
    <div class="actions">
      ${SPANS.map((step) => moveForm(view, `+${step}`, { action: "advance", by: step }, { isBusy }))}
    </div>
    <div class="actions">
      ${moveForm(
        view,
        TEXTS.advanceNow,
        { action: "advance" },
        {
          isBusy,
          content: inputField(TEXTS.span, "by", {
            required: true,
            placeholder: "31m",
            hint: TEXTS.spanHint,
            typedForm: typedSpan,
          }),
        },
      )}
      ${moveForm(
        view,
        TEXTS.setNow,
        { action: "set" },
        {
          isBusy,
          content: inputField(TEXTS.moment, "to", {
            required: true,
            value: `${toIso(now + HOUR_MS).slice(0, 19)}Z`,
            hint: TEXTS.momentHint,
            typedForm: typedMoment,
          }),
        },
      )}
    </div>
  </section>`;
}

function moveForm(
  view: View,
  label: Text,
  fields: Readonly<Record<string, string>>,
  { isBusy, content = html`` }: Pick<ClockState, "isBusy"> & { readonly content?: Html },
): Html {
  return actionForm(view, { action: storePath(view, "/clock"), label, fields, content, isDisabled: isBusy });
}

function dueSection(view: View, { items, hasMore }: PendingItems, now: number): Html {
  const hourCount = items.filter(({ at }) => at <= now + HOUR_MS).length;
  const countText = (total: number): string =>
    hasMore && total === items.length ? `${Math.min(total, MAX_PENDING_ITEMS - 1)}+` : String(total);
  const list = table(COMMON_TEXTS.due, items.slice(0, MAX_ITEMS), (dueItem) => dueRow(view, dueItem, now), {
    isLinked: true,
  });
  const moreNote = items.length > MAX_ITEMS ? html`<p class="hint">${TEXTS.listed(MAX_ITEMS)}</p>` : html``;
  const counts = html`<p>${TEXTS.counts(countText(hourCount), countText(items.length))}</p>`;
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

/** Formats a duration with its sign, in its two largest units, such as `+1h 5m`. */
function spanText(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const index = parts.findIndex(([count]) => count > 0);
  const zeroText = index === -1 ? "0s" : "";
  const twoParts = parts.slice(Math.max(index, 0), index + 2).filter(([count]) => count > 0);
  const text = zeroText || twoParts.map(([count, unit]) => `${count}${unit}`).join(" ");
  return milliseconds < 0 ? `-${text}` : `+${text}`;
}
