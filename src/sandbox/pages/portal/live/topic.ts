// When open pages are notified, and how often. The counted changes: sandbox/pages/portal/live/watched.ts. The
// notifications come from `notify` of sandbox/runtime/write-signals.ts; the browser's part:
// sandbox/pages/portal/live/live.js.
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import type { World } from "../../../../world.ts";
import type { PortalSession } from "../../../runtime/portal-access.ts";
import type { LiveTopic, PortalContext } from "../view.ts";
import {
  countForPage,
  EVERY_REQUEST,
  EVERY_WRITE,
  NO_CHECKOUT,
  orderKey,
  parsePosition,
  formatPosition,
  type StoreWatch,
} from "./watched.ts";

/** A message to an open page. */
export type PageMessage =
  /** The page has changed since its position, by this number of changes; `since` is the next position. */
  | { readonly kind: "changed"; readonly count: number; readonly since: string }
  /** The page's data is gone. */
  | { readonly kind: "reload" }
  /** Another page of the same browser replaces this one for a while. */
  | { readonly kind: "crowded" }
  | { readonly kind: "end"; readonly why: "stopped" | "signed_out" | "gone" };

/** An open page that receives messages. */
export type Follower = {
  readonly session: PortalSession;
  /** The position of the page. */
  readonly since: string;
  readonly receive: (news: PageMessage) => void;
  /** Shows that the stream is still open. */
  readonly beat: () => void;
};

/** A topic of several open pages: each message is created once for all of them. */
export type TopicFeed = {
  readonly add: (follower: Follower) => void;
  /** Returns whether no follower is left. */
  readonly remove: (follower: Follower) => boolean;
  /** Sends a message to all followers. */
  readonly send: (news: PageMessage) => void;
  /** Sends a message to the pages of earlier epochs. */
  readonly sendToOlder: (news: PageMessage) => void;
};

/** Minimum time between two messages, in milliseconds: four messages per second. */
const PACE_MS = 250;
/**
 * Pause in milliseconds before a message, so that related changes share it: an event and the result of its delivery.
 */
const SETTLE_MS = 20;
/** Number of messages without a pause after which pages about the whole store update less often. */
const BUSY_AFTER = 4;
const BUSY_PACE_MS = 5000;

/** Refuses with `not_found` to follow a checkout or delivery that the store does not have. */
export function requireTopic(
  { store }: Pick<PortalContext, "store">,
  storeId: string,
  topic: LiveTopic,
): Outcome<void> {
  if (topic.kind === "checkout" && store.checkouts.find(storeId, topic.id) === undefined)
    return refuse("not_found", [`there is no checkout ${topic.id}`, `没有收款单 ${topic.id}`]);
  if (topic.kind === "delivery" && store.deliveries.find(topic.id)?.storeId !== storeId)
    return refuse("not_found", [`there is no delivery ${topic.id}`, `没有推送 ${topic.id}`]);
  return accept(undefined);
}

/** The keys whose changes concern a topic. */
export function watchedKeys(
  { store }: Pick<PortalContext, "store">,
  storeId: string,
  topic: LiveTopic,
): readonly string[] {
  switch (topic.kind) {
    case "checkout": {
      const checkout = store.checkouts.find(storeId, topic.id);
      return checkout === undefined ? [topic.id] : [topic.id, orderKey(checkout.orderId)];
    }
    case "delivery":
      return [store.deliveries.find(topic.id)?.checkoutId ?? NO_CHECKOUT];
    case "checkouts":
    case "webhooks":
      return [EVERY_WRITE];
    case "requests":
    case "store":
      return [EVERY_WRITE, EVERY_REQUEST];
  }
}

/** Creates a topic without followers. It has a timer only while a message is due. */
export function createTopicFeed(
  world: Pick<World, "monotonic" | "after">,
  watched: StoreWatch,
  { kind, keys }: { readonly kind: LiveTopic["kind"]; readonly keys: readonly string[] },
): TopicFeed {
  const followers = new Set<Follower>();
  let unsubscribers: readonly (() => void)[] = [];
  let touches = 0;
  let isArmed = false;
  let sentAt = Number.NEGATIVE_INFINITY;
  let burst = 0;

  const pace = (): number => (isWide(keys) && burst >= BUSY_AFTER ? BUSY_PACE_MS : PACE_MS);
  const touch = (): void => {
    touches += 1;
    if (isArmed) return;
    isArmed = true;
    world.after(Math.max(SETTLE_MS, sentAt + pace() - world.monotonic()), sendChanges);
  };
  const sendChanges = (): void => {
    const now = world.monotonic();
    burst = now - sentAt < pace() * 2 ? burst + 1 : 0;
    const count = touches;
    [isArmed, sentAt, touches] = [false, now, 0];
    send(changed(count));
  };
  const changed = (count: number): PageMessage => {
    return { kind: "changed", count, since: formatPosition(kind, watched.position()) };
  };
  const send = (news: PageMessage): void => followers.forEach((follower) => follower.receive(news));

  const isOlder = ({ since }: Follower): boolean => parsePosition(since, watched.position()) === undefined;

  return {
    send,
    sendToOlder: (news) => [...followers].filter(isOlder).forEach(({ receive }) => receive(news)),
    add: (follower) => {
      if (followers.size === 0) unsubscribers = keys.map((key) => watched.subscribe(key, touch));
      followers.add(follower);
      const position = watched.position();
      const since = parsePosition(follower.since, position);
      if (since === undefined) follower.receive({ kind: "reload" });
      else if (isWide(keys) ? countForPage(kind, position) > since : watched.hasChanged(keys, since))
        follower.receive(changed(1));
    },
    remove: (follower) => {
      followers.delete(follower);
      if (followers.size > 0) return false;
      for (const one of unsubscribers) one();
      return true;
    },
  };
}

function isWide(keys: readonly string[]): boolean {
  return keys.includes(EVERY_WRITE) || keys.includes(EVERY_REQUEST);
}
