import type { PortalContext } from "../view.ts";
import type { Follower } from "./news.ts";

/** A browser has six connections to a host, and needs some for its pages. */
const MAX_STREAMS_OF_SESSION = 4;
/** All of them, of the 1,024 connections of the server. */
const MAX_STREAMS = 256;
/** How often a stream is ended if its session is signed out. */
const BEAT_MS = 1000;
/** One of this many times it gets a comment too. */
const BEATS_OF_COMMENT = 15;

/** The open streams, which are limited, and end with their sessions. Keeps a timer only while there are some. */
type Streams = {
  /** Adds a stream, and returns what takes it out. Over a limit the oldest one has to wait. */
  readonly add: (follower: Follower) => () => void;
  readonly size: () => number;
};

/** Makes a place for streams, of which none is open. */
export function createStreams({ portal, world }: Pick<PortalContext, "portal" | "world">): Streams {
  const open = new Set<Follower>();
  let beats = 0;
  let isBeating = false;

  const crowdOut = (ofAll: readonly Follower[], limit: number): void => {
    const [oldest] = ofAll;
    if (ofAll.length <= limit || oldest === undefined) return;
    open.delete(oldest);
    oldest.hear({ kind: "crowded" });
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
      if (portal.find(role, id) === undefined) follower.hear({ kind: "end", why: "signed_out" });
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
