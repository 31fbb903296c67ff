import * as z from "zod/mini";
import { sandboxDescription } from "../../sandbox/description.ts";
import { sandboxOperation } from "../operation.ts";

export const sandboxOperations = {
  describe: sandboxOperation("viewer", {
    route: ["GET", "/openapi.json"],
    summary: "Describes the control API",
    description: "Returns the OpenAPI document of the control API.",
    answer: () =>
      z.looseObject({
        openapi: z.string(),
        info: z.looseObject({ title: z.string(), version: z.string() }),
        paths: z.record(z.string(), z.unknown()),
      }),
    isBare: true,
  }),
  describeSandbox: sandboxOperation("owner", {
    route: ["GET", "/sandbox"],
    summary: "Describes the sandbox",
    description:
      "Returns the addresses, version, process, first store and settings of the running sandbox. The answer contains the signing secret of the first store, but no API key.",
    answer: () => sandboxDescription,
  }),
  stopSandbox: sandboxOperation("owner", {
    part: "process",
    route: ["POST", "/sandbox/stop"],
    summary: "Stops the sandbox",
    description:
      "Stops the sandbox, after this answer is sent, as a signal would. Refuses a `pid` that is not the sandbox's process.",
    request: () => z.strictObject({ pid: z.int() }),
    answer: () => z.object({ pid: z.int() }),
    refusals: ["state_conflict"],
  }),
};
