import type { ListNews, View } from "../view.ts";

/** The parameter with which a list that is looked at again says how far it was seen. */
export const SEEN = "seen";

/** What is new in a list whose rows have these places, newest first; `rows` are the ids of those that change. */
export function newsOf(
  { query }: Pick<View, "query">,
  places: readonly number[],
  rows: readonly string[] = [],
): ListNews {
  const seen = query.get(SEEN);
  const count = seen === null ? 0 : places.filter((place) => place > Number(seen)).length;
  return { newest: places[0] ?? 0, count, rows };
}
