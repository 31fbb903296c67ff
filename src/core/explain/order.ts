import type { Translator } from "../language.ts";
import type { StoryEntry } from "./explanation.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";

/** The order of lines with the same time, which a frozen clock produces. */
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

/** A line of a story, and its rank among the lines of the same time. */
export type OrderableLine<Subject> = {
  readonly entry: StoryEntry;
  /** The subject of the line; undefined for actions and pages. */
  readonly about?: Subject;
  readonly place: (typeof ORDER)[number];
  /** A line in another chain that must come first. */
  readonly after?: OrderableLine<Subject> | undefined;
};

/** Each chain is in order. If every chain continues with an earlier time, the clock was set back: a line says so. */
export function mergeChains<Subject>(
  chains: readonly (readonly OrderableLine<Subject>[])[],
  say: Translator,
): readonly Pick<OrderableLine<Subject>, "entry" | "about">[] {
  const leftChains = chains.filter((chain) => chain.length > 0).map((chain) => ({ chain, at: 0 }));
  const placedLines = new Set<OrderableLine<Subject>>();
  const lines: Pick<OrderableLine<Subject>, "entry" | "about">[] = [];
  let time = -Infinity;
  while (leftChains.length > 0) {
    const heads = leftChains.flatMap(({ chain, at }, index) => {
      const line = chain[at];
      return line === undefined || (line.after !== undefined && !placedLines.has(line.after))
        ? []
        : [{ line, index }];
    });
    const onwards = heads.filter(({ line }) => line.entry.at >= time);
    const next = (onwards.length > 0 ? onwards : heads).reduce((earliest, line) =>
      comesBefore(line.line, earliest.line) ? line : earliest,
    );
    const { line, index } = next;
    if (line.entry.at < time) lines.push({ entry: clockMovedBackEntry(line.entry.at, say) });
    time = line.entry.at;
    placedLines.add(line);
    lines.push(line);
    const progress = leftChains[index];
    if (progress !== undefined) progress.at += 1;
    if (progress?.at === progress?.chain.length) leftChains.splice(index, 1);
  }
  return lines;
}

function comesBefore(left: OrderableLine<unknown>, right: OrderableLine<unknown>): boolean {
  const difference = left.entry.at - right.entry.at || ORDER.indexOf(left.place) - ORDER.indexOf(right.place);
  return difference < 0;
}

function clockMovedBackEntry(at: number, say: Translator): StoryEntry {
  return plainEntry("clock", at, { text: say(EXPLAIN_SENTENCES.setBack) });
}

/** A line without an answer. */
export function plainEntry(
  what: StoryEntry["what"],
  at: number,
  parts: Pick<StoryEntry, "text"> & Partial<Pick<StoryEntry, "id" | "name">>,
): StoryEntry {
  return { at, what, id: null, of: null, status: null, durationMs: null, ...parts };
}
