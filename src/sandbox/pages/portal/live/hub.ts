import type { LivePosition, LiveTopic, PortalContext } from "../view.ts";
import { createTopicFeed, watchedKeys, type Follower, type TopicFeed } from "./topic.ts";
import { createStoreWatch, type StoreWatch } from "./watched.ts";

/** Notifies open pages of the writes that concern them (decision 99). Kept in memory, like the sessions. */
type LiveHub = {
  /** The current position of a store, for a page that is read after this call. */
  readonly positionOf: (storeId: string) => LivePosition;
  /** Adds a follower of a topic, and returns a function that removes it. */
  readonly follow: (storeId: string, topic: LiveTopic, follower: Follower) => () => void;
  /** The number of followers. */
  readonly size: () => number;
};

type HubContext = Pick<
  PortalContext,
  "writeSignals" | "requests" | "storeGate" | "store" | "portal" | "world"
>;

/** A store with open pages, and its followers by topic. */
type WatchedStore = {
  readonly watched: StoreWatch;
  readonly topics: Map<string, TopicFeed>;
  /** Stops watching. */
  readonly leave: () => void;
};

/** Number of watched stores at which a new store replaces a store without followers. */
const MAX_STORES = 100;
/**
 * Pause between an erasure and the reload of the store's pages, in milliseconds: the browser that requested the erasure
 * is already loading another page.
 */
const ERASED_MS = 250;
/** Maximum number of streams of a session: a browser has six connections to a host, and needs some for its pages. */
const MAX_STREAMS_OF_SESSION = 4;
/** Maximum number of streams; the server has 1,024 connections. */
const MAX_STREAMS = 256;
/** Interval at which streams are checked for a sign-out, in milliseconds. */
const BEAT_MS = 1000;
/** Number of checks after which a stream also gets a comment. */
const BEATS_OF_COMMENT = 15;

const HUBS = new WeakMap<object, LiveHub>();

/** The hub of a sandbox, created with its first page, so that a start does not wait for it. */
export function hubOf(context: HubContext): LiveHub {
  const hub = HUBS.get(context.writeSignals) ?? createHub(context);
  HUBS.set(context.writeSignals, hub);
  return hub;
}

function createHub(context: HubContext): LiveHub {
  const { writeSignals, requests, world } = context;
  const stores = new Map<string, WatchedStore>();
  const streams = createStreams(context);
  // Starts at the current time, so that no position of an earlier run is valid in this run.
  let epochs = world.now();
  const nextEpoch = (): number => (epochs += 1);

  const watch = (storeId: string): WatchedStore => {
    const known = stores.get(storeId);
    if (known !== undefined) return known;
    const [watched, topics] = [createStoreWatch(nextEpoch()), new Map<string, TopicFeed>()];
    const ends = [
      writeSignals.follow(storeId, (written) => {
        if (written !== undefined) watched.write(written);
        else void beginAnew(context, { storeId, watched, topics, nextEpoch });
      }),
      requests.follow(storeId, (logged = []) => watched.log(logged)),
    ];
    const ofStore = { watched, topics, leave: () => ends.forEach((end) => end()) };
    if (stores.size >= MAX_STORES) dropUnused();
    stores.set(storeId, ofStore);
    return ofStore;
  };

  const dropUnused = (): void => {
    const unused = [...stores].find(([, { topics }]) => topics.size === 0);
    if (unused === undefined) return;
    const [storeId, { leave }] = unused;
    leave();
    stores.delete(storeId);
  };

  return {
    positionOf: (storeId) => {
      // Requests answered until now are logged first, so that the page shows them.
      requests.last(storeId);
      return watch(storeId).watched.position();
    },
    size: streams.size,
    follow: (storeId, wanted, follower) => {
      const { watched, topics } = watch(storeId);
      const key = "id" in wanted ? `${wanted.kind} ${wanted.id}` : wanted.kind;
      const keys = watchedKeys(context, storeId, wanted);
      const topic = topics.get(key) ?? createTopicFeed(world, watched, { kind: wanted.kind, keys });
      topics.set(key, topic);
      topic.add(follower);
      const leave = streams.add(follower);
      if (writeSignals.isOver()) follower.receive({ kind: "end", why: "stopped" });
      return () => {
        leave();
        if (topic.remove(follower) && topics.get(key) === topic) topics.delete(key);
      };
    },
  };
}

/** Reloads or ends the pages of a store that is being erased, or of a sandbox that stops: their data is gone. */
async function beginAnew(
  { writeSignals, storeGate, store, world }: HubContext,
  {
    storeId,
    watched,
    topics,
    nextEpoch,
  }: Omit<WatchedStore, "leave"> & { readonly storeId: string; readonly nextEpoch: () => number },
): Promise<void> {
  if (writeSignals.isOver()) return topics.forEach((topic) => topic.send({ kind: "end", why: "stopped" }));
  watched.beginEpoch(nextEpoch());
  await awaitReopening(storeGate, storeId);
  // Again, because a page that was read while its store was being closed shows deleted data.
  watched.beginEpoch(nextEpoch());
  world.after(ERASED_MS, () => {
    const isGone = store.stores.names(storeId) === undefined;
    if (isGone) topics.forEach((topic) => topic.send({ kind: "end", why: "gone" }));
    else topics.forEach((topic) => topic.sendToOlder({ kind: "reload" }));
  });
}

/** Resolves when a store reopens, before a request that waited for it continues. */
async function awaitReopening(gate: HubContext["storeGate"], storeId: string): Promise<void> {
  const visit = { storeOf: () => storeId };
  while (gate.isClosed(storeId)) {
    const entered = await gate.enter(visit);
    if (entered?.ok !== false) gate.leave(visit);
  }
}

/**
 * The open streams. Their number is limited, and they end with their sessions. The timer runs only while there are
 * streams.
 */
type Streams = {
  /** Adds a stream, and returns a function that removes it. Above a limit, the oldest stream has to wait. */
  readonly add: (follower: Follower) => () => void;
  readonly size: () => number;
};

/** Creates an empty set of streams. */
function createStreams({ portal, world }: Pick<PortalContext, "portal" | "world">): Streams {
  const open = new Set<Follower>();
  let beats = 0;
  let isBeating = false;

  const crowdOut = (ofAll: readonly Follower[], limit: number): void => {
    const [oldest] = ofAll;
    if (ofAll.length <= limit || oldest === undefined) return;
    open.delete(oldest);
    oldest.receive({ kind: "crowded" });
  };
  const beatLater = (): void => {
    isBeating = true;
    world.after(BEAT_MS, beat);
  };
  const beat = (): void => {
    isBeating = false;
    beats += 1;
    for (const follower of open) {
      const { id, role } = follower.session;
      if (portal.find(role, id) === undefined) follower.receive({ kind: "end", why: "signed_out" });
      else if (beats % BEATS_OF_COMMENT === 0) follower.beat();
    }
    if (open.size > 0) beatLater();
  };

  return {
    size: () => open.size,
    add: (follower) => {
      open.add(follower);
      const { id } = follower.session;
      crowdOut(
        [...open].filter(({ session }) => session.id === id),
        MAX_STREAMS_OF_SESSION,
      );
      crowdOut([...open], MAX_STREAMS);
      if (!isBeating) beatLater();
      return () => void open.delete(follower);
    },
  };
}
