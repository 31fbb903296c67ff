export const PAGE_VIEWS = ["opened", "returned"] as const;

/** Proves nothing about the payment (decision 19). */
export type PageView = {
  readonly kind: (typeof PAGE_VIEWS)[number];
  /** In milliseconds by the store's clock. */
  readonly at: number;
  /** The return address without the ids; null for `opened`. */
  readonly target: string | null;
};

/** The limit for each kind and checkout. Later views are dropped, so that requests cannot fill the disk. */
export const MAX_PAGE_VIEWS = 20;
/** Views of one kind within this time count as one. */
export const VIEW_INTERVAL_MS = 60_000;
