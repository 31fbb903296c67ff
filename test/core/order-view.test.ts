import { expect, test } from "vitest";
import {
  differsOnlyInTimes,
  isUnchanged,
  hasChangedTwiceAsMuch,
  hasGrownTwiceAsFar,
  isReverted,
  showsBookings,
  removeChangingParts,
  findStableParts,
  type StableText,
} from "../../src/core/readiness/drills/order-view.ts";

/** A merchant's view before the payment, after one booking, and after two. */
type View = readonly [open: string, once: string, twice: string];

/** Views that show a booking as a number or a list, each in the way of some shop. */
const COUNTING: Readonly<Record<string, View>> = {
  "JSON with a count": [
    '{"status":"open","bookings":0}',
    '{"status":"paid","bookings":1}',
    '{"status":"paid","bookings":2}',
  ],
  "a count that did not begin with 0": ["open, sold 41", "paid, sold 42", "paid, sold 43"],
  "the count before its word": ["open: 7 tickets", "paid: 8 tickets", "paid: 9 tickets"],
  "an amount with cents": ["open, paid 0.00 EUR", "paid 19.99 EUR", "paid 39.98 EUR"],
  "an amount with one decimal": ["due 0.5 due", "due 1.0 due", "due 1.5 due"],
  "an amount with thousands": ["total 0.00", "total 1,999.50", "total 3,999.00"],
  "an amount with a point for thousands": ["total 0", "total 1.000", "total 2.000"],
  "stock that goes down": ["open; stock: 100", "paid; stock: 98", "paid; stock: 96"],
  "two numbers of the same word, of which the second is the count": [
    "open: item 5, item 0",
    "paid: item 5, item 1",
    "paid: item 5, item 2",
  ],
  "more numbers after the payment, so that words tell them apart": [
    "open none total 10",
    "card 4242 total 20",
    "card 4242 total 30",
  ],
  "more numbers where the payment came once": ["sold 10", "sold 20, card 4242", "sold 30, card 4242"],
  "a list": ['{"lines":[]}', '{"lines":["book"]}', '{"lines":["book","book"]}'],
};

/** Views that show the status, and other numbers that a payment does not change. */
const SILENT: Readonly<Record<string, readonly [open: string, paid: string]>> = {
  "a word": ["open", "paid"],
  "a word and a sign": ["open", "paid ✓"],
  "a word and an amount": ["open 19.99 EUR", "paid 19.99 EUR"],
  "two amounts after the same word": ["open: EUR 19.99, EUR 4.50", "paid: EUR 19.99, EUR 4.50"],
  "a date and a time": ["open since 2026-01-15T12:00:00.000Z", "paid since 2026-01-15T12:00:07.500Z"],
  "a date alone": ["open 2026-01-15", "paid 2026-01-16"],
  "a time alone": ["open at 9:05", "paid at 10:06:30.5"],
  "milliseconds of the clock": ["open 1768478400000", "paid 1768478407500"],
  "a version": ["open 1.2.3", "paid 1.2.4"],
  "a number within an id": ["open a1", "paid a2"],
  "the first of two numbers of one word, where the other went": ["open: item 5, item 7", "paid: item 5"],
  "another amount where a number went": ["open 3 of card 4", "paid none of card 4"],
};

test("a view that shows a booking, as a number or a list, is told from a view of the status", () => {
  const shown = Object.entries(COUNTING).map(([name, [before, after]]) => [
    name,
    showsBookings({ before, after }),
  ]);
  expect(shown).toEqual(Object.keys(COUNTING).map((name) => [name, true]));
  const silent = Object.entries(SILENT).map(([name, [before, after]]) => [
    name,
    showsBookings({ before, after }),
  ]);
  expect(silent).toEqual(Object.keys(SILENT).map((name) => [name, false]));
});

test("a view of two bookings is told from a view of one, whatever its order of numbers", () => {
  const found = Object.entries(COUNTING).map(([name, [before, once, twice]]) => [
    name,
    hasChangedTwiceAsMuch({ before, after: twice }, { before, after: once }),
    hasChangedTwiceAsMuch({ before, after: once }, { before, after: once }),
    hasChangedTwiceAsMuch({ before, after: before }, { before, after: once }),
  ]);
  expect(found).toEqual(Object.keys(COUNTING).map((name) => [name, true, false, false]));
  const silent = Object.entries(SILENT).map(([name, [before, after]]) => [
    name,
    hasChangedTwiceAsMuch({ before, after }, { before, after }),
  ]);
  expect(silent).toEqual(Object.keys(SILENT).map((name) => [name, false]));
  // More words where nothing grew at the first payment are no list.
  expect(
    hasChangedTwiceAsMuch({ before: "open", after: "paid at last" }, { before: "open", after: "paid" }),
  ).toBe(false);
  // The numbers of an order that was paid once have other places.
  const once = { before: "sold 10", after: "card 4242, sold 20" };
  expect(hasGrownTwiceAsFar({ before: "sold 10", after: "sold 30" }, once)).toBe(true);
  // A third booking is more than twice, and a list that got longer is no number.
  const [open, listed, twice] = COUNTING["a list"] ?? ["", "", ""];
  expect(hasGrownTwiceAsFar({ before: open, after: twice }, { before: open, after: listed })).toBe(false);
  expect(
    hasGrownTwiceAsFar({ before: "sold 1", after: "sold 4" }, { before: "sold 1", after: "sold 2" }),
  ).toBe(false);
});

