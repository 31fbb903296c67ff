// A new field needs a row here; its effect: core/config/plan.ts, sandbox/config/apply.ts. A new setting of the start
// also needs a row in core/config/settings.ts, and a field of `servedSettings` in core/control/sandbox.ts.
import { errorWords, messageWords } from "../issue-words.ts";
import type { Words } from "../language.ts";
import * as z from "zod/mini";
import {
  MAX_CHECKOUT_LIFETIME_MS,
  MIN_CHECKOUT_LIFETIME_MS,
  PAYMENT_METHODS,
  type PaymentMethod,
  BILLING_MODELS,
  MAX_PRICES,
} from "../checkout/checkout.ts";
import {
  parseReturnOrigin,
  parseReturnPath,
  RETURN_ORIGIN_SCHEMA,
  RETURN_PATH_SCHEMA,
  ROOT_PATH,
} from "../checkout/return-origin.ts";
import { isTestKey, TEST_KEY_SCHEMA } from "../credential.ts";
import { isSigningSecret, SIGNING_SECRET_SCHEMA } from "../sealed-secret.ts";
import { textUpTo, wholeNumber, type DomainOf } from "../control/operation.ts";
import { wireSchema } from "../control/wire-names.ts";
import { wordsOf, type Outcome } from "../outcome.ts";
import { parseListenAddress } from "../network/address.ts";
import { parsePortalUrl, parsePublicUrl } from "../network/public-url.ts";
import { rateLimitText, type RateLimit } from "../request/rate-limit.ts";
import { MAX_KEPT_REQUESTS } from "../request/logged-request.ts";
import {
  parseDurationText,
  durationText,
  isHost,
  parseBaseUrl,
  parseSchedule,
  parseRateLimitText,
} from "./setting-text.ts";
import {
  MAX_DELIVERIES_IN_FLIGHT,
  MAX_DELIVERY_ATTEMPTS,
  type DeliverySchedule,
} from "../webhook/delivery.ts";
import {
  SECRET_DESCRIPTION,
  SECRET_DESCRIPTION_ZH,
  codePointLength,
  containsSecret,
  printable,
  PRINTABLE_PATTERN,
  SECRET_PATTERN,
} from "../text.ts";
import { EVENT_PATTERNS, parseEventTypes } from "../webhook/event-types.ts";
import { parseTargetHost, TARGET_SCHEMA } from "../webhook/target.ts";
import { STORE_NAME_SCHEMA, storeNameFault } from "./store-name.ts";

const DAY_MS = 86_400_000;
/** Maximum size of the file, in characters. */
export const MAX_FILE_LENGTH = 2_000_000;
/** Maximum number of stores in a file. */
export const MAX_STORES = 1000;
const MAX_RETRIES = 100;

/** A UUID with a valid version. */
const VERSIONED_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** An id given in the file, so that it is the same in every sandbox. */
export const givenId = z
  .string()
  .check(
    z.regex(VERSIONED_UUID, "must be an id such as 0199a3c4-5d00-7000-8000-000000000001, in lower case"),
  );

const isLine = (text: string, minimum: number, maximum: number): boolean =>
  codePointLength(text) >= minimum && codePointLength(text) <= maximum && printable(text) === text;

const line = (minimum: number, maximum: number) =>
  z.string().check(
    z.refine(
      (text) => !containsSecret(text),
      errorWords([`must be free of ${SECRET_DESCRIPTION}`, `不得包含${SECRET_DESCRIPTION_ZH}`]),
    ),
    z.refine(
      (text) => isLine(text, minimum, maximum),
      errorWords([
        `must have ${minimum} to ${maximum} characters, and no invisible characters`,
        `应为 ${minimum} 到 ${maximum} 个字符，且没有不可见字符`,
      ]),
    ),
    z.meta({
      minLength: minimum,
      maxLength: maximum,
      pattern: PRINTABLE_PATTERN,
      not: { pattern: SECRET_PATTERN },
    }),
  );

type Form = Readonly<Record<string, unknown>>;

/** A text schema with a function that finds faults, and with the valid form as a JSON Schema. */
const judged = (faultOf: (text: string) => Words | undefined, form: Form) =>
  z.string().check(
    z.superRefine((text, context) => {
      const fault = faultOf(text);
      if (fault !== undefined) context.addIssue({ code: "custom", ...messageWords(fault) });
    }),
    z.meta(form),
  );

/** The name of a store. */
export const storeName = judged(storeNameFault, STORE_NAME_SCHEMA);

