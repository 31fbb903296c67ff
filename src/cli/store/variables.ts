/** What an application of a store is set up with; `apiKey` is null where no file holds it. */
export type StoreAccess = {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly storeId: string;
  readonly signingSecret: string;
};

/** The variables that a program finds them in. */
export function variablesOf({
  baseUrl,
  apiKey,
  storeId,
  signingSecret,
}: StoreAccess): Record<string, string> {
  return {
    CHECKOUT_BASE_URL: baseUrl,
    ...(apiKey === null ? {} : { CHECKOUT_API_KEY: apiKey }),
    CHECKOUT_STORE_ID: storeId,
    CHECKOUT_SIGNING_SECRET: signingSecret,
  };
}
