import { printableLiteral } from "../core/text.ts";
import { CheckoutError } from "./errors.ts";

/** What an option of a call has to be, in words, and whether a value is that. */
type Rule = readonly [expected: string, isRight: (value: unknown) => boolean];

/** The longest time that a timer of Node's can have. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The options of each call that takes some, but for those that the control API checks. */
const RULES = {
  create: new Map<string, Rule>([["idempotencyKey", ["a text", (value) => typeof value === "string"]]]),
  receiver: new Map<string, Rule>([
    ["answer", ["a function that returns a status", (value) => typeof value === "function"]],
    ["events", ["a list of types or patterns", Array.isArray]],
  ]),
  waitFor: new Map<string, Rule>([
    [
      "timeoutMs",
      [
        `milliseconds from 0 to ${MAX_TIMEOUT_MS}`,
        (value) => typeof value === "number" && value >= 0 && value <= MAX_TIMEOUT_MS,
      ],
    ],
  ]),
} as const;

/** Throws a CheckoutError where a caller without types gives a call what is no option of it. */
export function checkOptions(call: keyof typeof RULES, options: unknown): void {
  const rules = RULES[call];
  const known = (): string => [...rules.keys()].join(", ");
  if (typeof options !== "object" || options === null)
    throw wrong(call, `the options must be an object with ${known()}; got ${printableLiteral(options)}`);
  for (const [name, value] of Object.entries(options)) {
    const rule = rules.get(name);
    if (rule === undefined) throw wrong(call, `${printableLiteral(name)} is no option; known are ${known()}`);
    const [expected, isRight] = rule;
    if (value !== undefined && !isRight(value))
      throw wrong(call, `${name} must be ${expected}; got ${printableLiteral(value)}`);
  }
}

function wrong(call: string, message: string): CheckoutError {
  const refusal = { status: 400, code: "invalid_parameter", requestId: "" } as const;
  return new CheckoutError({ ...refusal, message: `${call}: ${message}` });
}
