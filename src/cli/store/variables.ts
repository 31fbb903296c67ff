import type { ReadyMessage } from "../../host/ready.ts";
import type { Context } from "../command.ts";
import { ownSecretsText } from "../sandbox/ready.ts";

export type StoreAccess = {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly storeId: string;
  readonly signingSecret: string;
  readonly ownSecrets?: number | undefined;
};

export function storeAccessOf(message: ReadyMessage): StoreAccess {
  const { base_url: baseUrl, api_key: apiKey, store_id: storeId, signing_secret: signingSecret } = message;
  return { baseUrl, apiKey, storeId, signingSecret };
}

export function accessVariables({
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

/** Endpoints may sign with their own secret instead of the secret in the variables. */
export function noteOwnSecrets(
  { printer }: Context,
  { ownSecrets = 0 }: Pick<StoreAccess, "ownSecrets">,
): void {
  if (ownSecrets > 0) printer.trace(`note: CHECKOUT_SIGNING_SECRET is ${ownSecretsText(ownSecrets)}`);
}
