import { configHandlers } from "./config.ts";
import { accept } from "../../core/outcome.ts";
import { checkoutHandlers } from "./checkout.ts";
import { clockHandlers } from "./clock.ts";
import { drillHandlers } from "./drills.ts";
import { faultHandlers } from "./faults.ts";
import type { Handlers } from "./handler.ts";
import { keyHandlers } from "./keys.ts";
import { portalHandlers } from "./portal.ts";
import { readinessHandlers } from "./readiness.ts";
import { sandboxHandlers } from "./sandbox.ts";
import { requestHandlers } from "./requests.ts";
import { storesHandlers } from "./stores.ts";
import { webhookHandlers } from "./webhook.ts";

/** The whole control API. */
export const CONTROL_HANDLERS: Handlers = {
  ...checkoutHandlers,
  ...keyHandlers,
  ...clockHandlers,
  ...webhookHandlers,
  ...faultHandlers,
  ...drillHandlers,
  ...readinessHandlers,
  ...sandboxHandlers,
  ...requestHandlers,
  ...configHandlers,
  ...storesHandlers,
  ...portalHandlers,
  describe: async ({ description }) => {
    // Loaded on demand, so that the start does not wait for it.
    const { describeControlApi } = await import("../../core/control/openapi.ts");
    return accept(describeControlApi(new URL(description.baseUrl).origin));
  },
};
