import * as z from "zod/mini";
import { PAYMENT_METHODS, type PurchaseTerms } from "./checkout.ts";
import type { PriceTerms } from "./price.ts";
import type { DomainName } from "../shape/wire-names.ts";
import { isRecord } from "../json.ts";
import { lazyValue } from "../lazy.ts";
import { accept, type Outcome, type Refused } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { codePointLength, containsSecret, printableLiteral, printableName } from "../text.ts";

const NO_SECRET = "no secret";

const boundedText = (minimum: number, maximum: number, expectedText: string) =>
  z.string(expectedText).check(
    z.refine((value) => !containsSecret(value), { error: NO_SECRET, abort: true }),
    z.refine((value) => {
      const length = codePointLength(value);
      return length >= minimum && length <= maximum;
    }, expectedText),
  );

const AMOUNT_TEXT = `an integer from 1 to ${Number.MAX_SAFE_INTEGER}, in minor units`;
const CURRENCY_TEXT = "three upper-case letters such as EUR";

/** In code points (interface 9). */
export const MAX_ORDER_ID_LENGTH = 32;
/** In code points; the interface states no limit. */
export const MAX_PRICE_ID_LENGTH = 64;

export const createRequestShapes = lazyValue(() => {
  const order_id = boundedText(1, MAX_ORDER_ID_LENGTH, `a string of 1 to ${MAX_ORDER_ID_LENGTH} characters`);
  const optionalFields = {
    description: z.optional(boundedText(0, 128, "a string of at most 128 characters")),
  };
  const amountShape = z.strictObject({
    order_id,
    amount_minor: z.int(AMOUNT_TEXT).check(z.minimum(1, AMOUNT_TEXT)),
    currency: z.string(CURRENCY_TEXT).check(z.regex(/^[A-Z]{3}$/, CURRENCY_TEXT)),
    payment_method: z.enum(PAYMENT_METHODS, PAYMENT_METHODS.join(" or ")),
    ...optionalFields,
  });
  const priceShape = z.strictObject({
    order_id,
    price_id: boundedText(1, MAX_PRICE_ID_LENGTH, `a string of 1 to ${MAX_PRICE_ID_LENGTH} characters`),
    ...optionalFields,
  });
  const fields = { ...amountShape.shape, ...priceShape.shape };
  return { amountShape, priceShape, fields };
});

const FIELDS_SET_BY_PRICE = ["amount_minor", "currency", "payment_method"] as const;

type CreateShapes = ReturnType<typeof createRequestShapes>;
export type CreateRequest = z.infer<CreateShapes["amountShape" | "priceShape"]>;

/** Refuses conflicting, unknown, missing and invalid parameters, in that order, naming the field. */
export function parseCreateRequest(body: unknown): Outcome<CreateRequest> {
  if (!isRecord(body)) {
    return refuseFact("no_object", { received: printableLiteral(body) });
  }
  const hasPrice = Object.hasOwn(body, "price_id");
  const repeatedFields = hasPrice ? FIELDS_SET_BY_PRICE.filter((field) => Object.hasOwn(body, field)) : [];
  if (repeatedFields.length > 0) {
    return refuseFact("conflicting_parameters", { fields: repeatedFields });
  }
  const schema = createRequestShapes()[hasPrice ? "priceShape" : "amountShape"];
  const unknownField = Object.keys(body).find((field) => !Object.hasOwn(schema.shape, field));
  if (unknownField !== undefined) {
    const knownFields = Object.keys(schema.shape);
    const [field, receivedText] = [printableName(unknownField), printableLiteral(unknownField)];
    return refuseFact("unknown_parameter", { field, received: receivedText, fields: knownFields });
  }
  const result = schema.safeParse(body);
  if (result.success) return accept(result.data);
  return refuseIssues(result.error.issues, body);
}

export function purchaseTerms(request: CreateRequest, price: PriceTerms | undefined): PurchaseTerms {
  const { order_id: orderId, description = price?.description ?? null } = request;
  if (!("price_id" in request)) {
    const { amount_minor: amountMinor, currency, payment_method: paymentMethod } = request;
    return { orderId, amountMinor, currency, paymentMethod, description, priceId: null } satisfies AllFields;
  }
  if (price === undefined) throw new Error(`the price ${request.price_id} was not looked up`);
  const { amountMinor, currency, paymentMethod } = price;
  const { price_id: priceId } = request;
  return { orderId, amountMinor, currency, paymentMethod, description, priceId } satisfies AllFields;
}

type AllFields = Readonly<Record<DomainName<CreateField>, unknown>>;

/** Returns every body that gives these terms: a description may come from the body or from the price. */
export function createRequestsFor(terms: PurchaseTerms): readonly [CreateRequest, ...CreateRequest[]] {
  const { orderId, amountMinor, currency, paymentMethod, description, priceId, ...otherTerms } = terms;
  otherTerms satisfies Readonly<Record<PropertyKey, never>>;
  const descriptionField = description === null ? {} : { description };
  if (priceId !== null) {
    const pricedBody = { order_id: orderId, price_id: priceId };
    return description === null ? [pricedBody] : [pricedBody, { ...pricedBody, ...descriptionField }];
  }
  const amountTerms = { amount_minor: amountMinor, currency, payment_method: paymentMethod };
  return [{ order_id: orderId, ...amountTerms, ...descriptionField }];
}

export type CreateField = keyof CreateShapes["fields"];

export function fieldsOfCreate(): readonly CreateField[] {
  return Object.keys(createRequestShapes().fields) as CreateField[];
}

export function fieldRefusal(field: CreateField, value: unknown): Refused | undefined {
  const result = createRequestShapes().fields[field].safeParse(value);
  return result.success ? undefined : refuseForm(field, result.error.issues[0]?.message ?? "valid", value);
}

function refuseIssues(
  issues: readonly z.core.$ZodIssue[],
  body: Readonly<Record<string, unknown>>,
): Outcome<never> {
  const fieldOf = (issue: z.core.$ZodIssue): string => String(issue.path[0]);
  const missingIssue = issues.find((issue) => !Object.hasOwn(body, fieldOf(issue)));
  if (missingIssue !== undefined) {
    return refuseFact("missing_parameter", { field: fieldOf(missingIssue), form: missingIssue.message });
  }
  const [issue] = issues;
  if (issue === undefined) throw new Error("a failed parse names at least one issue");
  const field = fieldOf(issue);
  return refuseForm(field, issue.message, body[field]);
}

function refuseForm(field: string, form: string, value: unknown): Refused {
  return form === NO_SECRET
    ? refuseFact("field_with_secret", { field })
    : refuseFact("invalid_parameter", { field, form, received: printableLiteral(value) });
}
