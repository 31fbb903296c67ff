import type { GuestWorld } from "../../world.ts";
import { fakeTimersProblem } from "../../world/clock.ts";
import { checkFilter, checkMatchText, checkOptions, type FilterSubject } from "../call-options.ts";
import { WaitError } from "../errors.ts";
import type { Filter, Log } from "../types.ts";
import { createLogUpdates, type LogUpdates, type LogUpdateSource } from "./log-updates.ts";

export type LogSource<Item> = LogUpdateSource<Item> &
  FilterSubject & {
    readonly waitTimeoutMs: number;
    readonly world: Pick<GuestWorld, "sleep">;
    readonly matchedNoun?: string;
    readonly isClosed: () => boolean;
    readonly names: (item: Item) => readonly (string | null)[];
    readonly line: (item: Item) => string;
  };

const MAX_LINES = 20;

export function createLog<Item>(source: LogSource<Item>): Log<Item> {
  const { world, open, noun, isClosed, names, line } = source;
  const joinUpdates = createLogUpdates(source);
  const matcher = (match: Parameters<Log<Item>["waitFor"]>[0]): ((item: Item) => boolean) => {
    if (typeof match === "string") {
      checkMatchText(match, source);
      return (item) => names(item).includes(match);
    }
    if (typeof match === "function") return match as (item: Item) => boolean;
    checkFilter("waitFor", match, source);
    return (item) => matchesFilter(item, match);
  };
  const gotText = (items: readonly Item[]): string => {
    const countText = items.length === 0 ? "none arrived" : `${items.length} arrived:`;
    return `${countText}${items
      .slice(-MAX_LINES)
      .map((item) => `\n  ${line(item)}`)
      .join("")}`;
  };
  return {
    list: async (filter) => {
      if (filter !== undefined) checkFilter("list", filter, source);
      return (await open()()).filter((item) => filter === undefined || matchesFilter(item, filter));
    },
    waitFor: async (match, options = {}) => {
      checkOptions("waitFor", options);
      const { timeoutMs = source.waitTimeoutMs, count = 1 } = options;
      const matches = matcher(match);
      // An update can lack earlier matches, so a `count` above 1 needs the whole log.
      const find = async (items: readonly Item[]): Promise<Item | undefined> =>
        (count === 1 ? items : await open()()).filter(matches)[count - 1];
      const controller = new AbortController();
      const timeout = world.sleep(timeoutMs, controller.signal).then(() => undefined);
      const { all, leave } = joinUpdates();
      try {
        for (
          let updates: LogUpdates<Item> | undefined = await all;
          updates;
          updates = await Promise.race([updates.next, timeout])
        ) {
          const foundItem = await find(updates.items);
          if (foundItem !== undefined) return foundItem;
        }
        const list = await open()();
        const matchingItems = list.filter(matches);
        const lastMatch = matchingItems[count - 1];
        if (lastMatch !== undefined) return lastMatch;
        const itemNoun = typeof match === "string" ? (source.matchedNoun ?? noun) : noun;
        const missingText =
          matchingItems.length === 0 ? `no ${itemNoun}` : `${matchingItems.length} of ${count}: ${itemNoun}`;
        const matchText = typeof match === "function" ? "that matched" : JSON.stringify(match);
        const timersProblem = fakeTimersProblem();
        const timersText =
          timersProblem === undefined ? "" : `\n  ${timersProblem.message}; ${timersProblem.next}`;
        throw new WaitError(
          `${missingText} ${matchText} within ${timeoutMs} ms; ${gotText(list)}${timersText}`,
        );
      } catch (error) {
        if (!isClosed()) throw error;
        throw new WaitError(`the sandbox was closed while waiting for the ${noun}`, { cause: error });
      } finally {
        leave();
        controller.abort();
      }
    },
  };
}

function matchesFilter<Value>(value: Value, filter: Filter<Value>): boolean {
  if (filter instanceof Date) return value instanceof Date && value.getTime() === filter.getTime();
  if (!isObject(filter)) return Object.is(value, filter);
  if (!isObject(value)) return false;
  return Object.entries(filter).every(
    ([name, fieldFilter]) => fieldFilter === undefined || matchesFilter(value[name], fieldFilter),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
