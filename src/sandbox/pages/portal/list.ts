import { accept, mapValue, type Outcome } from "../../../core/outcome.ts";
import { html, type Html, type Text } from "../../../web/html.ts";
import { listUrl, storePath } from "./forms.ts";
import { SEEN_PARAMETER } from "./live/parts.ts";
import { linkButton, table, type TableRow } from "./parts.ts";
import { COMMON_TEXTS } from "./texts.ts";
import type { ListUpdates, LiveTopic, PageContent, View } from "./view.ts";
import { refuseFact } from "../../../core/refusals.ts";
import { printableLiteral } from "../../../core/text.ts";

export const PAGE_SIZE = 50;

/** Filters are part of the URL, so that a filtered list can be shared. */
type Filter = {
  readonly label: Text;
  readonly options?: readonly (string | readonly [value: string, text: Text])[];
  readonly placeholder?: string;
  readonly isWide?: boolean;
};

type Filters = Readonly<Record<string, Filter>>;

type ListQuery = Readonly<Partial<Record<string, string>>>;

type ListPart<Item> = {
  readonly items: readonly Item[];
  /** Cursor (`before`) of the next part; null at the end of the list. */
  readonly next: string | number | null;
  readonly extent?: Html;
  readonly nextSearch?: { readonly hint: Text; readonly label: Text } | undefined;
};

type List<Item> = {
  readonly title: Text;
  readonly liveTopic: LiveTopic;
  readonly path: `/${string}`;
  readonly caption?: Text;
  readonly filters?: Filters;
  readonly columns: (item: Item) => TableRow;
  readonly read: (query: ListQuery) => Outcome<ListPart<Item>> | Promise<Outcome<ListPart<Item>>>;
  readonly noRows: Html;
  readonly searchLink?: Html;
  readonly style?: string;
  readonly positionOf?: (item: Item) => number;
  readonly rowId?: (item: Item) => string;
  readonly wrap?: (list: Html) => Html;
};

export async function listPage<Item>(view: View, list: List<Item>): Promise<Outcome<PageContent>> {
  const { title, liveTopic, path, filters = {}, wrap = (content) => content } = list;
  const query = queryOf(view, [...Object.keys(filters), "before"]);
  return mapValue(await list.read(query), (part) => {
    const shownPart = { query, part };
    const content = html`${filterForm(storePath(view, path), filters, query)} ${part.extent ?? ""}
    ${rowsOf(view, list, shownPart)} ${pager(view, path, shownPart)}`;
    return { title, main: wrap(content), liveTopic, listUpdates: updatesOf(view, list, shownPart) };
  });
}

function queryOf(view: View, names: readonly string[]): ListQuery {
  const fields = names.map((name) => [name, view.query.get(name)?.trim() ?? ""] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== ""));
}

function filterForm(address: string, filters: Filters, query: ListQuery): Html {
  const names = Object.keys(filters);
  if (names.length === 0) return html``;
  return html`<form method="get" action="${address}" class="filters">
    ${Object.entries(filters).map(([name, filter]) => filterField(name, filter, query[name] ?? ""))}
    <button type="submit">${COMMON_TEXTS.filter}</button>
    ${names.some((name) => query[name] !== undefined) ? html`<a href="${address}">${COMMON_TEXTS.clear}</a>` : ""}
  </form>`;
}

function filterField(
  name: string,
  { label, options, placeholder = "", isWide = false }: Filter,
  value: string,
): Html {
  if (options === undefined)
    return html`<label ${isWide ? html`class="wide"` : ""}>
      ${label}
      <input
        type="search"
        name="${name}"
        value="${value}"
        placeholder="${placeholder}"
        maxlength="512"
        autocomplete="off"
      />
    </label>`;
  const pairs = options.map((option) => (typeof option === "string" ? ([option, option] as const) : option));
  const shownPairs =
    value === "" || pairs.some(([option]) => option === value) ? pairs : [...pairs, [value, value] as const];
  return html`<label>
    ${label}
    <select name="${name}">
      <option value="">${COMMON_TEXTS.all}</option>
      ${shownPairs.map(([option, text]) => html`<option value="${option}" ${option === value ? html`selected` : ""}>${text}</option>`)}
    </select>
  </label>`;
}

type ShownPart<Item> = { readonly query: ListQuery; readonly part: ListPart<Item> };

function rowsOf<Item>(view: View, list: List<Item>, { query, part: { items, next } }: ShownPart<Item>): Html {
  const { path, title, caption = title, style = path.slice(1), searchLink = html`` } = list;
  if (items.length > 0) {
    const rows = table({ caption, isLinked: true, idOf: list.rowId }, items, list.columns);
    return html`<div class="${style}">${rows}</div>`;
  }
  if (next === null && Object.keys(query).length === 0) return list.noRows;
  return html`<p class="hint">${COMMON_TEXTS.noMatch}</p>
    <p>${linkButton(storePath(view, path), COMMON_TEXTS.showAll, "plain")}</p>
    ${searchLink}`;
}

function pager<Item>(view: View, path: string, { query, part: { next, nextSearch } }: ShownPart<Item>): Html {
  const isFirst = query["before"] === undefined;
  if (isFirst && next === null) return html``;
  const address = (cursor: string | null): string => listUrl(view, path, { ...query, before: cursor });
  return html`<nav class="pager" aria-label="${COMMON_TEXTS.pages}">
    ${nextSearch === undefined ? "" : html`<span class="hint">${nextSearch.hint}</span>`}
    ${isFirst ? "" : html`<a class="plain" href="${address(null)}">${COMMON_TEXTS.newest}</a>`}
    ${next === null ? "" : html`<a href="${address(String(next))}" rel="next" class="plain">${nextSearch?.label ?? COMMON_TEXTS.older}</a>`}
  </nav>`;
}

function updatesOf<Item>(
  { query }: Pick<View, "query">,
  { positionOf, rowId }: List<Item>,
  { part: { items } }: ShownPart<Item>,
): ListUpdates | undefined {
  if (positionOf === undefined) return undefined;
  const seenPosition = query.get(SEEN_PARAMETER);
  const [newestItem] = items;
  // Counted only for polls, because each row costs a look-up of its position.
  const count =
    seenPosition === null ? 0 : items.filter((item) => positionOf(item) > Number(seenPosition)).length;
  const rowIds = rowId === undefined ? [] : items.map(rowId);
  return { newestPosition: newestItem === undefined ? 0 : positionOf(newestItem), count, rowIds };
}

export function parsePosition({ before }: ListQuery): Outcome<number | undefined> {
  if (before === undefined) return accept(undefined);
  if (/^\d{1,15}$/.test(before)) return accept(Number(before));
  return refuseFact("list_position", { received: printableLiteral(before) });
}
