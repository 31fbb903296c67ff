import * as z from "zod/mini";
import { BILLING_MODELS, MAX_PRICES, PAYMENT_METHODS } from "../checkout/checkout.ts";
import { EVENT_PATTERNS, parseEventTypes } from "../checkout/event-types.ts";
import {
  parseReturnOrigin,
  parseReturnPath,
  RETURN_ORIGIN_SCHEMA,
  RETURN_PATH_SCHEMA,
  ROOT_PATH,
} from "../checkout/return-origin.ts";
import { isTestKey, TEST_KEY_SCHEMA } from "../credential.ts";
import type { Words } from "../language.ts";
import { lazyValue } from "../lazy.ts";
import { refusalWords, type Outcome } from "../outcome.ts";
import { textUpTo, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { PRINTABLE_PATTERN, SECRET_PATTERN } from "../text.ts";
import { MAX_CERTIFICATES_LENGTH, parseCertificates } from "../webhook/certificates.ts";
import { isSigningSecret, SIGNING_SECRET_SCHEMA } from "../webhook/sealed-secret.ts";
import { TARGET_SCHEMA } from "../webhook/target.ts";
import { textLineFault, STORE_NAME_SCHEMA, storeNameFault } from "./store-name.ts";

const VERSIONED_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Chosen in the configuration file, so that the id is the same in every sandbox. */
export const requestedId = z
  .string()
  .check(
    z.regex(VERSIONED_UUID, "must be an id such as 0199a3c4-5d00-7000-8000-000000000001, in lower case"),
  );

type JsonSchema = Readonly<Record<string, unknown>>;

const textSchema = (faultOf: (text: string) => Words | undefined, form: JsonSchema) =>
  z.string().check(
    z.superRefine((text, context) => {
      const [message, chinese] = faultOf(text) ?? [];
      if (message !== undefined) context.addIssue({ code: "custom", message, params: { chinese } });
    }),
    z.meta(form),
  );

const line = (minLength: number, maxLength: number) =>
  textSchema((text) => textLineFault(text, minLength, maxLength), {
    minLength,
    maxLength,
    pattern: PRINTABLE_PATTERN,
    not: { pattern: SECRET_PATTERN },
  });

export const storeName = textSchema(storeNameFault, STORE_NAME_SCHEMA);

const merchantName = line(1, 64);

export const checkedText = (parse: (text: string) => Outcome<unknown>, form: JsonSchema = {}) =>
  textSchema((text) => {
    const result = parse(text);
    return result.ok ? undefined : refusalWords(result.refusal);
  }, form);

export const certificates = checkedText(parseCertificates, { maxLength: MAX_CERTIFICATES_LENGTH });

const originText = checkedText(parseReturnOrigin, RETURN_ORIGIN_SCHEMA);

/** An origin alone stands for its root path. */
export const returnOrigin = z.codec(
  z.union(
    [
      originText,
      z.strictObject({
        origin: originText,
        path: z.optional(checkedText(parseReturnPath, RETURN_PATH_SCHEMA)),
      }),
    ],
    { error: 'must be an origin, or { "origin": "https://shop.example", "path": "/thanks" }' },
  ),
  z.object({ origin: z.string(), path: z.string() }),
  {
    decode: (givenValue) =>
      typeof givenValue === "string"
        ? { origin: givenValue, path: ROOT_PATH }
        : { origin: givenValue.origin, path: givenValue.path ?? ROOT_PATH },
    encode: ({ origin, path }) => (path === ROOT_PATH ? origin : { origin, path }),
  },
);

export const requestedPrice = z.strictObject({
  id: line(1, 64),
  amountMinor: wholeNumber(1),
  currency: z.string().check(z.regex(/^[A-Z]{3}$/, "must be three upper-case letters such as EUR")),
  paymentMethod: z.enum(PAYMENT_METHODS, { error: `must be ${PAYMENT_METHODS.join(" or ")}` }),
  description: z.optional(line(0, 128)),
  billingModel: z.optional(
    z.enum(BILLING_MODELS, { error: `must be ${BILLING_MODELS.join(" or ")}: a price is paid once` }),
  ),
  approved: z.optional(z.boolean()),
  retired: z.optional(z.boolean()),
});

const uniqueList = <Item extends z.ZodMiniType>(item: Item) =>
  z.array(item).check(z.meta({ uniqueItems: true }));

export const storeShapes = lazyValue(() => {
  const eventPattern = checkedText((pattern) => parseEventTypes([pattern]), { enum: EVENT_PATTERNS });
  const endpoint = z.strictObject({
    url: textUpTo(TARGET_SCHEMA.maxLength).check(z.meta(TARGET_SCHEMA)),
    events: z.optional(z.array(eventPattern).check(z.minLength(1), z.maxLength(20))),
    inOrder: z.optional(z.boolean()),
    /** CA certificates in PEM, or the path of a PEM file relative to the current folder. */
    ca: z.optional(textUpTo(MAX_CERTIFICATES_LENGTH).check(z.minLength(1))),
  });
  const resolvedEndpoint = z.extend(endpoint, { ca: z.optional(certificates) });

  const storeFields = {
    id: requestedId,
    name: storeName,
    merchant: z.optional(z.strictObject({ id: requestedId, name: z.optional(merchantName) })),
    prices: z.optional(z.array(requestedPrice).check(z.maxLength(MAX_PRICES))),
    capabilities: z.optional(
      z.strictObject({
        paymentMethods: z.optional(uniqueList(requestedPrice.shape.paymentMethod)),
        currencies: z.optional(uniqueList(requestedPrice.shape.currency)),
      }),
    ),
    returnOrigins: z.optional(z.array(returnOrigin).check(z.maxLength(20))),
  };

  const requestedStore = z.strictObject({
    ...storeFields,
    endpoints: z.optional(z.array(resolvedEndpoint).check(z.maxLength(20))),
    apiKeys: z.optional(
      z
        .array(z.string().check(z.refine(isTestKey, "must be a test key"), z.meta(TEST_KEY_SCHEMA)))
        .check(z.maxLength(10)),
    ),
    signingSecret: z.optional(
      z.string().check(z.refine(isSigningSecret, "must be a signing secret"), z.meta(SIGNING_SECRET_SCHEMA)),
    ),
  });
  return { storeFields, endpoint, requestedStore };
});
export type RequestedStore = DomainOf<ReturnType<typeof storeShapes>["requestedStore"]>;
export type PriceInput = NonNullable<RequestedStore["prices"]>[number];
