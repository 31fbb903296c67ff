import type { ConfigState, StoreState } from "../../core/config/plan.ts";
import { hashKey } from "../../core/credential.ts";
import { openSecret } from "../../core/webhook/sealed-secret.ts";
import type { Store } from "../../store/store.ts";

type ConfigSource = { readonly store: Store; readonly masterKey: Uint8Array };

export function configState(source: ConfigSource, apiKeys: readonly string[] = []): ConfigState {
  const { store } = source;
  const keys = new Map(
    apiKeys.flatMap((apiKey) => {
      const hash = hashKey(apiKey);
      const owner = store.credentials.findByHash(hash);
      return owner === undefined ? [] : [[hash, owner] as const];
    }),
  );
  return { stores: store.stores.all().map((details) => storeState(source, details)), keys };
}

function storeState(
  { store, masterKey }: ConfigSource,
  details: ReturnType<Store["stores"]["all"]>[number],
): StoreState {
  const { id, merchantId, merchant, store: name } = details;
  const sealedSecret = store.signingSecrets.currentSecret(id);
  return {
    id,
    name,
    merchant: { id: merchantId, name: merchant },
    capabilities: store.capabilities.of(id),
    prices: store.prices.of(id),
    returnOrigins: store.returnOrigins.list(id),
    endpoints: store.endpoints
      .of(id)
      .filter(({ kind }) => kind === "url")
      .map(({ id: endpointId, url, eventTypes, inOrder, ca }) => ({
        id: endpointId,
        url,
        events: eventTypes,
        inOrder,
        ca: ca ?? undefined,
      })),
    signingSecret: sealedSecret && openSecret(sealedSecret, masterKey),
  };
}
