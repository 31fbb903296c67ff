// Fields of a store that the control API and snapshots share with the configuration file. Separate from the schema of
// the whole file, which most commands do not need.
import * as z from "zod/mini";
import { BILLING_MODELS, PAYMENT_METHODS } from "../checkout/checkout.ts";
import {
  parseReturnOrigin,
  parseReturnPath,
  RETURN_ORIGIN_SCHEMA,
  RETURN_PATH_SCHEMA,
  ROOT_PATH,
} from "../checkout/return-origin.ts";
import { MAX_CERTIFICATES_LENGTH, parseCertificates } from "../webhook/certificates.ts";
import type { Words } from "../language.ts";
import { wordsOf, type Outcome } from "../outcome.ts";
import { PRINTABLE_PATTERN, SECRET_PATTERN } from "../text.ts";
import { lineFault, STORE_NAME_SCHEMA, storeNameFault } from "./store-name.ts";
import { wholeNumber } from "../shape/fields.ts";

const VERSIONED_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** An id given in the file, so that it is the same in every sandbox. */
export const givenId = z
  .string()
  .check(
    z.regex(VERSIONED_UUID, "must be an id such as 0199a3c4-5d00-7000-8000-000000000001, in lower case"),
  );

type Form = Readonly<Record<string, unknown>>;

/** A text schema with a function that finds faults, and with the valid form as a JSON Schema. */
const judgedText = (faultOf: (text: string) => Words | undefined, form: Form) =>
  z.string().check(
    z.superRefine((text, context) => {
      const [message, chinese] = faultOf(text) ?? [];
      if (message !== undefined) context.addIssue({ code: "custom", message, params: { chinese } });
    }),
    z.meta(form),
  );

const line = (minLength: number, maxLength: number) =>
  judgedText((text) => lineFault(text, minLength, maxLength), {
    minLength,
    maxLength,
    pattern: PRINTABLE_PATTERN,
    not: { pattern: SECRET_PATTERN },
  });

export const storeName = judgedText(storeNameFault, STORE_NAME_SCHEMA);

export const merchantName = line(1, 64);

/** A text schema with a parser of the core, whose refusal is the message. */
export const checkedText = (parse: (text: string) => Outcome<unknown>, form: Form = {}) =>
  judgedText((text) => {
    const result = parse(text);
    return result.ok ? undefined : wordsOf(result.refusal);
  }, form);

export const certificates = checkedText(parseCertificates, { maxLength: MAX_CERTIFICATES_LENGTH });

const originText = checkedText(parseReturnOrigin, RETURN_ORIGIN_SCHEMA);

/** A return address: an origin with a path; an origin alone stands for its root. */
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
