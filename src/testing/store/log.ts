import type { GuestWorld } from "../../world.ts";
import { WaitError } from "../errors.ts";
import type { Filter, Log } from "../types.ts";

/** What a log reads, and how its items are named and shown. */
export type LogSource<Item> = {
  readonly world: Pick<GuestWorld, "monotonic">;
  /** What its items are called, in the singular. */
  readonly noun: string;
  /**
   * Begins to read: the first call returns all items, each later one those that came since, and those that may have
   * changed.
   */
  readonly open: () => () => Promise<readonly Item[]>;
  /** Resolves when something was written, or time is up. */
  readonly next: (waitMs: number) => Promise<void>;
  readonly isClosed: () => boolean;
  /** The texts that `waitFor` finds an item by. */
  readonly names: (item: Item) => readonly (string | null)[];
  /** An item as a line of an error. */
  readonly line: (item: Item) => string;
};

const DEFAULT_TIMEOUT_MS = 5000;
/** How many items an error lists, the newest. */
const MAX_LINES = 20;

/** A log that is read when it is asked, and waited for without looking again before something is written. */
export function createLog<Item>(source: LogSource<Item>): Log<Item> {
  const { world, noun, open, next, isClosed, names, line } = source;
  const matcher = (match: Parameters<Log<Item>["waitFor"]>[0]): ((item: Item) => boolean) => {
    if (typeof match === "string") return (item) => names(item).includes(match);
    if (typeof match === "function") return match as (item: Item) => boolean;
    return (item) => fits(item, match);
  };
  const failure = async (
    match: Parameters<Log<Item>["waitFor"]>[0],
    timeoutMs: number,
  ): Promise<WaitError> => {
    const came = await open()();
    const wanted = typeof match === "function" ? "that matches" : JSON.stringify(match);
    const what = came.length === 0 ? "none came" : `${came.length} came:`;
    const shown = came.slice(-MAX_LINES).map((item) => `\n  ${line(item)}`);
    return new WaitError(`no ${noun} ${wanted} within ${timeoutMs} ms; ${what}${shown.join("")}`);
  };
  return {
    list: async (filter) => (await open()()).filter((item) => filter === undefined || fits(item, filter)),
    waitFor: async (match, { timeoutMs = DEFAULT_TIMEOUT_MS } = {}) => {
      const matches = matcher(match);
      const read = open();
      const until = world.monotonic() + timeoutMs;
      for (;;) {
        const found = (await read()).find(matches);
        if (found !== undefined) return found;
        const left = until - world.monotonic();
        if (left <= 0) throw await failure(match, timeoutMs);
        await next(left);
        if (isClosed())
          throw new WaitError(`the sandbox was closed before a ${noun} came that was waited for`);
      }
    },
  };
}

/** Whether a value has the fields of a filter, and below them those that it names. */
function fits<Value>(value: Value, filter: Filter<Value>): boolean {
  if (filter instanceof Date) return value instanceof Date && value.getTime() === filter.getTime();
  if (!isObject(filter)) return Object.is(value, filter);
  if (!isObject(value)) return false;
  return Object.entries(filter).every(([name, wanted]) => wanted === undefined || fits(value[name], wanted));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
