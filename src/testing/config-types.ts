import type { ConfigText } from "../core/config/schema.ts";

/** The content of `checkout.config.json`. */
export type CheckoutConfig = ConfigText;

/** Settings of the sandbox. Durations are strings such as `30m`. */
export type SandboxConfig = NonNullable<ConfigText["sandbox"]>;

/** A store that is set up before the sandbox answers requests. */
export type StoreConfig = NonNullable<ConfigText["stores"]>[number];

/** Names the environment variable that contains a secret. */
export type SecretConfig = NonNullable<StoreConfig["signing_secret"]>;

/** A price of the catalog. */
export type PriceConfig = NonNullable<StoreConfig["prices"]>[number];

/** A service that `--target` can name. */
export type TargetConfig = NonNullable<ConfigText["targets"]>[string];
