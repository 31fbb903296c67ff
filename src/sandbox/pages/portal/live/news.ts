import type { PortalSession } from "../../../runtime/portal-access.ts";
import type { LivePosition, LiveTopic } from "../view.ts";

/** What an open page is told. */
export type News =
  /** A list has this many new rows, or none, and what stands beside it may have changed. */
  | { readonly kind: "new"; readonly count: number }
  /** The page is another one since its position, by this many changes; `since` is its next position. */
  | { readonly kind: "changed"; readonly count: number; readonly since: string }
  /** What the page shows is gone. */
  | { readonly kind: "reload" }
  /** Another page of the same browser takes its place for a while. */
  | { readonly kind: "crowded" }
  | { readonly kind: "end"; readonly why: "stopped" | "signed_out" | "gone" };

/** An open page that is told. */
export type Follower = {
  readonly session: PortalSession;
  /** The position that the page carries. */
  readonly since: string;
  readonly hear: (news: News) => void;
  /** Says that the stream is still there. */
  readonly beat: () => void;
};

/** The position of each kind of page. */
const COUNTS = {
  checkouts: "created",
  requests: "logged",
  checkout: "told",
  delivery: "told",
  webhooks: "written",
  store: "told",
} as const satisfies Record<LiveTopic["kind"], keyof LivePosition>;

/** The number of a position that counts for a kind of page. */
export function countFor(kind: LiveTopic["kind"], position: LivePosition): number {
  return position[COUNTS[kind]];
}

/** The position of a page of this kind as its address has it. */
export function sinceOf(kind: LiveTopic["kind"], position: LivePosition): string {
  return `${position.epoch}-${countFor(kind, position)}-${position.written}`;
}

/** Reads such a position: the number for its kind of page, and of what was written; undefined for one of another epoch. */
export function readSince(
  since: string,
  { epoch }: Pick<LivePosition, "epoch">,
): { readonly count: number; readonly written: number } | undefined {
  const [, ofEpoch, count, written] = /^(\d+)-(\d+)-(\d+)$/.exec(since) ?? [];
  return Number(ofEpoch) === epoch ? { count: Number(count), written: Number(written) } : undefined;
}
