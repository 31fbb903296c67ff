// One row of SETTINGS defines flag, environment variable, help, docs/settings.md, the field of `checkout.config.json`
// and the reported value.
import {
  DEFAULT_CHECKOUT_LIFETIME_MS,
  MAX_CHECKOUT_LIFETIME_MS,
  MIN_CHECKOUT_LIFETIME_MS,
} from "../checkout/checkout.ts";
import { durationText } from "../duration.ts";
import type { OptionHelp } from "../help/map.ts";
import { parseListenAddress } from "../network/address.ts";
import { parsePortalUrl, parsePublicUrl } from "../network/public-url.ts";
import { DEFAULT_KEPT_REQUESTS, MAX_KEPT_REQUESTS } from "../request/logged-request.ts";
import { BUCKET_OWNER, DEFAULT_RATE_LIMIT, rateLimitText } from "../request/rate-limit.ts";
import { camelCase } from "../text.ts";
import {
  DEFAULT_DELIVERIES_IN_FLIGHT,
  DEFAULT_DELIVERY_SCHEDULE,
  DEFAULT_DELIVERY_TIMEOUT_MS,
  MAX_DELIVERIES_IN_FLIGHT,
} from "../webhook/delivery.ts";
import { parseTargetHost } from "../webhook/target.ts";
import {
  KIND_CODECS,
  type SettingKind,
  type SettingKindName,
  type ServedValueOf,
  type FileValueOf,
  type UnitOf,
  type ValueOf,
} from "./setting-kinds.ts";
import { parseFileName, scheduleText } from "./setting-text.ts";

type Setting = {
  readonly kind: SettingKind;
  readonly flags: `--${string} <${string}>`;
  readonly help: OptionHelp;
  /** `exec` accepts the settings of every scope except `process`. */
  readonly scope: "process" | "service" | "reach" | "delivery";
  readonly defaultValue?: ValueOf<SettingKindName>;
  readonly isInKit?: true;
  readonly effect: string;
};

/** Decision 1. The sandbox may listen on another port, so clients must not assume this one. */
export const DEFAULT_PORT = 4242;

