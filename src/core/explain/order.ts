import type { Say } from "../language.ts";
import type { StoryEntry } from "./explanation.ts";
import { SENTENCES } from "./sentences.ts";

/** Of things at one time, as with a frozen clock: the order in which they stand. */
const ORDER = [
  "creation",
  "created",
  "opened",
  "start",
  "pending",
  "finish",
  "final",
  "late",
  "returned",
  "request",
] as const;

/** A line of a story, and its place among the lines of its time. */
export type Placed<About> = {
  readonly entry: StoryEntry;
  /** The thing that the line is about; undefined for acts and pages. */
  readonly about?: About;
  readonly place: (typeof ORDER)[number];
  /** The line of another chain that must stand above it. */
  readonly after?: Placed<About> | undefined;
};

/**
 * Lines in the order of their times. Each chain is in the order in which its lines happened. A time that goes back within
 * a chain shows that the clock was set back: when no chain goes on without that, a line says so, and times begin anew.
 */
export function inOrder<About>(
  chains: readonly (readonly Placed<About>[])[],
  say: Say,
): readonly Pick<Placed<About>, "entry" | "about">[] {
  const left = chains.filter((chain) => chain.length > 0).map((chain) => ({ chain, at: 0 }));
  const told = new Set<Placed<About>>();
  const lines: Pick<Placed<About>, "entry" | "about">[] = [];
  let time = -Infinity;
  while (left.length > 0) {
    const heads = left.flatMap(({ chain, at }, index) => {
      const line = chain[at];
      return line === undefined || (line.after !== undefined && !told.has(line.after))
        ? []
        : [{ line, index }];
    });
    const onwards = heads.filter(({ line }) => line.entry.at >= time);
    const next = (onwards.length > 0 ? onwards : heads).reduce((first, one) =>
      comesBefore(one.line, first.line) ? one : first,
    );
    const { line, index } = next;
    if (line.entry.at < time) lines.push({ entry: setBack(line.entry.at, say) });
    time = line.entry.at;
    told.add(line);
    lines.push(line);
    const progress = left[index];
    if (progress !== undefined) progress.at += 1;
    if (progress?.at === progress?.chain.length) left.splice(index, 1);
  }
  return lines;
}

function comesBefore(one: Placed<unknown>, other: Placed<unknown>): boolean {
  const apart = one.entry.at - other.entry.at || ORDER.indexOf(one.place) - ORDER.indexOf(other.place);
  return apart < 0;
}

function setBack(at: number, say: Say): StoryEntry {
  const text = say(SENTENCES.setBack);
  return { at, what: "clock", id: null, of: null, status: null, durationMs: null, text };
}