test("a booking that a late event takes back is told from a number that was never raised", () => {
  const rows: readonly (readonly [before: string, after: string, last: string, isReverted: boolean])[] = [
    ["open 0", "paid 1", "paid 0", true],
    ["open 0", "paid 1", "paid 1", false],
    ["open 0", "paid 1", "paid 2", false],
    ["open 5", "paid 5", "paid 5", false],
    // What goes down is stock, and comes back with a return.
    ["stock 9", "stock 8", "stock 9", false],
    ["open 3, 0", "paid 3, 1", "paid 3, 0", true],
    ["open 0", "paid 1, 1", "paid 0", false],
    ["open 0", "paid 1", "paid 0, 0", false],
    ["open", "paid 1", "paid", false],
  ];
  for (const [before, after, last, undone] of rows)
    expect([before, after, last, isReverted({ before, after, last })]).toEqual([before, after, last, undone]);
});

test("times alone are told from other changes, and a part that goes on changing is left out", () => {
  const rows: readonly (readonly [
    still: readonly (string | null)[],
    text: string,
    differsOnlyInTimes: boolean,
  ])[] = [
    [["paid", " ", "12:00"], "paid 12:01", true],
    [["paid", " ", "12:00"], "paid 12:00", true],
    [["paid", " ", "12:00"], "open 12:01", false],
    [["paid", " ", "12:00"], "paid 2", false],
    [["paid", " ", "12:00"], "paid 12:01 1", false],
    [["paid", " ", null], "paid x", true],
  ];
  for (const [still, text, only] of rows)
    expect([text, differsOnlyInTimes(still, text)]).toEqual([text, only]);
  const parts = ["paid", " ", "1"];
  expect(removeChangingParts(parts, ["paid 1", "paid 2", "paid 2"], 2)).toEqual(parts);
  expect(removeChangingParts(parts, ["paid 1", "paid 2", "paid 3"], 2)).toEqual(["paid", " ", null]);
  expect(removeChangingParts(parts, ["paid 1", "paid 2", "paid 2"], 1)).toEqual(["paid", " ", null]);
  expect(removeChangingParts(parts, ["paid 1", "paid 1 1"], 1)).toBe("different_lengths");
  // A part that was known to change stays left out.
  expect(removeChangingParts([null, " ", "1"], ["paid 1", "paid 1"], 1)).toEqual([null, " ", "1"]);
});

test("what changes by itself is left out, and nothing else", () => {
  const rows: readonly (readonly [texts: readonly string[], next: string, isSame: boolean | string])[] = [
    [["paid 1", "paid 1", "paid 1"], "paid 1", true],
    [["paid 1", "paid 1", "paid 1"], "paid 2", false],
    [["paid 1", "paid 1", "paid 1"], "paid 1 1", false],
    [["paid 1", "paid 1", "paid 1"], "paid  1", false],
    [["1 s, 1 x", "2 s, 1 x", "3 s, 1 x"], "9 s, 1 x", true],
    [["1 s, 1 x", "2 s, 1 x", "3 s, 1 x"], "9 s, 2 x", false],
    [["paid 1", "paid 2", "paid 2"], "paid 2", "unsettled"],
    [["paid", "paid 1", "paid 1 2"], "paid", "different_lengths"],
    [['{"t":1,"n":1}', '{"t":2,"n":1}', '{"t":3,"n":1}'], '{"t":9,"n":1}', true],
    [['{"t":1,"n":1}', '{"t":2,"n":1}', '{"t":3,"n":1}'], '{"t":9,"n":2}', false],
    [["", "", ""], "", true],
  ];
  for (const [texts, next, isSame] of rows) {
    const still: StableText | string = findStableParts(texts);
    const seen = typeof still === "string" ? still : isUnchanged(still, next);
    expect([texts, next, seen]).toEqual([texts, next, isSame]);
  }
});
