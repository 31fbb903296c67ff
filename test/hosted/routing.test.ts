import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatTestKey, isTestKey } from "../../src/core/credential.ts";
import { isUuid } from "../../src/core/text.ts";
import {
  markedKeyBytes,
  markedUuid,
  markOfId,
  markOfKey,
  MARK_COUNT,
  objectName,
} from "../../src/hosted/shared/marks.ts";
import { destinationOf } from "../../src/hosted/routing.ts";

const marks = fc.integer({ min: 0, max: MARK_COUNT - 1 });
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

test("a hosted id contains its store's routing mark and its creation time, and ends with 12 random hex digits", () => {
  const times = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  const property = fc.property(marks, times, bytes(6), (mark, time, random) => {
    const id = markedUuid(mark, time, random);
    expect(isUuid(id)).toBe(true);
    expect(id).toMatch(/^.{14}7.{4}[89ab]/);
    expect([markOfId(id), markOfId(id.toUpperCase())]).toEqual([mark, mark]);
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(time);
    expect(id.slice(-12)).toBe(Buffer.from(random).toString("hex"));
  });
  fc.assert(property, { seed: 38, numRuns: 300 });
});

test("a hosted API key contains its store's routing mark and 134 random bits", () => {
  const property = fc.property(marks, marks, bytes(20), (mark, other, random) => {
    const key = formatTestKey(markedKeyBytes(mark, random));
    expect([isTestKey(key), markOfKey(key)]).toEqual([true, mark]);
    const rest = (one: number): bigint =>
      BigInt(`0x${Buffer.from(markedKeyBytes(one, random)).toString("hex")}`) & (2n ** 134n - 1n);
    expect(rest(mark)).toBe(BigInt(`0x${Buffer.from(random).toString("hex")}`) & (2n ** 134n - 1n));
    expect(rest(other)).toBe(rest(mark));
  });
  fc.assert(property, { seed: 38, numRuns: 300 });
});

test("an id or key in another format has no routing mark, and every routing mark names its own Durable Object", () => {
  const key = formatTestKey(markedKeyBytes(7, new Uint8Array(20)));
  expect([key.slice(0, -1), `${key}0`, key.replace("test", "live"), "", "x"].map(markOfKey)).toEqual(
    Array.from({ length: 5 }),
  );
  const id = markedUuid(7, 1, new Uint8Array(6));
  expect([id.slice(1), id.replace(/^(.{14})7/, "$14"), ""].map(markOfId)).toEqual(Array.from({ length: 3 }));
  expect([0, 1, MARK_COUNT - 1].map(objectName)).toEqual(["0000000", "0000001", "3ffffff"]);
});

test("a request goes to the Durable Object of its key, checkout or store, or to the index if it is about all stores or deletes a store", () => {
  const mark = 12_345_678;
  const id = markedUuid(mark, 1_800_000_000_000, new Uint8Array(6));
  const key = `Bearer ${formatTestKey(markedKeyBytes(mark, new Uint8Array(20)))}`;
  const store = { kind: "store", mark };
  const control = "/__sandbox";
  const rows: readonly (readonly [string, string | null, unknown])[] = [
    ["/v1/orders", key, store],
    [`/v1/checkout-sessions/${id}`, key, store],
    ["/v1/orders", null, { kind: "nowhere" }],
    ["/v1/orders", `${key}, ${key}`, { kind: "nowhere" }],
    ["/v1/orders", "Bearer svc_live_1", { kind: "nowhere" }],
    [`/pay/${id}`, null, store],
    [`/pay/${id.toUpperCase()}/wallet/1`, null, store],
    ["/pay/x", null, { kind: "nowhere" }],
    ["/assets/checkout.css", null, { kind: "nowhere" }],
    ["/healthz", null, { kind: "nowhere" }],
    [`${control}/stores`, key, { kind: "index" }],
    [`${control}/sandbox`, null, { kind: "index" }],
    [`${control}/stores/${id}`, null, store],
    [`${control}/stores/default`, null, { kind: "first store" }],
    [`${control}/stores/${id}/events`, null, store],
    [`${control}/stores/${id}/keys/delete`, null, store],
    [`${control}/stores/${id}/delete`, null, { kind: "index" }],
    [`${control}/stores/default/events`, null, { kind: "first store" }],
    [`${control}/stores/x/events`, null, { kind: "nowhere" }],
  ];
  expect(rows.map(([path, authorization]) => destinationOf(path, authorization))).toEqual(
    rows.map(([, , place]) => place),
  );
});