/** The name of a merchant. */
export const merchantName = line(1, 64);

/** A text that a parser of the core accepts; the parser's refusal is the message. */
const checked = (parse: (text: string) => Outcome<unknown>, form: Form = {}) =>
  judged((text) => {
    const read = parse(text);
    return read.ok ? undefined : wordsOf(read.refusal);
  }, form);

/** A text schema whose value is the result of a parser of the core. */
const parsed = <Value extends string>(parse: (text: string) => Outcome<Value>) =>
  z.codec(checked(parse), z.custom<Value>(), {
    decode: (text) => valueOf(parse(text)),
    encode: (value) => value,
  });

function valueOf<Value>(read: Outcome<Value, unknown>): Value {
  if (!read.ok) throw new Error("the text was checked before");
  return read.value;
}

const duration = (minimum: number, maximum: number) =>
  z.codec(
    z.string().check(
      z.refine(
        (text) => {
          const milliseconds = parseDurationText(text) ?? 0;
          return milliseconds >= minimum && milliseconds <= maximum;
        },
        errorWords([
          `must be a duration such as 10s or 30m, from ${durationText(minimum)} to ${durationText(maximum)}`,
          `应为 10s 或 30m 这样的时长，从 ${durationText(minimum)} 到 ${durationText(maximum)}`,
        ]),
      ),
    ),
    z.number(),
    { decode: (text) => parseDurationText(text) ?? 0, encode: durationText },
  );

const rateLimit = z.codec(
  z
    .string()
    .check(z.refine((text) => parseRateLimitText(text) !== undefined, "must be a rate such as 5/s, or off")),
  z.custom<RateLimit | "off">(),
  { decode: (text) => parseRateLimitText(text) ?? "off", encode: rateLimitText },
);

const deliverySchedule = z.codec(
  z.array(z.string()).check(
    z.superRefine((texts, context) => {
      const schedule = parseSchedule(texts);
      for (const { at, message } of schedule.ok ? [] : schedule.refusal)
        context.addIssue({ code: "custom", message, path: at === undefined ? [] : [at] });
    }),
    z.meta({ minItems: 1, maxItems: MAX_DELIVERY_ATTEMPTS }),
  ),
  z.custom<DeliverySchedule>(),
  { decode: (texts) => valueOf(parseSchedule(texts)), encode: (schedule) => schedule.map(durationText) },
);

const host = z.string().check(z.refine(isHost, "must be HOST or HOST:PORT"));

const originText = checked(parseReturnOrigin, RETURN_ORIGIN_SCHEMA);

/** A return address: an origin with a path; an origin alone stands for its root. */
export const returnOrigin = z.codec(
  z.union(
    [
      originText,
      z.strictObject({ origin: originText, path: z.optional(checked(parseReturnPath, RETURN_PATH_SCHEMA)) }),
    ],
    { error: 'must be an origin, or { "origin": "https://shop.example", "path": "/thanks" }' },
  ),
  z.object({ origin: z.string(), path: z.string() }),
  {
    decode: (given) =>
      typeof given === "string"
        ? { origin: given, path: ROOT_PATH }
        : { origin: given.origin, path: given.path ?? ROOT_PATH },
    encode: ({ origin, path }) => (path === ROOT_PATH ? origin : { origin, path }),
  },
);

/** The settings of a sandbox; missing fields have defaults. */
const sandbox = z.strictObject({
  port: z.optional(wholeNumber(0, 65_535)),
  rateLimit: z.optional(rateLimit),
  checkoutLifetime: z.optional(duration(MIN_CHECKOUT_LIFETIME_MS, MAX_CHECKOUT_LIFETIME_MS)),
  deliveryTimeout: z.optional(duration(1, DAY_MS)),
  deliverySchedule: z.optional(deliverySchedule),
  deliveriesInFlight: z.optional(wholeNumber(1, MAX_DELIVERIES_IN_FLIGHT)),
  allowHosts: z.optional(z.array(host)),
  allowControlHosts: z.optional(z.array(host)),
  allowTargets: z.optional(z.array(checked(parseTargetHost))),
  listen: z.optional(z.array(parsed(parseListenAddress))),
  publicUrl: z.optional(parsed(parsePublicUrl)),
  portalUrl: z.optional(parsed(parsePortalUrl)),
  keptRequests: z.optional(wholeNumber(0, MAX_KEPT_REQUESTS)),
});

