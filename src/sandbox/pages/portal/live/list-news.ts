import type { ListNews, View } from "../view.ts";

/** The parameter with which a list that is looked at again says how far it was seen. */
export const SEEN = "seen";

/** What is new in a list that shows these, newest first; `rows` are the ids of rows that change. */
export function newsOf<Item>(
  { query }: Pick<View, "query">,
  shown: readonly Item[],
  { placeOf, rows = [] }: { readonly placeOf: (item: Item) => number; readonly rows?: readonly string[] },
): ListNews {
  const seen = query.get(SEEN);
  const [newest] = shown;
  // Only a page that asks again is told how many, and looks each place up.
  const count = seen === null ? 0 : shown.filter((item) => placeOf(item) > Number(seen)).length;
  return { newest: newest === undefined ? 0 : placeOf(newest), count, rows };
}