const SETTINGS = {
  port: {
    kind: { kind: "integer", minimum: 0, maximum: 65_535 },
    flags: "--port <port>",
    help: {
      text: "port to listen on, or 0 for any free port",
      default: `${DEFAULT_PORT}, or the next free port`,
    },
    scope: "process",
    isInKit: true,
    effect: "host/listen.ts",
  },
  rateLimit: {
    kind: { kind: "rate" },
    flags: "--rate-limit <rate>",
    help: {
      text: `requests per second for each ${BUCKET_OWNER}, such as 5/s, or off`,
      default: rateLimitText(DEFAULT_RATE_LIMIT),
    },
    scope: "service",
    defaultValue: DEFAULT_RATE_LIMIT,
    isInKit: true,
    effect: "sandbox/sandbox.ts",
  },
  checkoutLifetime: {
    kind: { kind: "duration", minimum: MIN_CHECKOUT_LIFETIME_MS, maximum: MAX_CHECKOUT_LIFETIME_MS },
    flags: "--checkout-lifetime <duration>",
    help: {
      text: "how long a new checkout can be paid, 5m to 24h",
      default: durationText(DEFAULT_CHECKOUT_LIFETIME_MS),
    },
    scope: "service",
    defaultValue: DEFAULT_CHECKOUT_LIFETIME_MS,
    isInKit: true,
    effect: "sandbox/checkout/create.ts",
  },
  deliveryTimeout: {
    kind: { kind: "timeout" },
    flags: "--delivery-timeout <duration>",
    help: {
      text: "timeout for an endpoint's answer to an event",
      default: durationText(DEFAULT_DELIVERY_TIMEOUT_MS),
    },
    scope: "delivery",
    defaultValue: DEFAULT_DELIVERY_TIMEOUT_MS,
    effect: "sandbox/webhook/post.ts",
  },
  deliverySchedule: {
    kind: { kind: "schedule" },
    flags: "--delivery-schedule <delays>",
    help: {
      text: "delay before each attempt of a delivery; the first must be 0s",
      default: scheduleText(DEFAULT_DELIVERY_SCHEDULE),
    },
    scope: "delivery",
    defaultValue: DEFAULT_DELIVERY_SCHEDULE,
    effect: "sandbox/webhook/record-result.ts",
  },
  deliveriesInFlight: {
    kind: { kind: "integer", minimum: 1, maximum: MAX_DELIVERIES_IN_FLIGHT },
    flags: "--deliveries-in-flight <n>",
    help: {
      text: `maximum number of concurrent deliveries to one endpoint, 1 to ${MAX_DELIVERIES_IN_FLIGHT}; one at a time for each order`,
      default: String(DEFAULT_DELIVERIES_IN_FLIGHT),
    },
    scope: "delivery",
    defaultValue: DEFAULT_DELIVERIES_IN_FLIGHT,
    effect: "sandbox/webhook/take-due.ts",
  },
  like: {
    kind: { kind: "text", parse: parseFileName },
    flags: "--like <file>",
    help: {
      text: "file with the dialect of new stores (error codes, events and headers of another service), written by calibrate --write-dialect",
      default: "the sandbox's own",
    },
    scope: "service",
    effect: "host/with-service.ts",
  },
  allowHosts: {
    kind: { kind: "hosts" },
    flags: "--allow-host <host>",
    help: "additional Host header to accept for the v1 API and the payment pages: HOST (without a port, or with the sandbox's port) or HOST:PORT (repeatable)",
    scope: "reach",
    effect: "sandbox/sandbox.ts",
  },
  allowControlHosts: {
    kind: { kind: "hosts" },
    flags: "--allow-control-host <host>",
    help: {
      text: "additional Host header to accept for the control API: HOST or HOST:PORT, as for --allow-host",
      default: "this machine only",
      note: "repeatable",
    },
    scope: "reach",
    effect: "sandbox/sandbox.ts",
  },
  allowTargets: {
    kind: { kind: "texts", parse: parseTargetHost },
    flags: "--allow-target <host>",
    help: {
      text: "additional host that events may be sent to",
      default: "this machine only",
      note: "repeatable",
    },
    scope: "reach",
    isInKit: true,
    effect: "sandbox/sandbox.ts",
  },
  listen: {
    kind: { kind: "texts", parse: parseListenAddress },
    flags: "--listen <address>",
    help: {
      text: "additional address to listen on, such as 0.0.0.0; an address that other machines can reach requires --allow-host or --public-url",
      default: "loopback only",
      note: "repeatable",
    },
    scope: "reach",
    effect: "host/listen.ts",
  },
  publicUrl: {
    kind: { kind: "text", parse: parsePublicUrl },
    flags: "--public-url <origin>",
    help: {
      text: "origin of the payment pages in checkout_url, such as a proxy, a tunnel or a container's host",
      default: "this machine",
    },
    scope: "reach",
    effect: "sandbox/sandbox.ts",
  },
  portalUrl: {
    kind: { kind: "text", parse: parsePortalUrl },
    flags: "--portal-url <origin>",
    help: {
      text: "origin at which your browser reaches the portal; with --public-url, the portal is off unless --portal-url names another host",
      default: "localhost",
    },
    scope: "reach",
    effect: "host/description.ts",
  },
  ca: {
    kind: { kind: "text", parse: parseFileName },
    flags: "--ca <file>",
    help: { text: "PEM file of CA certificates to trust for https endpoints", default: "the system's CAs" },
    scope: "delivery",
    effect: "host/trusted-certificates.ts",
  },
  keptRequests: {
    kind: { kind: "integer", minimum: 0, maximum: MAX_KEPT_REQUESTS },
    flags: "--kept-requests <n>",
    help: {
      text: "maximum number of v1 requests to keep for each store, for requests list and explain, or 0 for none",
      default: String(DEFAULT_KEPT_REQUESTS),
    },
    scope: "delivery",
    defaultValue: DEFAULT_KEPT_REQUESTS,
    effect: "host/logs.ts",
  },
} as const satisfies Readonly<Record<string, Setting>>;

type SettingRows = typeof SETTINGS;
export type SettingName = keyof SettingRows;
type KindOf<Name extends SettingName> = SettingRows[Name]["kind"]["kind"];
type CamelCase<Text extends string> = Text extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Text;
type OptionName<Name extends SettingName> = SettingRows[Name]["flags"] extends `--${infer Option} <${string}>`
  ? CamelCase<Option>
  : never;
type KitSettingName = {
  [Name in SettingName]: SettingRows[Name] extends { isInKit: true } ? Name : never;
}[SettingName];

