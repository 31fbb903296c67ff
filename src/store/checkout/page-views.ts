import { MAX_PAGE_VIEWS, VIEW_INTERVAL_MS, type PageView } from "../../core/checkout/page-view.ts";
import type { Connection } from "../connection/connection.ts";

export const PAGE_VIEWS_DDL = `
CREATE TABLE page_views (
  checkout_id TEXT NOT NULL REFERENCES checkouts (id),
  kind        TEXT NOT NULL CHECK (kind IN ('opened', 'returned')),
  number      INTEGER NOT NULL CHECK (number BETWEEN 1 AND 20),
  at          INTEGER NOT NULL,
  target      TEXT CHECK (length(CAST(target AS BLOB)) <= 1024),
  PRIMARY KEY (checkout_id, kind, number),
  CHECK ((kind = 'returned') = (target IS NOT NULL))
) STRICT, WITHOUT ROWID;
`;

export function pageViewsTable(connection: Connection) {
  const statements = {
    insert: connection.prepare<
      PageView & { readonly checkoutId: string; readonly maxViews: number; readonly minGapMs: number }
    >(
      `INSERT INTO page_views (checkout_id, kind, number, at, target)
       SELECT @checkoutId, @kind, ifnull(max(number), 0) + 1, @at, @target FROM page_views
       WHERE checkout_id = @checkoutId AND kind = @kind
       HAVING ifnull(max(number), 0) < @maxViews AND ifnull(max(at) <= @at - @minGapMs, 1)`,
    ),
    select: connection.prepare<[string], PageView>(
      "SELECT kind, at, target FROM page_views WHERE checkout_id = ? ORDER BY kind, number",
    ),
  };

  return {
    /**
     * Returns false, and stores nothing, if the last view of this kind is newer than `VIEW_INTERVAL_MS`, or if
     * `MAX_PAGE_VIEWS` views of this kind are stored.
     */
    keep: (checkoutId: string, view: PageView): boolean =>
      statements.insert.run({ ...view, checkoutId, maxViews: MAX_PAGE_VIEWS, minGapMs: VIEW_INTERVAL_MS })
        .changes > 0,

    of: (checkoutId: string): PageView[] => statements.select.all(checkoutId),
  };
}
