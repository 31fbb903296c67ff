import type { Status } from "../../../core/checkout/checkout.ts";
import type { Price } from "../../../core/checkout/shapes.ts";
import { toIso } from "../../../core/clock.ts";
import { ageText } from "../../../core/explain/last.ts";
import { parseJson } from "../../../core/json.ts";
import { inBothLanguages } from "../../../core/language.ts";
import { formatPrice } from "../../../core/money.ts";
import { displayText } from "../../../core/text.ts";
import { html, trustMarkup, type Html, type Text } from "../../../web/html.ts";
import { languageTagOf } from "../../../web/language.ts";
import { COMMON_TEXTS } from "./texts.ts";

export function momentHtml(time: number): Html {
  const isoText = toIso(time);
  return html`<time datetime="${isoText}" title="${isoText}">${timeIn(isoText)}</time>`;
}

export function momentWithDate(time: number): Html {
  const isoText = toIso(time);
  return html`<time datetime="${isoText}" title="${isoText}" data-dated>${dayAndTimeIn(isoText)}</time>`;
}

export function textWithMoments(text: string, showMoment: (at: number) => Html = momentWithDate): Html {
  const parts = text.split(MOMENT_PATTERN);
  return html`${parts.map((part, index) => (index % 2 === 1 ? showMoment(Date.parse(part)) : html`${part}`))}`;
}

const MOMENT_PATTERN = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/;

function timeIn(isoText: string): string {
  return isoText.slice(11, 23);
}

function dayAndTimeIn(isoText: string): string {
  return `${isoText.slice(0, 10)} ${isoText.slice(11, 19)}`;
}

export function amountHtml({ amountMinor, currency }: Pick<Price, "amountMinor" | "currency">): Html {
  return html`<span class="amount"
    >${(language) => formatPrice(amountMinor, currency, languageTagOf(language))}</span
  >`;
}

export function statusBadge(status: Status): Html {
  return html`<span class="badge ${status}">${COMMON_TEXTS.statuses[status]}</span>`;
}

export function httpStatusBadge(status: number | null): Html {
  const kind = status === null || status === 0 ? "none" : `s${Math.floor(status / 100)}xx`;
  const text = status === null || status === 0 ? COMMON_TEXTS.noAnswer : String(status);
  return html`<span class="badge ${kind}">${text}</span>`;
}

export function goodOrNeutralBadge(isGood: boolean, goodText: Text, otherText: Text): Html {
  return isGood
    ? html`<span class="badge good">${goodText}</span>`
    : html`<span class="badge">${otherText}</span>`;
}

export function goodOrBadBadge(isGood: boolean, goodText: Text, badText: Text): Html {
  return html`<span class="badge ${isGood ? "good" : "bad"}">${isGood ? goodText : badText}</span>`;
}

export function copyableText(text: string): Html {
  return html`<code class="copy">${text}</code>`;
}

type Cell = readonly [column: Text, value: Text | readonly Html[], ...kinds: readonly CellKind[]];

type CellKind = "head" | "named" | "english" | "number" | "whole";

export type TableRow = readonly Cell[];

