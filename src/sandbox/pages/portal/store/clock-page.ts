import { iso } from "../../../../core/clock.ts";
import { parseSpan } from "../../../../core/config/setting-text.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { accept, mapped, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { storeTime } from "../../../at-store.ts";
import { field } from "../fields.ts";
import { actForm, storePath } from "../forms.ts";
import { dated, facts, inWords, table } from "../parts.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { dueUntil, MAX_DUE, type Due, type DueList } from "./due.ts";
import { STORE_TEXTS } from "./texts.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The spans that have a button of their own. */
const SPANS = ["1m", "10m", "1h", "6h", "1d", "7d"] as const;
/** How many of the due things are listed, and how many that a move has done. */
const MAX_LISTED = 25;

/** The store's clock, and what falls due when it is moved. */
export async function clockPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const texts = STORE_TEXTS[view.language].clock;
  const now = storeTime(context, view.storeId);
  const due = dueUntil(context, view.storeId, now + DAY_MS);
  const main = html`${happened(view)} ${state(context, view, now)} ${moves(view, now)}
  ${preview(view, due, now)}`;
  return Promise.resolve(accept({ title: texts.title, main, live: { kind: "store" } }));
}

/** What a form of the clock says. Refuses a span that is none. */
export function readMove(fields: ReadonlyMap<string, string>): Outcome<unknown> {
  const action = fields.get("action") ?? "";
  if (action === "set") return accept({ action, to: (fields.get("to") ?? "").trim() });
  if (action !== "advance") return accept({ action });
  return mapped(parseSpan((fields.get("by") ?? "").trim()), (ms) => ({ action, by_ms: ms }));
}

/** What a move has done on the way, a line for each thing; the page of the clock shows it once. */
export function movedLines({ fired, delivered, undelivered }: AnswerOf<"moveClock">): string {
  const changes = fired.map(({ at, orderId, from, to }) => `${iso(at)} ${orderId} ${from} → ${to}`);
  const tries = delivered.map(
    ({ at, type, endpointId, status, error }) =>
      `${iso(at)} ${type} → …${endpointId.slice(-8)} ${status ?? error ?? ""}`,
  );
  const all = [...changes, ...tries].toSorted();
  const left = undelivered === 0 ? [] : [`${undelivered} due deliveries are not finished yet`];
  const more = all.length > MAX_LISTED ? [`… ${all.length - MAX_LISTED} more`] : [];
  return [...all.slice(0, MAX_LISTED), ...more, ...left].join("\n");
}

function happened({ language, shownOnce }: View): Html {
  if (shownOnce === undefined) return html``;
  const texts = STORE_TEXTS[language].clock;
  const lines = shownOnce.split("\n").filter(Boolean);
  return html`<div class="notice good" role="status">
    <strong>${lines.length === 0 ? texts.nothingHappened : texts.happened}</strong>
    <ul class="moved">
      ${lines.map((line) => html`<li><code>${inWords(line)}</code></li>`)}
    </ul>
  </div>`;
}

function state({ store, world }: PortalContext, view: View, now: number): Html {
  const texts = STORE_TEXTS[view.language].clock;
  const clock = store.clocks.of(view.storeId);
  const isFrozen = clock !== undefined && clock.frozenAt !== null;
  const isReal = !isFrozen && (clock?.offsetMs ?? 0) === 0;
  const kind = isFrozen
    ? html`<span class="badge warn">${texts.frozen}</span>`
    : html`<span class="badge">${isReal ? texts.real : texts.moved}</span>`;
  const realNow = world.now();
  const pairs: (readonly [string, Html | string])[] = [
    [texts.now, html`<span class="row">${dated(now)} ${kind}</span>`],
    ...(isReal ? [] : [[texts.realNow, dated(realNow)] as const]),
    ...(isReal ? [] : [[texts.difference, texts.apart(spanText(now - realNow))] as const]),
  ];
  return html`<section class="panel">
    ${facts(pairs)}
    <div class="actions">
      ${isFrozen ? "" : moveForm(view, texts.freeze, { action: "freeze" })}
      ${isReal ? "" : moveForm(view, texts.toReal, { action: "real" })}
    </div>
  </section>`;
}

function moves(view: View, now: number): Html {
  const texts = STORE_TEXTS[view.language].clock;
  return html`<section class="panel">
    <h2>${texts.advance}</h2>
    <p class="hint">${texts.advanceHint}</p>
    <div class="actions">${SPANS.map((by) => moveForm(view, `+${by}`, { action: "advance", by }))}</div>
    <div class="actions">
      ${moveForm(
        view,
        texts.advanceNow,
        { action: "advance" },
        field(texts.span, "by", { required: true, placeholder: "31m", hint: texts.spanHint }),
      )}
      ${moveForm(
        view,
        texts.setNow,
        { action: "set" },
        field(texts.moment, "to", {
          required: true,
          value: `${iso(now + HOUR_MS).slice(0, 19)}Z`,
          hint: texts.momentHint,
        }),
      )}
    </div>
  </section>`;
}

function moveForm(
  view: View,
  label: string,
  fields: Readonly<Record<string, string>>,
  content: Html = html``,
): Html {
  return actForm(view, { action: storePath(view, "/clock"), label, fields, content });
}

function preview(view: View, { items, isMore }: DueList, now: number): Html {
  const texts = STORE_TEXTS[view.language].clock;
  const soon = items.filter(({ at }) => at <= now + HOUR_MS).length;
  const count = (known: number): string =>
    isMore && known === items.length ? `${Math.min(known, MAX_DUE - 1)}+` : String(known);
  const rows = items.slice(0, MAX_LISTED).map((due) => dueRow(view, due, now));
  const more = items.length > MAX_LISTED ? html`<p class="hint">${texts.listed(MAX_LISTED)}</p>` : html``;
  return html`<section>
    <h2>${texts.due}</h2>
    <p>${texts.counts(count(soon), count(items.length))}</p>
    ${rows.length === 0 ? "" : table(texts.due, [texts.at, texts.in, texts.what, texts.of], rows)} ${more}
  </section>`;
}

function dueRow(view: View, { at, what, of, outcome, path }: Due, now: number): Html {
  const texts = STORE_TEXTS[view.language].clock;
  return html`<tr data-row>
    <td>${dated(at)}</td>
    <td>${at <= now ? texts.waiting : spanText(at - now)}</td>
    <td>${texts[what]}${outcome === "" ? "" : html` <code>${outcome}</code>`}</td>
    <th scope="row"><a href="${storePath(view, path)}">${of}</a></th>
  </tr>`;
}

/** A span in its two largest units, such as `1h 5m`; a minus is before one that is negative. */
function spanText(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = first === -1 ? "0s" : "";
  const two = parts.slice(Math.max(first, 0), first + 2).filter(([count]) => count > 0);
  const text = shown || two.map(([count, unit]) => `${count}${unit}`).join(" ");
  return milliseconds < 0 ? `-${text}` : `+${text}`;
}
