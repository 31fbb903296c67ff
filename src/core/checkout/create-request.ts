import * as z from "zod/mini";
import { PAYMENT_METHODS, type Terms } from "./checkout.ts";
import { accept, refuse, type Outcome } from "../outcome.ts";
import { A_SECRET, codePointLength, holdsSecret, printableLiteral } from "../text.ts";

/** The value is not repeated in the refusal. */
const NO_SECRET = `free of ${A_SECRET}`;

const text = (minimum: number, maximum: number, expected: string) =>
  z.string(expected).check(
    z.refine((value) => !holdsSecret(value), { error: NO_SECRET, abort: true }),
    z.refine((value) => within(codePointLength(value), minimum, maximum), expected),
  );

const order_id = text(1, 32, "a string of 1 to 32 characters");
const description = z.optional(text(0, 128, "a string of at most 128 characters"));

const bySum = z.strictObject({
  order_id,
  amount_minor: z
    .int(`an integer from 1 to ${Number.MAX_SAFE_INTEGER}, in minor units`)
    .check(z.minimum(1, `an integer from 1 to ${Number.MAX_SAFE_INTEGER}, in minor units`)),
  currency: z
    .string("three upper-case letters such as EUR")
    .check(z.regex(/^[A-Z]{3}$/, "three upper-case letters such as EUR")),
  payment_method: z.enum(PAYMENT_METHODS, PAYMENT_METHODS.join(" or ")),
  description,
});

const byPrice = z.strictObject({
  order_id,
  price_id: text(1, 64, "a string of 1 to 64 characters"),
  description,
});

const SET_BY_PRICE = ["amount_minor", "currency", "payment_method"] as const;

/** The body of a create, in either of its two forms (interface 9, 10; decision 7). */
export type CreateRequest = z.infer<typeof bySum> | z.infer<typeof byPrice>;

/**
 * Parses the body of a create. Refuses with `conflicting_parameters`, `unknown_parameter`, `missing_parameter` or
 * `invalid_parameter`, in that order; the message names the field, what was expected and what came.
 */
export function parseCreateRequest(body: unknown): Outcome<CreateRequest> {
  if (!isObject(body)) {
    return refuse("invalid_parameter", `the body must be a JSON object; got ${printableLiteral(body)}`);
  }
  const priced = Object.hasOwn(body, "price_id");
  const twice = priced ? SET_BY_PRICE.filter((field) => Object.hasOwn(body, field)) : [];
  if (twice.length > 0) {
    return refuse(
      "conflicting_parameters",
      `price_id already sets amount, currency and payment method; leave out ${twice.join(", ")}, or leave out price_id`,
    );
  }
  const schema = priced ? byPrice : bySum;
  const unknown = Object.keys(body).find((field) => !Object.hasOwn(schema.shape, field));
  if (unknown !== undefined) {
    return refuse(
      "unknown_parameter",
      `${printableLiteral(unknown)} is not a field of this request; fields: ${Object.keys(schema.shape).join(", ")}`,
    );
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return accept(parsed.data);
  return refuseIssues(parsed.error.issues, body);
}

/** Every body that leads to these terms: a price has a description of its own, which the body may have left to it. */
export function requestsFor(terms: Terms): readonly CreateRequest[] {
  const { orderId, priceId } = terms;
  const described = terms.description === null ? {} : { description: terms.description };
  if (priceId !== null) {
    const priced = { order_id: orderId, price_id: priceId };
    return [priced, { ...priced, ...described }];
  }
  const { amountMinor: amount_minor, currency, paymentMethod: payment_method } = terms;
  return [{ order_id: orderId, amount_minor, currency, payment_method, ...described }];
}

const fields = { ...bySum.shape, ...byPrice.shape };

/** What is wrong with the value of one field; undefined where nothing is. */
export function fieldFault(field: keyof typeof fields, value: unknown): string | undefined {
  const parsed = fields[field].safeParse(value);
  return parsed.success ? undefined : mustBe(field, parsed.error.issues[0]?.message ?? "valid", value);
}

function refuseIssues(issues: readonly z.core.$ZodIssue[], body: Record<string, unknown>): Outcome<never> {
  const fieldOf = (issue: z.core.$ZodIssue): string => String(issue.path[0]);
  const missing = issues.find((issue) => !Object.hasOwn(body, fieldOf(issue)));
  if (missing !== undefined) {
    return refuse("missing_parameter", `${fieldOf(missing)} is required: ${missing.message}`);
  }
  const [issue] = issues;
  if (issue === undefined) throw new Error("a failed parse names at least one issue");
  const field = fieldOf(issue);
  return refuse("invalid_parameter", mustBe(field, issue.message, body[field]));
}

function mustBe(field: string, expected: string, value: unknown): string {
  const got = expected === NO_SECRET ? "" : `; got ${printableLiteral(value)}`;
  return `${field} must be ${expected}${got}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function within(value: number, minimum: number, maximum: number): boolean {
  return value >= minimum && value <= maximum;
}
