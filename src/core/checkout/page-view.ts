export const PAGE_VIEWS = ["opened", "returned"] as const;

/** Says nothing about the payment (decision 19). */
export type PageView = {
  readonly kind: (typeof PAGE_VIEWS)[number];
  /** Milliseconds by the store's clock. */
  readonly at: number;
  /** The address that the browser went to, without the ids; null for a visit. */
  readonly target: string | null;
};

/** Per kind and checkout. Later views are dropped, so that requests cannot fill the disk. */
export const MAX_PAGE_VIEWS = 20;
/** Views of one kind within this time count as one. */
export const VIEW_INTERVAL_MS = 60_000;
