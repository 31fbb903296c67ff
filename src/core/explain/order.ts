import type { Translator } from "../language.ts";
import type { StoryEntry } from "./explanation.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";

/** Orders lines with the same time, which a frozen clock produces. */
const RANKS = [
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

export type OrderableLine<Subject> = {
  readonly entry: StoryEntry;
  /** Undefined for attempts, late results and page views. */
  readonly subject?: Subject;
  readonly rank: (typeof RANKS)[number];
  readonly predecessor?: OrderableLine<Subject> | undefined;
};

export function mergeChains<Subject>(
  chains: readonly (readonly OrderableLine<Subject>[])[],
  say: Translator,
): readonly Pick<OrderableLine<Subject>, "entry" | "subject">[] {
  const openChains = chains.filter((chain) => chain.length > 0).map((chain) => ({ chain, position: 0 }));
  const mergedLines = new Set<OrderableLine<Subject>>();
  const lines: Pick<OrderableLine<Subject>, "entry" | "subject">[] = [];
  let time = -Infinity;
  while (openChains.length > 0) {
    const heads = openChains.flatMap(({ chain, position }, index) => {
      const line = chain[position];
      return line === undefined || (line.predecessor !== undefined && !mergedLines.has(line.predecessor))
        ? []
        : [{ line, index }];
    });
    const laterHeads = heads.filter(({ line }) => line.entry.at >= time);
    const earliestHead = (laterHeads.length > 0 ? laterHeads : heads).reduce((earliest, head) =>
      comesBefore(head.line, earliest.line) ? head : earliest,
    );
    const { line, index } = earliestHead;
    if (line.entry.at < time)
      lines.push({ entry: plainEntry("clock", line.entry.at, { text: say(EXPLAIN_SENTENCES.setBack) }) });
    time = line.entry.at;
    mergedLines.add(line);
    lines.push(line);
    const openChain = openChains[index];
    if (openChain !== undefined) openChain.position += 1;
    if (openChain?.position === openChain?.chain.length) openChains.splice(index, 1);
  }
  return lines;
}

function comesBefore(left: OrderableLine<unknown>, right: OrderableLine<unknown>): boolean {
  return (left.entry.at - right.entry.at || RANKS.indexOf(left.rank) - RANKS.indexOf(right.rank)) < 0;
}

export function plainEntry(
  what: StoryEntry["what"],
  at: number,
  fields: Pick<StoryEntry, "text"> & Partial<Pick<StoryEntry, "id" | "name">>,
): StoryEntry {
  return { at, what, id: null, of: null, status: null, durationMs: null, ...fields };
}
