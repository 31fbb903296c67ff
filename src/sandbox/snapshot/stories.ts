import type { Checkout } from "../../core/checkout/checkout.ts";
import { storyFault, testEventFault, type KeptEvent, type KeptStory } from "../../core/snapshot/story.ts";
import type { NamedRow } from "../../store/snapshot/rows.ts";

/** Reads the rows of a table, each judged by itself. */
export type RowReader = (table: string) => Iterator<NamedRow>;

/**
 * Judges the checkouts of a snapshot with all rows that belong to them. Each table is read once, in the order of its
 * checkouts, so nothing but one checkout is in memory. Returns the rule that is broken, and where; undefined for none.
 */
export function judgeStories(read: RowReader): string | undefined {
  const children = (table: string, column = "checkout_id") => groupsOf(read(table), column);
  const [attempts, events, keys] = [children("attempts"), children("events"), children("idempotency_keys")];
  const [late, settlements, views] = [
    children("late_results"),
    children("settlements"),
    children("page_views"),
  ];
  for (const row of events(null)) {
    const fault = testEventFault(eventOf(row));
    if (fault !== undefined) return `events: ${fault}`;
  }
  const checkouts = read("checkouts");
  for (let next = checkouts.next(); next.done !== true; next = checkouts.next()) {
    const checkout = checkoutOf(next.value);
    const { id } = checkout;
    views(id);
    const fault = storyFault({
      checkout,
      attempts: attempts(id).map(attemptOf),
      events: events(id).map(eventOf),
      keys: keys(id).map(keyOf),
      lateResults: late(id).map(lateResultOf),
      settlements: settlements(id).map(settlementOf),
    });
    if (fault !== undefined) return `${fault.table}: ${fault.said}`;
  }
  return undefined;
}

/** Judges the deliveries of a snapshot with their tries, as `judgeStories` does. */
export function judgeDeliveries(read: RowReader): string | undefined {
  const tries = groupsOf(read("delivery_attempts"), "delivery_id");
  const deliveries = read("deliveries");
  for (let next = deliveries.next(); next.done !== true; next = deliveries.next()) {
    const { id, state, tries: counted } = next.value;
    const made = tries(String(id)).length;
    if (Number(counted) > made || (made === 0 && (state === "succeeded" || state === "failed")))
      return `deliveries: ${String(id)} is ${String(state)} after ${String(counted)} tries, of which ${made} are there`;
  }
  return undefined;
}

/** The rows of one parent after the other; parents are asked for in the order of the rows. */
function groupsOf(rows: Iterator<NamedRow>, column: string): (parent: string | null) => NamedRow[] {
  let next = rows.next();
  return (parent) => {
    const group: NamedRow[] = [];
    for (; next.done !== true && next.value[column] === parent; next = rows.next()) group.push(next.value);
    return group;
  };
}

function checkoutOf(row: NamedRow): Checkout {
  const { id, object, currency, description, status } = row as Checkout;
  return {
    id,
    storeId: String(row["store_id"]),
    object,
    orderId: String(row["order_id"]),
    amountMinor: Number(row["amount_minor"]),
    currency,
    paymentMethod: row["payment_method"] as Checkout["paymentMethod"],
    description,
    priceId: row["price_id"] as string | null,
    status,
    createdAt: Number(row["created_at"]),
    expiresAt: Number(row["expires_at"]),
  };
}

type Child<Name extends "attempts" | "keys" | "lateResults" | "settlements"> = KeptStory[Name][number];

function attemptOf(row: NamedRow): Child<"attempts"> {
  return {
    number: Number(row["number"]),
    startedAt: Number(row["started_at"]),
    outcome: row["outcome"] as Child<"attempts">["outcome"],
    finishedAt: row["finished_at"] as number | null,
  };
}

function eventOf(row: NamedRow): KeptEvent {
  const { id, type, sequence, body } = row as Pick<KeptEvent, "id" | "type" | "sequence" | "body">;
  return { id, type, sequence, body, storeId: String(row["store_id"]), createdAt: Number(row["created_at"]) };
}

function keyOf(row: NamedRow): Child<"keys"> {
  const { fingerprint, body } = row as Pick<Child<"keys">, "fingerprint" | "body">;
  const [requestId, createdAt] = [String(row["request_id"]), Number(row["created_at"])];
  return { fingerprint, status: 201, requestId, body, createdAt };
}

function lateResultOf({ attempt, result }: NamedRow): Child<"lateResults"> {
  return { attempt: Number(attempt), result: result as Child<"lateResults">["result"] };
}

function settlementOf({ due_at: dueAt, outcome }: NamedRow): Child<"settlements"> {
  return { dueAt: Number(dueAt), outcome: outcome as Child<"settlements">["outcome"] };
}