export function table<Item>(
  options: {
    readonly caption: Text;
    readonly noRows?: Html;
    readonly isLinked?: boolean;
    readonly idOf?: ((item: Item) => string) | undefined;
  },
  items: readonly Item[],
  cellsOf: (item: Item) => TableRow,
): Html {
  const { caption, noRows = html``, isLinked = false, idOf } = options;
  const rows = items.map((item) => ({ cells: cellsOf(item), id: idOf?.(item) }));
  const [firstRow] = rows;
  if (firstRow === undefined) return noRows;
  const attributes = (id: string | undefined): readonly Html[] => [
    isLinked ? html` data-row` : html``,
    id === undefined ? html`` : html` id="${id}"`,
  ];
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption class="visually-hidden">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${firstRow.cells.map(([column]) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(({ cells, id }) => html`<tr${attributes(id)}>${cells.map(tableCell)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

function tableCell([column, value, ...kinds]: Cell): Html {
  const style = kinds.find((candidate) => candidate === "number" || candidate === "whole");
  const attributes = [
    style === undefined ? html`` : html` class="${style}"`,
    kinds.includes("english") ? html` lang="en"` : html``,
  ];
  const shownValue = kinds.includes("named") ? labelledValue(column, html`${value}`) : value;
  return kinds.includes("head")
    ? html`<th scope="row" ${attributes}>${shownValue}</th>`
    : html`<td ${attributes}>${shownValue}</td>`;
}

export function labelledValue(name: Text, value: Text): Html {
  return html`<span data-name="${name}">${value}</span>`;
}

export function linkTo(address: string, text: Text): Html {
  return html`<a href="${address}">${typeof text === "string" ? displayText(text) : text}</a>`;
}

export function moreItemsLink(address: string, label: Text): Html {
  return html`<a href="${address}" rel="next">${label}</a>`;
}

export function section(title: Text, content: Html, moreContent: Html | "" = ""): Html {
  return html`<section>
    <h2>${title}</h2>
    ${content} ${moreContent}
  </section>`;
}

export function emptyListHtml(words: Text, command: string, button?: Html): Html {
  return html`<div class="empty">
    <p>${words}</p>
    ${button ?? ""}
    <p>${copyableText(command)}</p>
  </div>`;
}

export function linkButton(address: string, label: Text, style: "primary" | "plain" = "primary"): Html {
  return html`<a class="${style}" href="${address}">${label}</a>`;
}

export type FactRows = readonly (readonly [name: Text, value: Text] | null | undefined)[];

export function factList(facts: FactRows): Html {
  return html`<dl class="facts">
    ${facts
      .filter((fact) => fact !== null && fact !== undefined)
      .map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
  </dl>`;
}

export function bodyFigure(label: Text, text: string): Html {
  const prettyText = prettyJson(text);
  if (prettyText === undefined || prettyText === text)
    return html`<figure class="bytes">
      <figcaption>${label}</figcaption>
      ${copyableBlock(text)}
    </figure>`;
  return html`<figure class="bytes beside">
    <figcaption>${label}</figcaption>
    <div>
      <small>${COMMON_TEXTS.pretty}</small>
      ${copyableBlock(prettyText)}
    </div>
    <div>
      <small>${COMMON_TEXTS.asSent}</small>
      ${copyableBlock(text)}
    </div>
  </figure>`;
}

function copyableBlock(text: string): Html {
  return html`<pre class="sent" tabindex="0"><code class="copy">${keepLineBreaks(text)}</code></pre>`;
}

export function commandLine(label: Text, line: string, hint?: Text): Html {
  return html`<figure class="bytes command">
    <figcaption>${label}</figcaption>
    <pre tabindex="0">${copyableText(line)}</pre>
    ${hint === undefined ? "" : html`<p class="hint">${hint}</p>`}
  </figure>`;
}

export function keepLineBreaks(text: string): Html {
  return html`${text.split("\n").map((line, index) => (index === 0 ? html`${line}` : html`${LINE_BREAK}${line}`))}`;
}

const LINE_BREAK = trustMarkup("\n");

/** Each level adds indentation: without this limit, 4 KiB of nested brackets would become 8 MB. */
const MAX_PRETTY_DEPTH = 32;

function prettyJson(text: string): string | undefined {
  // A page with many texts that are not JSON would otherwise spend a tenth of its time on parsing errors.
  if (!/^\s*[[{]/.test(text)) return undefined;
  const value = parseJson(text);
  const canFormat = typeof value === "object" && depthOf(value) <= MAX_PRETTY_DEPTH;
  return canFormat ? JSON.stringify(value, null, 2) : undefined;
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Omits the date if it is today in UTC. The script adapts the time to the browser's time zone. */
export function shortTimeHtml(time: number, now: number): Html {
  const [isoText, today] = [toIso(time), toIso(now)];
  const shownTime = isoText.slice(0, 10) === today.slice(0, 10) ? timeIn(isoText) : dayAndTimeIn(isoText);
  return html`<time datetime="${isoText}" title="${isoText}" data-now="${today}">${shownTime}</time>`;
}

export function ageHtml(at: number, now: number): Html {
  // Not a time element, because the script would replace the age with the moment.
  return html`<span class="ago" title="${toIso(at)}"
    >${inBothLanguages((say) => ageText(now - at, say))}</span
  >`;
}
