import type { Checkout } from "../../core/checkout/checkout.ts";
import { storyFault, testEventFault, type SnapshotStory } from "../../core/snapshot/story.ts";
import { valuesOf } from "../../store/connection/statements.ts";
import type { NamedRow } from "../../store/snapshot/rows.ts";

/** Reads the rows of a table, each validated by itself. */
export type RowReader = (table: string) => Iterator<NamedRow>;

/**
 * Validates the checkouts of a snapshot with all rows that belong to them. Each table is read once, sorted by checkout,
 * so that only one checkout is in memory. Returns the broken rule and the row; undefined if no rule is broken.
 */
export function judgeStories(read: RowReader): string | undefined {
  const children = (table: string, column = "checkout_id") => groupsOf(read(table), column);
  const [attempts, events, keys] = [children("attempts"), children("events"), children("idempotency_keys")];
  const [late, settlements, views] = [
    children("late_results"),
    children("settlements"),
    children("page_views"),
  ];
  for (const values of events(null)) {
    const fault = testEventFault(values as Child<"events">);
    if (fault !== undefined) return `events: ${fault}`;
  }
  const checkouts = read("checkouts");
  for (let next = checkouts.next(); next.done !== true; next = checkouts.next()) {
    // Each column was validated.
    const checkout = valuesOf(next.value) as Checkout;
    const { id } = checkout;
    views(id);
    const fault = storyFault({
      checkout,
      attempts: attempts(id).map((values) => values as Child<"attempts">),
      events: events(id).map((values) => values as Child<"events">),
      keys: keys(id).map((values) => values as Child<"keys">),
      lateResults: late(id).map((values) => values as Child<"lateResults">),
      settlements: settlements(id).map((values) => values as Child<"settlements">),
    });
    if (fault !== undefined) return `${fault.table}: ${fault.said}`;
  }
  return undefined;
}

/** Validates the deliveries of a snapshot with their attempts, as `judgeStories` does. */
export function judgeDeliveries(read: RowReader): string | undefined {
  const tries = groupsOf(read("delivery_attempts"), "delivery_id");
  const deliveries = read("deliveries");
  for (let next = deliveries.next(); next.done !== true; next = deliveries.next()) {
    const { id, state, tries: counted } = next.value;
    const made = tries(String(id)).length;
    if (Number(counted) > made || (made === 0 && (state === "succeeded" || state === "failed")))
      return `deliveries: ${String(id)} is ${String(state)} after ${String(counted)} attempts, but has ${made}`;
  }
  return undefined;
}

/**
 * Returns a function that reads the rows of a parent, without the parent's column. Parents must be requested in the
 * order of the rows.
 */
function groupsOf(rows: Iterator<NamedRow>, column: string): (parent: string | null) => Values[] {
  let next = rows.next();
  return (parent) => {
    const group: Values[] = [];
    for (; next.done !== true && next.value[column] === parent; next = rows.next()) {
      const { [column]: _parent, ...own } = next.value;
      group.push(valuesOf(own));
    }
    return group;
  };
}

type Child<Name extends Exclude<keyof SnapshotStory, "checkout">> = SnapshotStory[Name][number];
type Values = ReturnType<typeof valuesOf>;
