import * as z from "zod/mini";
import { PAYMENT_METHODS, type PaymentMethod } from "../checkout/checkout.ts";
import { wireSchema, type WireValue } from "../shape/wire-names.ts";
import { dialectSchema } from "../calibration/dialect-section.ts";
import { shopSection } from "../judge/shop.ts";
import type { Outcome } from "../outcome.ts";
import { rateLimitText, type RateLimit } from "../request/rate-limit.ts";
import { isHost, parseBaseUrl, parseSchedule, parseRateLimitText } from "./setting-text.ts";
import { MAX_DELIVERY_ATTEMPTS, type DeliverySchedule } from "../webhook/delivery.ts";
import { checkedText, requestedId, requestedPrice, storeShapes } from "./store-fields.ts";
import { ALL_SETTINGS, type FileValue, type SettingName, type SettingValue } from "./settings.ts";
import type { SettingKind } from "./setting-kinds.ts";
import { zodErrorOf, recordOf, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { parseDurationText, durationText } from "../duration.ts";

const DAY_MS = 86_400_000;
export const MAX_FILE_LENGTH = 2_000_000;
export const MAX_STORES = 1000;
const MAX_RETRIES = 100;

const parsedText = <Value extends string>(parse: (text: string) => Outcome<Value>) =>
  z.codec(checkedText(parse), z.custom<Value>(), {
    decode: (text) => valueOf(parse(text)),
    encode: (value) => value,
  });

function valueOf<Value>(result: Outcome<Value, unknown>): Value {
  if (!result.ok) throw new Error("the text was checked before");
  return result.value;
}

const duration = (minimum: number, maximum: number) =>
  z.codec(
    z.string().check(
      z.refine(
        (text) => {
          const milliseconds = parseDurationText(text) ?? 0;
          return milliseconds >= minimum && milliseconds <= maximum;
        },
        zodErrorOf([
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
      for (const { index, message } of schedule.ok ? [] : schedule.refusal)
        context.addIssue({ code: "custom", message, path: index === undefined ? [] : [index] });
    }),
    z.meta({ minItems: 1, maxItems: MAX_DELIVERY_ATTEMPTS }),
  ),
  z.custom<DeliverySchedule>(),
  { decode: (texts) => valueOf(parseSchedule(texts)), encode: (schedule) => schedule.map(durationText) },
);

const host = z.string().check(z.refine(isHost, "must be HOST or HOST:PORT"));

function settingSchema(kind: SettingKind): SettingSchemas[SettingName] {
  switch (kind.kind) {
    case "integer":
      return wholeNumber(kind.minimum, kind.maximum);
    case "duration":
      return duration(kind.minimum, kind.maximum);
    case "timeout":
      return duration(1, DAY_MS);
    case "rate":
      return rateLimit;
    case "schedule":
      return deliverySchedule;
    case "hosts":
      return z.array(host);
    case "text":
      return parsedText(kind.parse);
    case "texts":
      return z.array(parsedText(kind.parse));
  }
}

type SettingSchemas = {
  readonly [Name in SettingName]: z.ZodMiniType<SettingValue<Name>, FileValue<Name>>;
};

const sandbox = z.partial(
  z.strictObject(recordOf<SettingSchemas>(ALL_SETTINGS.map(({ name, kind }) => [name, settingSchema(kind)]))),
);

/** Names an environment variable, because the file itself must not contain secrets. */
const secret = z.strictObject(
  { env: z.string().check(z.regex(/^[A-Za-z_]\w{0,127}$/, "must be the name of an environment variable")) },
  {
    error: (issue) =>
      issue.code === "invalid_type"
        ? 'must be { "env": "NAME" }, the variable that contains the secret: the file never contains one'
        : undefined,
  },
);

const { storeFields, endpoint } = storeShapes();

const store = z.strictObject({
  ...storeFields,
  endpoints: z.optional(z.array(endpoint).check(z.maxLength(20))),
  apiKeys: z.optional(z.array(secret).check(z.maxLength(10))),
  signingSecret: z.optional(secret),
});

const target = z.strictObject({
  baseUrl: z
    .string()
    .check(
      z.refine(
        (text) => parseBaseUrl(text) !== undefined,
        "must be an address such as https://pay.example/v1, without user name, password or query",
      ),
    ),
  /**
   * Accepted but not read, because files of version 0.1.0 have it. The key comes from `targetVariable` (decision 85).
   */
  apiKey: z.optional(secret).check(z.meta({ deprecated: true })),
  storeId: z.optional(requestedId),
  timeout: z.optional(duration(1, DAY_MS)),
  retries: z.optional(wholeNumber(0, MAX_RETRIES)),
});
export type TargetSection = DomainOf<typeof target>;

export const configFile = z.strictObject({
  $schema: z.optional(z.string()),
  sandbox: z.optional(sandbox),
  shop: z.optional(shopSection),
  dialect: z.optional(dialectSchema()),
  stores: z.optional(z.array(store).check(z.minLength(1), z.maxLength(MAX_STORES))),
  targets: z.optional(
    z.record(
      z.string().check(z.regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "must be lower-case letters, digits, - or _")),
      target,
    ),
  ),
});
export type ConfigFile = DomainOf<typeof configFile>;

export type ConfigText = WireValue<z.input<typeof configFile>>;

export const NAMED_SHAPES = {
  CheckoutConfig: configFile,
  SandboxConfig: sandbox,
  StoreConfig: store,
  SecretConfig: secret,
  PriceConfig: requestedPrice,
  TargetConfig: target,
} as const;

export function configJsonSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(wireSchema(configFile), {
    io: "input",
    override: ({ jsonSchema }) => {
      if (jsonSchema.properties !== undefined) jsonSchema.additionalProperties ??= false;
    },
  });
}

export function paymentMethodsOf(names: readonly string[]): PaymentMethod[] {
  return PAYMENT_METHODS.filter((method) => names.includes(method));
}