/** The name of the variable that contains a secret; the file itself never contains secrets. */
const secret = z.strictObject(
  { env: z.string().check(z.regex(/^[A-Za-z_]\w{0,127}$/, "must be the name of an environment variable")) },
  {
    error: (issue) =>
      issue.code === "invalid_type"
        ? 'must be { "env": "NAME" }, the variable that contains the secret: the file never contains one'
        : undefined,
  },
);

/** A requested catalog price, with its optional fields. */
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

const eventPattern = checked((pattern) => parseEventTypes([pattern]), { enum: EVENT_PATTERNS });

const endpoint = z.strictObject({
  url: textUpTo(TARGET_SCHEMA.maxLength).check(z.meta(TARGET_SCHEMA)),
  events: z.optional(z.array(eventPattern).check(z.minLength(1), z.maxLength(20))),
  inOrder: z.optional(z.boolean()),
});

/** A list in which repetitions are refused, together with a file's other conflicts. */
const onceEach = <Item extends z.ZodMiniType>(item: Item) =>
  z.array(item).check(z.meta({ uniqueItems: true }));

/** The fields of a store that are not secret; a missing list stays unchanged. */
const storeFields = {
  id: givenId,
  name: storeName,
  merchant: z.optional(z.strictObject({ id: givenId, name: z.optional(merchantName) })),
  prices: z.optional(z.array(requestedPrice).check(z.maxLength(MAX_PRICES))),
  capabilities: z.optional(
    z.strictObject({
      paymentMethods: z.optional(onceEach(requestedPrice.shape.paymentMethod)),
      currencies: z.optional(onceEach(requestedPrice.shape.currency)),
    }),
  ),
  returnOrigins: z.optional(z.array(returnOrigin).check(z.maxLength(20))),
  endpoints: z.optional(z.array(endpoint).check(z.maxLength(20))),
};

const store = z.strictObject({
  ...storeFields,
  apiKeys: z.optional(z.array(secret).check(z.maxLength(10))),
  signingSecret: z.optional(secret),
});

/** A store with the values of its secrets, as sent to the sandbox. */
export const resolvedStore = z.strictObject({
  ...storeFields,
  apiKeys: z.optional(
    z
      .array(z.string().check(z.refine(isTestKey, "must be a test key"), z.meta(TEST_KEY_SCHEMA)))
      .check(z.maxLength(10)),
  ),
  signingSecret: z.optional(
    z.string().check(z.refine(isSigningSecret, "must be a signing secret"), z.meta(SIGNING_SECRET_SCHEMA)),
  ),
});
/** A requested store, with its secrets resolved. */
export type RequestedStore = DomainOf<typeof resolvedStore>;
/** A requested catalog price. */
export type PriceInput = NonNullable<RequestedStore["prices"]>[number];

const target = z.strictObject({
  baseUrl: z
    .string()
    .check(
      z.refine(
        (text) => parseBaseUrl(text) !== undefined,
        "must be an address such as https://pay.example/v1, without user name, password or query",
      ),
    ),
  apiKey: secret,
  storeId: z.optional(givenId),
  timeout: z.optional(duration(1, DAY_MS)),
  retries: z.optional(wholeNumber(0, MAX_RETRIES)),
});
/** A named service that clients can use as their target. */
export type NamedTarget = DomainOf<typeof target>;

/** The schema of the file, in the names of the code; `wireSchema` derives the schema of the text. */
export const configFile = z.strictObject({
  $schema: z.optional(z.string()),
  sandbox: z.optional(sandbox),
  stores: z.optional(z.array(store).check(z.minLength(1), z.maxLength(MAX_STORES))),
  targets: z.optional(
    z.record(
      z.string().check(z.regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "must be lower-case letters, digits, - or _")),
      target,
    ),
  ),
});
/** The content of `checkout.config.json`. */
export type ConfigFile = DomainOf<typeof configFile>;
/** The settings of a sandbox in the file. */
export type SandboxSettings = NonNullable<ConfigFile["sandbox"]>;

/** The JSON Schema of the file, for editors: part of the package, and also served by the sandbox. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(wireSchema(configFile), {
    io: "input",
    override: ({ jsonSchema }) => {
      if (jsonSchema.properties !== undefined) jsonSchema.additionalProperties ??= false;
    },
  });
}

/** The payment methods among a list of names; other names are dropped. */
export function paymentMethodsOf(names: readonly string[]): PaymentMethod[] {
  return PAYMENT_METHODS.filter((method) => names.includes(method));
}
