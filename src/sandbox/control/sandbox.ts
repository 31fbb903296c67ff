import { accept, refuse } from "../../core/outcome.ts";
import { openSecret } from "../../core/webhook/sealed-secret.ts";
import { countFaults } from "../fault/active.ts";
import { countOwnSecrets } from "../webhook/endpoint-secrets.ts";
import { holdOfSandbox } from "../runtime/home.ts";
import type { OperationContext, HandlersOf } from "./handler.ts";
import type { SandboxDescription } from "../../core/sandbox/description.ts";

export const sandboxHandlers = {
  describe: async ({ description }) => {
    // Loaded on demand, so that the start does not wait for it.
    const { describeControlApi } = await import("../../core/control/openapi.ts");
    return accept(describeControlApi(new URL(description.baseUrl).origin));
  },
  describeSandbox: async (context) => accept(describeNow(context)),
  stopSandbox: ({ description, requestStop }, { body }) => {
    const { pid } = description;
    if (body.pid !== pid)
      return Promise.resolve(
        refuse(
          "state_conflict",
          `the request is for process ${body.pid}, but this is process ${pid}; nothing was stopped`,
        ),
      );
    requestStop();
    return Promise.resolve(accept({ pid }));
  },
} satisfies HandlersOf<"sandbox">;

/** The description of the sandbox, including changes by restores, resets and new names since its start. */
function describeNow(context: OperationContext): SandboxDescription {
  const { description, store, masterKey } = context;
  const { first, details } = store.stores;
  const found = details(first()?.id ?? "");
  const sealed = found && store.signingSecrets.current(found.id);
  const signingSecret = sealed && openSecret(sealed, masterKey);
  const now = {
    ...description,
    instanceId: store.instance.id() ?? description.instanceId,
    heldBack: holdOfSandbox(context) ?? null,
    activeFaults: countFaults(context),
  };
  if (found === undefined || signingSecret === undefined) return now;
  const { id: storeId, merchantId, store: storeName } = found;
  const ownSecrets = countOwnSecrets(store, storeId);
  const revoked = store.credentials.of(storeId).filter(({ revokedAt }) => revokedAt !== null);
  const revokedKeyEnds = revoked.map(({ lastFour }) => lastFour);
  return { ...now, ownSecrets, revokedKeyEnds, storeId, merchantId, storeName, signingSecret };
}
