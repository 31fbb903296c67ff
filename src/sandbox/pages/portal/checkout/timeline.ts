import { iso } from "../../../../core/clock.ts";
import type { DeliveryLine } from "../../../../core/explain/delivery.ts";
import type { StoryEntry } from "../../../../core/explain/explanation.ts";
import { storyLines, type StoryLine } from "../../../../core/explain/timeline.ts";
import { html, type Html } from "../../../../web/html.ts";
import { tagOf } from "../../../../web/language.ts";
import { copyable, moment } from "../parts.ts";
import type { ReadCheckout } from "../../../explain/explain.ts";
import type { PortalContext, View } from "../view.ts";
import { eventMore, requestMore, tryMore, type Tried } from "./details.ts";
import { TEXTS } from "./texts.ts";

/** How many lines a page shows, the last ones, each with its bytes folded: `checkout explain` tells all. */
const MAX_LINES = 60;

/** What a page of a story is made from. */
type Telling = { readonly told: ReadCheckout; readonly command: string };

/** A story with what its lines are looked up in, each of them many times. */
type Indexed = {
  /** Called for each line from top to bottom. */
  readonly dayAt: (entry: StoryEntry) => Html;
  readonly told: ReadCheckout;
  /** The tries of all deliveries, by `tryKey`. */
  readonly tries: ReadonlyMap<string, Tried>;
  /** The position of the first request of each id. */
  readonly firstPositions: ReadonlyMap<string, number>;
};

/** The story, line for line as `checkout explain` has it. Each line has an address, and folds out. */
export function timeline(context: PortalContext, view: View, { told, command }: Telling): Html {
  const { shown, left } = lastLines(storyLines(told.story));
  const indexed = indexOf(told);
  const cut = left === 0 ? "" : html`<p class="hint">${TEXTS.earlier(left)} ${copyable(command)}</p>`;
  return html`<section>
    <h2 id="story">${TEXTS.story}</h2>
    ${cut}
    <ol class="story" lang="en" aria-labelledby="story">
      ${shown.map((line) => shownLine(context, view, { line, indexed }))}
    </ol>
  </section>`;
}

function indexOf(told: ReadCheckout): Indexed {
  const { deliveries, requests } = told.story;
  const tries = deliveries.flatMap((delivery) =>
    delivery.tries.map((attempt) => [tryKey(delivery.id, attempt.number), { delivery, attempt }] as const),
  );
  const positions = requests.map(({ requestId, position }) => [requestId, position] as const);
  // Of two with one key a map keeps the last.
  return { dayAt: dayMarks(), told, tries: new Map(tries), firstPositions: new Map(positions.toReversed()) };
}

function tryKey(deliveryId: string, number: number | "next"): string {
  return `delivery-${deliveryId}-${number}`;
}

/** The last lines, as far as a page shows them, and how many there are before them. */
function lastLines(lines: readonly StoryLine[]): {
  readonly shown: readonly StoryLine[];
  readonly left: number;
} {
  let [room, at] = [MAX_LINES, lines.length];
  while (at > 0 && room > 0) {
    at -= 1;
    room -= 1 + (lines[at]?.under.length ?? 0);
  }
  const left = lines.slice(0, at).reduce((sum, { under }) => sum + 1 + under.length, 0);
  return { shown: lines.slice(at), left };
}

/** The day above a line that is of another one than the line before it; the script makes those of the browser's zone. */
function dayMarks(): (entry: StoryEntry) => Html {
  let before = "";
  return ({ at }) => {
    const day = iso(at).slice(0, 10);
    const isNew = day !== before;
    before = day;
    return isNew ? html`<li class="day">${day}</li>` : html``;
  };
}

function shownLine(
  context: PortalContext,
  view: View,
  { line, indexed }: { readonly line: StoryLine; readonly indexed: Indexed },
): Html {
  const { entry, request, event, under } = line;
  const { checkout } = indexed.told;
  const day = indexed.dayAt(entry);
  const details =
    request !== undefined
      ? requestMore(view, request, checkout)
      : event !== undefined
        ? eventMore(context, view, { event, checkout })
        : undefined;
  const below =
    under.length === 0
      ? ""
      : html`<ol class="under">
          ${under.map((one) => shownDelivery(context, view, { line: one, indexed }))}
        </ol>`;
  const anchor = anchorOf(entry, indexed, request?.position);
  return html`${day}
    <li class="${entry.what} ${toneOf(entry)}" id="${anchor}">
      ${foldedOut({ entry, anchor }, details)} ${below}
    </li>`;
}

function shownDelivery(
  context: PortalContext,
  view: View,
  { line, indexed }: { readonly line: DeliveryLine; readonly indexed: Indexed },
): Html {
  const { entry, attempt } = line;
  const anchor = tryKey(entry.id ?? "", attempt?.number ?? "next");
  const tried = indexed.tries.get(anchor);
  const details = tried && tryMore(context, view, tried);
  return html`${indexed.dayAt(entry)}
    <li class="delivery ${toneOf(entry)}" id="${anchor}">${foldedOut({ entry, anchor }, details)}</li>`;
}

/** Its time is its link; a line of which there is more folds out. */
function foldedOut(
  { entry, anchor }: { readonly entry: StoryEntry; readonly anchor: string },
  details: Html | undefined,
): Html {
  const at = html`<a class="at" href="#${anchor}">${moment(entry.at)}</a>`;
  if (details === undefined)
    return html`${at}
      <div class="line">${words(entry)}</div>`;
  return html`${at}
    <details class="line">
      <summary>${words(entry)}</summary>
      <div class="more" lang="${tagOf}">${details}</div>
    </details>`;
}

/** The line as it is, with what it is about and its status in sight. */
function words({ text, status, what }: StoryEntry): Html {
  if (what === "event") return html`<strong>${text}</strong>`;
  const mark = status === null || status === 0 ? -1 : text.indexOf(`: ${status}`);
  if (mark < 0) return html`<span>${withCause(text)}</span>`;
  const rest = text.slice(mark + 2 + String(status).length);
  return html`<span
    >${text.slice(0, mark)}:
    <b class="s${String(status)[0] ?? ""}xx">${String(status)}</b>${withCause(rest)}</span
  >`;
}

/** The likely cause stands behind the rest in brackets. */
function withCause(text: string): Html {
  const [, told = text, cause = ""] = /^(.*) (\([^()]*\))$/s.exec(text) ?? [];
  return cause === "" ? html`${text}` : html`${told} <span class="cause">${cause}</span>`;
}

/**
 * Its address within the page. The lines of a payer have no id, and are named by their first words and their time; a
 * create that was answered again has the id of its first answer.
 */
function anchorOf(
  { what, id, at, text }: StoryEntry,
  { firstPositions }: Indexed,
  position: number | undefined,
): string {
  if (id === null) return `${(text.match(/[a-z\d]+/g) ?? []).slice(0, 4).join("-")}-${at}`;
  if (what !== "request") return `${what}-${id}`;
  return firstPositions.get(id) === position ? `request-${id}` : `request-${id}-${position ?? 0}`;
}

function toneOf({ what, text, status }: StoryEntry): string {
  if (what === "event") return text.split(".").at(-1) ?? "";
  if (status === null) return "";
  return status >= 200 && status < 300 ? "good" : "bad";
}
