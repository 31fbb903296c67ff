/** What a payer's browser did with the page of a checkout. */
export const PAGE_VIEWS = ["opened", "returned"] as const;
type PageViewKind = (typeof PAGE_VIEWS)[number];

/** A page of a checkout that was opened, or left for the shop. It says nothing about the payment (decision 19). */
export type PageView = {
  readonly kind: PageViewKind;
  /** Milliseconds by the store's clock. */
  readonly at: number;
  /** Where the browser went, without the ids; null where it came. */
  readonly target: string | null;
};

/** How many views of each kind are kept of a checkout, the first ones: nobody fills the disk by asking for a page. */
export const MAX_PAGE_VIEWS = 20;
/** Views of one kind that are nearer to each other than this are one. */
export const ONE_VIEW_MS = 60_000;
