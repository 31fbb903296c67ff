import type * as z from "zod/mini";
import type { checkoutOperations } from "../../src/core/control/operations/checkout.ts";
import type { clockOperations } from "../../src/core/control/operations/clock.ts";
import type { drillOperations } from "../../src/core/control/operations/drills.ts";
import type { readinessOperations } from "../../src/core/control/operations/readiness.ts";
import type { requestOperations } from "../../src/core/control/operations/requests.ts";
import type { webhookOperations } from "../../src/core/control/operations/webhook.ts";

type Operations = typeof checkoutOperations &
  typeof clockOperations &
  typeof webhookOperations &
  typeof drillOperations &
  typeof requestOperations &
  typeof readinessOperations;

/** The answer of an operation on the wire: snake_case, times as text. */
export type WireAnswerOf<Name extends keyof Operations> = OnWire<z.input<Operations[Name]["answer"]>>;

type OnWire<Value> = Value extends readonly (infer Item)[]
  ? readonly OnWire<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value as WireName<Name>]: OnWire<Value[Name]> }
    : Value;

type WireName<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Capital ? `_${Lowercase<First>}` : First}${WireName<Rest>}`
  : Name extends PropertyKey
    ? Name
    : never;

type Capital =
  | ("A" | "B" | "C" | "D" | "E" | "F" | "G" | "H" | "I" | "J" | "K" | "L" | "M")
  | ("N" | "O" | "P" | "Q" | "R" | "S" | "T" | "U" | "V" | "W" | "X" | "Y" | "Z");
