import { MAX_SIGNATURES } from "../../core/webhook/signature.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { ServiceContext } from "../context.ts";
import { openStoredSecret } from "./signing-secret.ts";

export type SecretsContext = Pick<ServiceContext, "store"> & { readonly masterKey: Uint8Array };

export type EndpointSecrets = { readonly inForce: readonly string[]; readonly retired: readonly string[] };

/** An endpoint without its own secrets uses its store's. `now`: the store's time. Throws `SecretUnreadable`. */
export function endpointSecrets(
  { store, masterKey }: SecretsContext,
  endpoint: Pick<Endpoint, "id" | "storeId">,
  now: number,
): EndpointSecrets {
  const ownSecrets = store.signingSecrets.ofEndpoint(endpoint.id);
  return ownSecrets.length === 0
    ? secretOfStore({ store, masterKey }, endpoint.storeId)
    : decryptSecrets(ownSecrets, { at: now, masterKey });
}

/** `isUncertain`: a secret began or ended at exactly `at`, so it is unknown which secrets signed. */
export function endpointSecretsAt(
  { store, masterKey }: SecretsContext,
  endpoint: Pick<Endpoint, "id" | "storeId">,
  at: number,
) {
  const allSecrets = store.signingSecrets.ofEndpoint(endpoint.id);
  const isUncertain = allSecrets.some(({ createdAt, retiredAt }) => createdAt === at || retiredAt === at);
  const earlierSecrets = allSecrets.filter(({ createdAt }) => createdAt <= at);
  return earlierSecrets.length === 0
    ? ({ ...secretOfStore({ store, masterKey }, endpoint.storeId), owner: "store", isUncertain } as const)
    : ({ ...decryptSecrets(earlierSecrets, { at, masterKey }), owner: "endpoint", isUncertain } as const);
}

export function countEndpointsWithOwnSecret(
  { endpoints, signingSecrets }: Pick<ServiceContext["store"], "endpoints" | "signingSecrets">,
  storeId: string,
): number {
  return endpoints.of(storeId).filter(({ id }) => signingSecrets.ofEndpoint(id).length > 0).length;
}

function secretOfStore({ store, masterKey }: SecretsContext, storeId: string): EndpointSecrets {
  const secret = store.signingSecrets.currentSecret(storeId);
  return { inForce: secret === undefined ? [] : [openStoredSecret(secret, masterKey)], retired: [] };
}

function decryptSecrets(
  secrets: ReturnType<SecretsContext["store"]["signingSecrets"]["ofEndpoint"]>,
  { at, masterKey }: { readonly at: number; readonly masterKey: Uint8Array },
): EndpointSecrets {
  const isOver = ({ retiredAt }: (typeof secrets)[number]): boolean => retiredAt !== null && retiredAt <= at;
  return {
    inForce: secrets
      .filter((secret) => !isOver(secret))
      .slice(0, MAX_SIGNATURES)
      .map((entry) => openStoredSecret(entry, masterKey)),
    retired: secrets.filter(isOver).map((entry) => openStoredSecret(entry, masterKey)),
  };
}
