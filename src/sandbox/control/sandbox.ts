import { accept } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { describeSandbox } from "../describe.ts";
import type { HandlersOf } from "./handler.ts";

export const sandboxHandlers = {
  describe: async ({ description }) => {
    // The schemas are loaded on request, so that a start does not wait for them.
    const { describeControlApi } = await import("../../core/control/openapi.ts");
    return accept(describeControlApi(new URL(description.baseUrl).origin));
  },
  describeSandbox: async (context) => accept(describeSandbox(context)),
  stopSandbox: ({ description, requestStop }, { body }) => {
    const { pid } = description;
    if (body.pid !== pid)
      return Promise.resolve(refuseFact("other_process", { asked: body.pid, process: pid }));
    requestStop();
    return Promise.resolve(accept({ pid }));
  },
} satisfies HandlersOf<"sandbox">;
