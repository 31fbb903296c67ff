import type { PortalSession } from "../../../runtime/portal-access.ts";
import type { LivePosition, LiveTopic } from "../view.ts";

/** What an open page is told. */
export type News =
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
  checkouts: "written",
  requests: "told",
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
  return `${position.epoch}-${countFor(kind, position)}`;
}

/** Reads the number of such a position; undefined for one of another epoch. */
export function readSince(since: string, { epoch }: Pick<LivePosition, "epoch">): number | undefined {
  const [, ofEpoch, count] = /^(\d+)-(\d+)$/.exec(since) ?? [];
  return Number(ofEpoch) === epoch ? Number(count) : undefined;
}
