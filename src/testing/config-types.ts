/** A configuration, in the form of `checkout.config.json`. */
export type CheckoutConfig = {
  readonly $schema?: string | undefined;
  readonly sandbox?: SandboxConfig | undefined;
  readonly stores?: readonly StoreConfig[] | undefined;
  readonly targets?: Readonly<Record<string, TargetConfig>> | undefined;
};

/** Settings of a sandbox. Durations are strings such as `30m`. */
export type SandboxConfig = {
  readonly port?: number | undefined;
  readonly rate_limit?: string | undefined;
  readonly checkout_lifetime?: string | undefined;
  readonly delivery_timeout?: string | undefined;
  readonly delivery_schedule?: readonly string[] | undefined;
  readonly deliveries_in_flight?: number | undefined;
  readonly allow_hosts?: readonly string[] | undefined;
  readonly allow_control_hosts?: readonly string[] | undefined;
  readonly allow_targets?: readonly string[] | undefined;
  readonly listen?: readonly string[] | undefined;
  readonly public_url?: string | undefined;
  readonly portal_url?: string | undefined;
  readonly kept_requests?: number | undefined;
};

/** A store that is set up before the sandbox answers its first request. */
export type StoreConfig = {
  readonly id: string;
  readonly name: string;
  readonly merchant?: { readonly id: string; readonly name?: string | undefined } | undefined;
  readonly prices?: readonly PriceConfig[] | undefined;
  readonly capabilities?:
    | {
        readonly payment_methods?: readonly ("alipay_plus" | "wechat_pay")[] | undefined;
        readonly currencies?: readonly string[] | undefined;
      }
    | undefined;
  readonly return_origins?:
    | readonly (string | { readonly origin: string; readonly path?: string | undefined })[]
    | undefined;
  readonly endpoints?:
    | readonly {
        readonly url: string;
        readonly events?: readonly string[] | undefined;
        readonly in_order?: boolean | undefined;
      }[]
    | undefined;
  readonly api_keys?: readonly SecretConfig[] | undefined;
  readonly signing_secret?: SecretConfig | undefined;
};

/** The environment variable that contains a secret. */
export type SecretConfig = { readonly env: string };

/** A price of the catalog. */
export type PriceConfig = {
  readonly id: string;
  readonly amount_minor: number;
  readonly currency: string;
  readonly payment_method: "alipay_plus" | "wechat_pay";
  readonly description?: string | undefined;
  readonly billing_model?: "one_time" | undefined;
  readonly approved?: boolean | undefined;
  readonly retired?: boolean | undefined;
};

/** A service that `--target` can name. */
export type TargetConfig = {
  readonly base_url: string;
  readonly api_key: SecretConfig;
  readonly store_id?: string | undefined;
  readonly timeout?: string | undefined;
  readonly retries?: number | undefined;
};
