import { DEFAULT_CHECKOUT_LIFETIME_MS } from "../checkout/checkout.ts";
import { DEFAULT_RATE_LIMIT, rateLimitText } from "../request/rate-limit.ts";
import { DEFAULT_KEPT_REQUESTS } from "../request/logged-request.ts";
import {
  DEFAULT_DELIVERIES_IN_FLIGHT,
  DEFAULT_DELIVERY_SCHEDULE,
  DEFAULT_DELIVERY_TIMEOUT_MS,
} from "../webhook/delivery.ts";
import type { SandboxSettings } from "./schema.ts";
import type { ServedSettings } from "./shapes.ts";
import { parseRateLimitText, scheduleText } from "./setting-text.ts";
import { durationText } from "../duration.ts";

/** The name of a setting in the file, in camelCase. */
type SettingField = keyof SandboxSettings;

/** A setting of `sandbox start`: its names, its value in a running sandbox, and the value as text. */
type Spec<Field extends SettingField> = {
  /** The option of `sandbox start`, in camelCase; default: the field's name. */
  readonly option?: string;
  readonly live: (served: ServedSettings) => SandboxSettings[Field];
  readonly text: (value: NonNullable<SandboxSettings[Field]>) => string;
  /** Default: no value. */
  readonly byDefault?: SandboxSettings[Field];
};

/** A setting of any field, with the requested and the running value as text. */
type Setting = {
  readonly field: SettingField;
  readonly option: string;
  /** Undefined if the setting was not requested. */
  readonly wanted: (settings: SandboxSettings) => string | undefined;
  readonly live: (served: ServedSettings) => string;
  readonly byDefault: string;
  readonly value: (served: ServedSettings) => unknown;
};

/** A requested setting that differs from the running sandbox, with both values as text. */
type DifferentSetting = Pick<Setting, "field" | "option"> & {
  readonly wanted: string;
  readonly live: string;
};

const NO_VALUE_TEXT = "none";

/** All settings that a file can contain, in display order. */
const SETTINGS: readonly Setting[] = [
  createSetting("port", { live: ({ port }) => port, text: String }),
  createSetting("rateLimit", {
    live: ({ rateLimit }) => parseRateLimitText(rateLimit),
    text: rateLimitText,
    byDefault: DEFAULT_RATE_LIMIT,
  }),
  createSetting("checkoutLifetime", {
    live: ({ checkoutLifetimeMs }) => checkoutLifetimeMs,
    text: durationText,
    byDefault: DEFAULT_CHECKOUT_LIFETIME_MS,
  }),
  createSetting("deliveryTimeout", {
    live: ({ deliveryTimeoutMs }) => deliveryTimeoutMs,
    text: durationText,
    byDefault: DEFAULT_DELIVERY_TIMEOUT_MS,
  }),
  createSetting("deliverySchedule", {
    live: ({ deliveryScheduleMs }) => deliveryScheduleMs,
    text: scheduleText,
    byDefault: DEFAULT_DELIVERY_SCHEDULE,
  }),
  createSetting("deliveriesInFlight", {
    live: ({ deliveriesInFlight }) => deliveriesInFlight,
    text: String,
    byDefault: DEFAULT_DELIVERIES_IN_FLIGHT,
  }),
  createSetting("allowHosts", { option: "allowHost", live: ({ allowHosts }) => allowHosts, text: listText }),
  createSetting("allowControlHosts", {
    option: "allowControlHost",
    live: ({ allowControlHosts }) => allowControlHosts,
    text: listText,
  }),
  createSetting("allowTargets", {
    option: "allowTarget",
    live: ({ allowTargets }) => allowTargets,
    text: listText,
  }),
  createSetting("listen", { live: ({ listen }) => listen, text: listText }),
  createSetting("publicUrl", { live: ({ publicUrl }) => publicUrl ?? undefined, text: String }),
  createSetting("portalUrl", { live: ({ portalUrl }) => portalUrl ?? undefined, text: String }),
  createSetting("keptRequests", {
    live: ({ keptRequests }) => keptRequests,
    text: String,
    byDefault: DEFAULT_KEPT_REQUESTS,
  }),
];

/** The requested settings that differ in a running sandbox. Settings that were not requested are not compared. */
export function findDifferentSettings(
  wanted: SandboxSettings,
  served: ServedSettings,
): readonly DifferentSetting[] {
  const { port, ...rest } = wanted;
  // 0 means any port.
  const compared = port === undefined || port === 0 ? rest : wanted;
  return SETTINGS.flatMap(({ field, option, wanted: wantedIn, live: liveIn }) => {
    const [text, live] = [wantedIn(compared), liveIn(served)];
    return text === undefined || text === live ? [] : [{ field, option, wanted: text, live }];
  });
}

/** The settings of a running sandbox that differ from the defaults, without the port, which belongs to the process. */
export function selectChangedSettings(served: ServedSettings): SandboxSettings {
  return Object.fromEntries(findChangedSettings(served).map(({ field, value }) => [field, value(served)]));
}

/** The field and the value, as text, of each setting that differs from the default. */
export function changedSettingTexts(served: ServedSettings): readonly (readonly [SettingField, string])[] {
  return findChangedSettings(served).map(({ field, live }) => [field, live(served)]);
}

/** Every setting of a running sandbox as text, with its option and whether it is the default. */
export function servedSettingTexts(
  served: ServedSettings,
): readonly { readonly option: string; readonly text: string; readonly isDefault: boolean }[] {
  return SETTINGS.map(({ option, live, byDefault, field }) => ({
    option: `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    text: live(served),
    isDefault: field === "port" || live(served) === byDefault,
  }));
}

/** Settings by the names of their options. */
export function optionsOf(settings: SandboxSettings): Readonly<Record<string, unknown>> {
  const given = SETTINGS.filter(({ field }) => settings[field] !== undefined);
  return Object.fromEntries(given.map(({ field, option }) => [option, settings[field]]));
}

/** The settings among the options of a start; the inverse of `optionsOf`. */
export function settingsIn(options: Readonly<Record<string, unknown>>): SandboxSettings {
  const given = SETTINGS.filter(({ option }) => options[option] !== undefined);
  return Object.fromEntries(given.map(({ field, option }) => [field, options[option]]));
}

function findChangedSettings(served: ServedSettings): readonly Setting[] {
  return SETTINGS.filter(({ field, live, byDefault }) => field !== "port" && live(served) !== byDefault);
}

function createSetting<Field extends SettingField>(field: Field, spec: Spec<Field>): Setting {
  const { option = field, live, text, byDefault } = spec;
  const textOf = (value: SandboxSettings[Field] | null): string | undefined =>
    value === undefined || value === null ? undefined : text(value);
  return {
    field,
    option,
    wanted: (settings) => textOf(settings[field]),
    live: (served) => textOf(live(served)) ?? NO_VALUE_TEXT,
    byDefault: textOf(byDefault ?? null) ?? NO_VALUE_TEXT,
    value: live,
  };
}

/** A list as text, sorted and without duplicates. */
function listText(values: readonly string[]): string {
  return [...new Set(values)].toSorted().join(",") || NO_VALUE_TEXT;
}
