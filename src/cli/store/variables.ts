import type { Context } from "../command.ts";
import { ownSecretsText } from "../sandbox/ready.ts";

/** What an application of a store is set up with; `apiKey` is null where no file holds it. */
export type StoreAccess = {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly storeId: string;
  readonly signingSecret: string;
  /** How many endpoints of the store sign with a secret of their own. */
  readonly ownSecrets?: number | undefined;
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

/** Says whose secret the variables have, where endpoints sign with others. */
export function noteOwnSecrets(
  { printer }: Context,
  { ownSecrets = 0 }: Pick<StoreAccess, "ownSecrets">,
): void {
  if (ownSecrets > 0) printer.trace(`note: CHECKOUT_SIGNING_SECRET is ${ownSecretsText(ownSecrets)}`);
}
