import type { StoreClock } from "../core/clock.ts";
import type { PlannedChange } from "../core/config/plan.ts";
import type { RequestedStore } from "../core/config/store-fields.ts";
import type { Dialect } from "../core/shape/dialect.ts";
import type { SettingOptions } from "../core/config/settings.ts";
import type { Refusal } from "../core/outcome.ts";
import type { LogFormat } from "../sandbox/runtime/access-log.ts";
import type { HostFailure } from "./failure.ts";

export type ServeOptions = SettingOptions & {
  readonly adopt?: boolean;
  readonly trustFolder?: boolean;
  readonly logFormat?: LogFormat;
  readonly quiet?: boolean;
  /** The clock of new and reset stores. Default: real time. */
  readonly startClock?: StoreClock;
  readonly setup?: StoreSetup;
  readonly dialect?: Dialect | undefined;
};

/** `failureOf` adds the position in the configuration file to a refusal. */
export type StoreSetup = {
  readonly stores: readonly RequestedStore[];
  readonly failureOf: (refusal: Refusal) => HostFailure;
  readonly onApplied: (changes: readonly PlannedChange[]) => void;
};
