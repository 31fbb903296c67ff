import type { sandboxOperations } from "../../core/control/sandbox.ts";
import { accept, refuse } from "../../core/outcome.ts";
import { ownSecretsOf } from "../webhook/endpoint-secrets.ts";
import { countFaults } from "../fault/active.ts";
import type { Handlers } from "./handler.ts";

/** What each operation on the serving process does. */
export const sandboxHandlers = {
  describeSandbox: (context) => {
    const { description, store } = context;
    const ownSecrets = ownSecretsOf(store, description.storeId);
    return Promise.resolve(accept({ ...description, ownSecrets, activeFaults: countFaults(context) }));
  },
  stopSandbox: ({ description, requestStop }, { body }) => {
    const { pid } = description;
    if (body.pid !== pid)
      return Promise.resolve(
        refuse("state_conflict", `process ${body.pid} was meant, and this is ${pid}; nothing was stopped`),
      );
    requestStop();
    return Promise.resolve(accept({ pid }));
  },
} satisfies Pick<Handlers, keyof typeof sandboxOperations>;
