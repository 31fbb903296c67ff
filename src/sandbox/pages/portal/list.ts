import { accept, mapValue, refuse, type Outcome } from "../../../core/outcome.ts";
import { printableLiteral } from "../../../core/text.ts";
import { html, type Html, type Text } from "../../../web/html.ts";
import { listUrl, storePath } from "./forms.ts";
import { SEEN_PARAMETER } from "./live/parts.ts";
import { linkButton, table, type TableRow } from "./parts.ts";
import { COMMON_TEXTS } from "./texts.ts";
import type { ListUpdates, View } from "./view.ts";

/** A filter of a list. Its value is in the address, so that a filtered list can be shared. */
type Filter = {
  readonly name: string;
  readonly label: Text;
  /** The values to choose from, each with its text; another value of the address is added. Default: any text. */
  readonly options?: readonly (readonly [value: string, text: Text])[];
  readonly placeholder?: string;
  /** Whether a text field takes all the space that is left. */
  readonly isWide?: boolean;
};

/** The filled-in filters of an address, and the position `before` which this part of the list ends. */
export type ListQuery = Readonly<Partial<Record<string, string>>>;

/** A part of a list, newest first. */
export type ListPart<Item> = {
  readonly items: readonly Item[];
  /** The position before which the next part begins; null at the end of the list. */
  readonly next: string | number | null;
  /** What a search covered, above the rows. */
  readonly extent?: Html;
  /** The link to the next part, if a search stopped before this part was full. Default: the older rows. */
  readonly searchOn?: { readonly hint: Text; readonly label: Text } | undefined;
};

type List<Item> = {
  /** The page of the list, below the store. */
  readonly path: string;
  readonly caption: Text;
  readonly filters?: readonly Filter[];
  readonly columns: (item: Item) => TableRow;
  readonly read: (query: ListQuery) => Outcome<ListPart<Item>> | Promise<Outcome<ListPart<Item>>>;
  /** The content of the whole list while it is empty. */
  readonly none: Html;
  /** Another place to look, if nothing matches. */
  readonly elsewhere?: Html | "";
  readonly style: string;
  /** The position of a row in an open list; newer rows have higher positions. Default: new rows are not counted. */
  readonly positionOf?: (item: Item) => number;
  /** The id of a row that can change. Default: rows do not change. */
  readonly rowId?: (item: Item) => string;
};

/** A list with its filters, rows, and links to its other parts. Refuses what `read` refuses. */
export async function listPage<Item>(
  view: View,
  list: List<Item>,
): Promise<Outcome<{ readonly content: Html; readonly news: ListUpdates }>> {
  const { filters = [], caption, columns, style, none, elsewhere = "", rowId, positionOf = () => 0 } = list;
  const query = queryOf(view, [...filters.map(({ name }) => name), "before"]);
  const all = storePath(view, list.path);
  return mapValue(await list.read(query), (part) => {
    const { items, next, extent = "" } = part;
    const rows = rowId === undefined ? [] : items.map(rowId);
    const isWhole = next === null && Object.keys(query).length === 0;
    const nothing = html`<p class="hint">${COMMON_TEXTS.noMatch}</p>
      <p>${linkButton(all, COMMON_TEXTS.showAll, "plain")}</p>
      ${elsewhere}`;
    const shown =
      items.length > 0
        ? html`<div class="${style}">${table(caption, items, columns, { opens: true, ids: rows })}</div>`
        : isWhole
          ? none
          : nothing;
    const content = html`${filters.length === 0 ? "" : filterForm(all, filters, query)} ${extent} ${shown}
    ${pager(view, list.path, { query, part })}`;
    return { content, news: updatesOf(view, items, { positionOf, rows }) };
  });
}

/** The filled-in fields of the address; an empty field counts as missing. */
function queryOf(view: View, names: readonly string[]): ListQuery {
  const fields = names.map((name) => [name, view.query.get(name)?.trim() ?? ""] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== ""));
}

/** A form that only changes the address. */
function filterForm(all: string, filters: readonly Filter[], query: ListQuery): Html {
  return html`<form method="get" action="${all}" class="filters">
    ${filters.map((filter) => filterField(filter, query[filter.name] ?? ""))}
    <button type="submit">${COMMON_TEXTS.filter}</button>
    ${filters.some(({ name }) => query[name] !== undefined) ? html`<a href="${all}">${COMMON_TEXTS.clear}</a>` : ""}
  </form>`;
}

function filterField(
  { name, label, options, placeholder = "", isWide = false }: Filter,
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
  const known =
    value === "" || options.some(([one]) => one === value) ? options : [...options, [value, value] as const];
  return html`<label>
    ${label}
    <select name="${name}">
      <option value="">${COMMON_TEXTS.all}</option>
      ${known.map(([one, text]) => html`<option value="${one}" ${one === value ? html`selected` : ""}>${text}</option>`)}
    </select>
  </label>`;
}

function pager<Item>(
  view: View,
  path: string,
  { query, part: { next, searchOn } }: { readonly query: ListQuery; readonly part: ListPart<Item> },
): Html {
  const isFirst = query["before"] === undefined;
  if (isFirst && next === null) return html``;
  const address = (before: string | null): string => listUrl(view, path, { ...query, before });
  return html`<nav class="pager" aria-label="${COMMON_TEXTS.pages}">
    ${searchOn === undefined ? "" : html`<span class="hint">${searchOn.hint}</span>`}
    ${isFirst ? "" : html`<a class="plain" href="${address(null)}">${COMMON_TEXTS.newest}</a>`}
    ${next === null ? "" : html`<a href="${address(String(next))}" rel="next" class="plain">${searchOn?.label ?? COMMON_TEXTS.older}</a>`}
  </nav>`;
}

function updatesOf<Item>(
  { query }: Pick<View, "query">,
  shown: readonly Item[],
  { positionOf, rows }: { readonly positionOf: (item: Item) => number; readonly rows: readonly string[] },
): ListUpdates {
  const seen = query.get(SEEN_PARAMETER);
  const [newest] = shown;
  // Only a page that asks again gets the number, which needs a look-up of each position.
  const count = seen === null ? 0 : shown.filter((item) => positionOf(item) > Number(seen)).length;
  return { newest: newest === undefined ? 0 : positionOf(newest), count, rows };
}

/** The position `before` which a part of a list ends, if it is a number. Refuses others with `invalid_parameter`. */
export function parsePosition({ before }: ListQuery): Outcome<number | undefined> {
  if (before === undefined || /^\d{1,15}$/.test(before))
    return accept(before === undefined ? undefined : Number(before));
  return refuse("invalid_parameter", [
    `before must be a position in this list, a whole number; got ${printableLiteral(before)}`,
    `before 是此列表中的位置，即一个整数；收到 ${printableLiteral(before)}`,
  ]);
}
