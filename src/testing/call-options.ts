import { isUuid, printableLiteral } from "../core/text.ts";
import { CheckoutError } from "./errors.ts";

type Rule = readonly [expected: string, isValid: (value: unknown) => boolean];

const MAX_TIMEOUT_MS = 2 ** 31 - 1;

const MAX_DEPTH = 4;

export const TIMEOUT_RULE: Rule = [
  `milliseconds from 0 to ${MAX_TIMEOUT_MS}`,
  (value) => typeof value === "number" && value >= 0 && value <= MAX_TIMEOUT_MS,
];

const RULES = {
  create: new Map<string, Rule>([["idempotencyKey", ["a text", (value) => typeof value === "string"]]]),
  explore: new Map<string, Rule>([
    ["purchase", ["a function that makes a purchase", isFunction]],
    ["view", ["a function that returns the state of an order in the application", isFunction]],
    ["start", ["a function that starts the application", isFunction]],
    ["bookings", ["a function that counts the bookings of an order", isFunction]],
    ["returns", ["a function that opens the return page", isFunction]],
    ["budgetMs", ["milliseconds above 0", (value) => typeof value === "number" && value > 0]],
    ["maxSchedules", ["a whole number above 0", (value) => isCount(value, Number.MAX_SAFE_INTEGER)]],
    ["depth", ["a whole number from 1 to 4", (value) => isCount(value, MAX_DEPTH)]],
    ["seed", ["a text", (value) => typeof value === "string" && value !== ""]],
    ["only", ["{ faults, payer }", (value) => typeof value === "object" && value !== null]],
    ["sandbox", ["a sandbox", (value) => typeof value === "object" && value !== null]],
    ["dialect", ["a dialect", (value) => typeof value === "object" && value !== null]],
  ]),
  receiver: new Map<string, Rule>([
    ["answer", ["a function that returns a status", isFunction]],
    ["events", ["a list of types or patterns", Array.isArray]],
  ]),
  waitFor: new Map<string, Rule>([
    ["timeoutMs", TIMEOUT_RULE],
    ["count", ["a whole number above 0", (value) => isCount(value, Number.MAX_SAFE_INTEGER)]],
  ]),
} as const;

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isCount(value: unknown, maximum: number): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= maximum;
}

export function checkOptions(call: keyof typeof RULES, options: unknown): void {
  const rules = RULES[call];
  const names = (): string => [...rules.keys()].join(", ");
  if (typeof options !== "object" || options === null)
    throw callOptionError(
      call,
      `the options must be an object with ${names()}; got ${printableLiteral(options)}`,
    );
  for (const [name, value] of Object.entries(options)) {
    const rule = rules.get(name);
    if (rule === undefined)
      throw callOptionError(call, `${printableLiteral(name)} is not an option; the options are ${names()}`);
    const [expectedText, isValid] = rule;
    if (value !== undefined && !isValid(value))
      throw callOptionError(call, `${name} must be ${expectedText}; got ${printableLiteral(value)}`);
  }
}

export type FieldTree = { readonly [field: string]: true | FieldTree };

export type FilterSubject = {
  readonly noun: string;
  readonly fields: FieldTree | null;
  /** The event types that a filter or `waitFor` accepts. Default: any string. */
  readonly types?: readonly string[];
};

/** Throws a CheckoutError for an unknown field or event type, because such a filter matches nothing. */
export function checkFilter(
  call: "list" | "waitFor",
  filter: unknown,
  { noun, fields, types }: FilterSubject,
): void {
  if (typeof filter !== "object" || filter === null)
    throw callOptionError(
      call,
      `a filter must be an object with fields of the ${noun}; got ${printableLiteral(filter)}`,
    );
  if (fields !== null) checkFields(call, filter, { noun, prefix: "", fields });
  if (types !== undefined && "type" in filter && typeof filter.type === "string")
    checkType(call, filter.type, types);
}

/** Throws a CheckoutError for a text that no item would match. */
export function checkMatchText(text: string, { types }: FilterSubject): void {
  if (types !== undefined && !isUuid(text)) checkType("waitFor", text, types);
}

function checkType(call: string, text: string, types: readonly string[]): void {
  if (types.includes(text)) return;
  throw callOptionError(
    call,
    `no event has the type ${printableLiteral(text)}; the types are ${types.join(", ")}`,
  );
}

function checkFields(
  call: string,
  filter: object,
  { noun, prefix, fields }: { readonly noun: string; readonly prefix: string; readonly fields: FieldTree },
): void {
  for (const [name, value] of Object.entries(filter)) {
    const nestedFields = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (nestedFields === undefined) {
      const knownPaths = Object.keys(fields).map((field) => prefix + field);
      throw callOptionError(
        call,
        `${printableLiteral(prefix + name)} is not a field of the ${noun}; the fields are ${knownPaths.join(", ")}`,
      );
    }
    if (nestedFields !== true && typeof value === "object" && value !== null)
      checkFields(call, value, { noun, prefix: `${prefix}${name}.`, fields: nestedFields });
  }
}

function callOptionError(call: string, message: string): CheckoutError {
  const refusal = { status: 400, code: "invalid_parameter", requestId: "" } as const;
  return new CheckoutError({ ...refusal, message: `${call}: ${message}` });
}
