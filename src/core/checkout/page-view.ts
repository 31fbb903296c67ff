export const PAGE_VIEWS = ["opened", "returned"] as const;

/** A visit to the page of a checkout, or a departure to the shop. It says nothing about the payment (decision 19). */
export type PageView = {
  readonly kind: (typeof PAGE_VIEWS)[number];
  /** Milliseconds by the store's clock. */
  readonly at: number;
  /** The address that the browser went to, without the ids; null for a visit. */
  readonly target: string | null;
};

/** Maximum number of views of a kind for a checkout; later views are dropped, so that requests cannot fill the disk. */
export const MAX_PAGE_VIEWS = 20;
/** Views of one kind within this time of each other count as one, in milliseconds. */
export const VIEW_INTERVAL_MS = 60_000;
