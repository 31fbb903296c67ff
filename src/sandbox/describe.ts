import { english } from "../core/language.ts";
import { partWords } from "../core/fact.ts";
import type { Hold } from "../core/webhook/hold.ts";
import { openSecret } from "../core/webhook/sealed-secret.ts";
import type { ProcessDescription, SandboxDescription } from "../core/sandbox/description.ts";
import type { ServiceContext } from "./context.ts";
import type { World } from "../world.ts";
import { countActiveFaults } from "./fault/active.ts";
import { countEndpointsWithOwnSecret } from "./webhook/endpoint-secrets.ts";
import { holdOfSandbox } from "./runtime/home.ts";

type DescribedContext = Pick<ServiceContext, "store"> & {
  readonly world: Pick<World, "now">;
  readonly masterKey: Uint8Array;
  readonly folderHold: Hold | undefined;
  readonly description: ProcessDescription;
};

const NO_STORE = { id: "", merchantId: "", store: "" };

export function describeSandbox(context: DescribedContext): SandboxDescription {
  const { description, store, masterKey } = context;
  const firstStore = store.stores.details(store.stores.first()?.id ?? "") ?? NO_STORE;
  const { id: storeId, merchantId, store: storeName } = firstStore;
  const sealedSecret = store.signingSecrets.currentSecret(storeId);
  const hold = holdOfSandbox(context);
  const revokedKeys = store.credentials.of(storeId).filter(({ revokedAt }) => revokedAt !== null);
  return {
    ...description,
    merchantId,
    storeId,
    storeName,
    signingSecret: (sealedSecret && openSecret(sealedSecret, masterKey)) ?? "",
    ownSecrets: countEndpointsWithOwnSecret(store, storeId),
    revokedKeyEnds: revokedKeys.map(({ lastFour }) => lastFour),
    instanceId: store.instance.id() ?? "",
    heldBack: hold === undefined ? null : english(partWords(hold)),
    hold: hold ?? null,
    activeFaults: countActiveFaults(context),
  };
}
