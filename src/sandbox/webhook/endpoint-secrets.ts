import { MAX_SIGNATURES } from "../../core/webhook/signature.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import { openSecret, type SealedSecret } from "../../core/sealed-secret.ts";
import type { ServiceContext } from "../context.ts";

/** What is needed to read signing secrets (decision 16). */
export type SecretsContext = Pick<ServiceContext, "store"> & { readonly masterKey: Uint8Array };

/** The signing secrets of an endpoint: active ones, newest first, and retired ones. */
export type EndpointSecrets = { readonly inForce: readonly string[]; readonly retired: readonly string[] };

/**
 * Decrypts the secrets of an endpoint: its own, or its store's if it has none. `now` is the store's.
 * Throws if the master key is wrong, which the start has already checked.
 */
export function endpointSecrets(
  { store, masterKey }: SecretsContext,
  endpoint: Pick<Endpoint, "id" | "storeId">,
  now: number,
): EndpointSecrets {
  const own = store.signingSecrets.ofEndpoint(endpoint.id);
  if (own.length === 0) {
    const sealed = store.signingSecrets.current(endpoint.storeId);
    return { inForce: sealed === undefined ? [] : [open(sealed, masterKey)], retired: [] };
  }
  const isOver = ({ retiredAt }: (typeof own)[number]): boolean => retiredAt !== null && retiredAt <= now;
  return {
    inForce: own
      .filter((secret) => !isOver(secret))
      .slice(0, MAX_SIGNATURES)
      .map((one) => open(one, masterKey)),
    retired: own.filter(isOver).map((one) => open(one, masterKey)),
  };
}

/** How many endpoints of a store sign with a secret of their own. */
export function ownSecretsOf(
  { endpoints, signingSecrets }: Pick<ServiceContext["store"], "endpoints" | "signingSecrets">,
  storeId: string,
): number {
  return endpoints.of(storeId).filter(({ id }) => signingSecrets.ofEndpoint(id).length > 0).length;
}

function open(sealed: SealedSecret, masterKey: Uint8Array): string {
  const secret = openSecret(sealed, masterKey);
  if (secret === undefined) throw new Error(`the master key does not open signing secret ${sealed.id}`);
  return secret;
}