export type ServedName<Name extends SettingName> = `${Name}${UnitOf<KindOf<Name>>}`;
export type SettingValue<Name extends SettingName> = ValueOf<KindOf<Name>>;
export type FileValue<Name extends SettingName> = FileValueOf<KindOf<Name>>;
export type ServedValue<Name extends SettingName> = ServedValueOf<KindOf<Name>>;

export type SandboxSettings = { readonly [Name in SettingName]?: SettingValue<Name> | undefined };
export type SettingOptions = { readonly [Name in SettingName as OptionName<Name>]?: SettingValue<Name> };
export type ServedSettings = { readonly [Name in SettingName as ServedName<Name>]: ServedValue<Name> };

/**
 * Methods instead of properties, because only method parameters are bivariant, so that the codec of each kind is
 * assignable.
 */
type AnyCodec = {
  readonly unit: string;
  serve(this: void, value: unknown): unknown;
  read(this: void, served: unknown): unknown;
  format(this: void, served: unknown): string;
};

type AnySetting = Setting &
  AnyCodec & {
    readonly name: SettingName;
    readonly option: string;
    readonly servedName: keyof ServedSettings;
  };

export const ALL_SETTINGS: readonly AnySetting[] = Object.entries<Setting>(SETTINGS).map(([name, row]) => {
  const kindCodec: Partial<AnyCodec> = KIND_CODECS[row.kind.kind];
  const codec: AnyCodec = { unit: "", serve: identity, read: identity, format: String, ...kindCodec };
  const option = camelCase(row.flags.slice(2, row.flags.indexOf(" ")).replaceAll("-", "_"));
  const servedName = `${name}${codec.unit}` as keyof ServedSettings;
  const names = { name: name as SettingName, option, servedName };
  return Object.assign(names, row, codec);
});

function identity(value: unknown): unknown {
  return value;
}

export const KIT_SETTING_NAMES = ALL_SETTINGS.flatMap(({ name, isInKit }) =>
  isInKit === true ? [name as KitSettingName] : [],
);

export function servedSettingsOf(options: SettingOptions & { readonly port: number }): ServedSettings {
  const entries = ALL_SETTINGS.map(({ servedName, option, serve, defaultValue }) => [
    servedName,
    serve(Reflect.get(options, option) ?? defaultValue),
  ]);
  // `serve` returns a value for each unset setting except the port, which `options` always has.
  return Object.fromEntries(entries) as ServedSettings;
}

export function findDifferentSettings(requestedSettings: SandboxSettings, settings: ServedSettings) {
  return ALL_SETTINGS.flatMap((setting) => {
    const { name, option, serve, format } = setting;
    const value = requestedSettings[name];
    // Port 0 means any port.
    if (value === undefined || (name === "port" && value === 0)) return [];
    const [requestedText, servedText] = [format(serve(value)), servedTextOf(setting, settings)];
    return requestedText === servedText
      ? []
      : [{ field: name, option, requested: requestedText, live: servedText }];
  });
}

export function selectChangedSettings(settings: ServedSettings): SandboxSettings {
  const changedSettings = ALL_SETTINGS.filter((setting) => !isDefault(setting, settings));
  return Object.fromEntries(
    changedSettings.map(({ name, servedName, read }) => [name, read(Reflect.get(settings, servedName))]),
  );
}

export function servedSettingTexts(settings: ServedSettings) {
  return ALL_SETTINGS.map((setting) => ({
    name: setting.name,
    option: setting.flags.slice(0, setting.flags.indexOf(" ")),
    text: servedTextOf(setting, settings),
    isDefault: isDefault(setting, settings),
  }));
}

export function settingOptionsOf(settings: SandboxSettings): SettingOptions {
  const presentSettings = ALL_SETTINGS.filter(({ name }) => settings[name] !== undefined);
  return Object.fromEntries(presentSettings.map(({ name, option }) => [option, settings[name]]));
}

export function settingsIn(options: Readonly<Record<string, unknown>>): SandboxSettings {
  const givenSettings = ALL_SETTINGS.filter(({ option }) => options[option] !== undefined);
  return Object.fromEntries(givenSettings.map(({ name, option }) => [name, options[option]]));
}

/** Any port counts as the default, because the port belongs to one process, not to the configuration. */
function isDefault(setting: AnySetting, settings: ServedSettings): boolean {
  const defaultText = setting.format(setting.serve(setting.defaultValue));
  return setting.name === "port" || servedTextOf(setting, settings) === defaultText;
}

function servedTextOf({ servedName, format }: AnySetting, settings: ServedSettings): string {
  return format(Reflect.get(settings, servedName));
}
