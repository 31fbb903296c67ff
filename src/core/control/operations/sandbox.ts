import * as z from "zod/mini";
import { moment, sandboxOperation, wholeNumber, type DomainOf } from "../operation.ts";
import { nameSchemas, wireSchema } from "../../shape/wire-names.ts";

/** The settings of a sandbox that a configuration can set. */
export const servedSettings = z.object({
  port: z.int(),
  /** `5/s` or `off`. */
  rateLimit: z.string(),
  checkoutLifetimeMs: z.int(),
  deliveryTimeoutMs: z.int(),
  /** The delay before each attempt of a delivery, in milliseconds. */
  deliveryScheduleMs: z.array(z.int()),
  /** Maximum number of deliveries in flight to one endpoint. */
  deliveriesInFlight: z.int(),
  allowHosts: z.array(z.string()),
  allowControlHosts: z.array(z.string()),
  allowTargets: z.array(z.string()),
  /** Addresses in addition to loopback. */
  listen: z.array(z.string()),
  /** If null, payers reach the pages at this machine's address. */
  publicUrl: z.nullable(z.string()),
  /** If null, the portal is at `localhost`; with a public URL there is no portal. */
  portalUrl: z.nullable(z.string()),
  /** Maximum number of logged requests for each store. */
  keptRequests: z.int(),
});

const sandboxDescription = z.object({
  baseUrl: z.string(),
  /** Null if there is no portal: with a public URL, the portal needs its own address. */
  portalUrl: z.nullable(z.string()),
  checkoutOrigin: z.string(),
  merchantId: z.uuid(),
  /** The first store. */
  storeId: z.uuid(),
  storeName: z.string(),
  /** The signing secret of the first store. */
  signingSecret: z.string(),
  /** The number of the store's endpoints that sign with their own secret after a rotation. */
  ownSecrets: z.optional(z.int()),
  /** The last four characters of the store's revoked API keys. */
  revokedKeyEnds: z.optional(z.array(z.string())),
  /** The state folder; null for a sandbox in memory. */
  dataDir: z.nullable(z.string()),
  ephemeral: z.boolean(),
  /** Changes with each start in memory, each reset and each restore (decision 96). */
  instanceId: z.string(),
  pid: z.int(),
  version: z.string(),
  startedAt: moment,
  /** The log file; null if the sandbox logs to the terminal in which it was started. */
  logFile: z.nullable(z.string()),
  /** Why no events are delivered (decision 71); null if events are delivered. */
  heldBack: z.nullable(z.string()),
  /** The number of faults, in all stores, that can still be applied (decision 94). */
  activeFaults: wholeNumber(0),
  settings: z.extend(servedSettings, { logFormat: z.enum(["text", "json"]), quiet: z.boolean() }),
});
/** A sandbox's description of itself; its API key is shown only once (decision 15). */
export type SandboxDescription = DomainOf<typeof sandboxDescription>;

/**
 * Parses the answer of `describeSandbox` without loading the table of all operations; undefined if the answer is
 * invalid.
 */
export function parseDescription(body: unknown): SandboxDescription | undefined {
  // Parsed once, so compiling the schema would take longer.
  const answer = z.object({ data: wireSchema(sandboxDescription) }).safeParse(body, { jitless: true });
  return answer.data?.data as SandboxDescription | undefined;
}

nameSchemas({ SandboxDescription: sandboxDescription, ServedSettings: servedSettings });

/** The operations on the serving process (decision 74). */
export const sandboxOperations = {
  describe: sandboxOperation({
    path: "/openapi.json",
    summary: "Describes the control API",
    description: "Returns the OpenAPI document of the control API.",
    answer: () =>
      z.looseObject({
        openapi: z.string(),
        info: z.looseObject({ title: z.string(), version: z.string() }),
        paths: z.record(z.string(), z.unknown()),
      }),
    bare: true,
  }),
  describeSandbox: sandboxOperation({
    path: "/sandbox",
    summary: "Describes the sandbox",
    description:
      "Returns the addresses, version, process, first store and settings of the running sandbox. The answer contains the signing secret of the first store, but no API key.",
    answer: () => sandboxDescription,
  }),
  stopSandbox: sandboxOperation({
    method: "POST",
    path: "/sandbox/stop",
    summary: "Stops the sandbox",
    description:
      "Stops the sandbox, after this answer is sent, as a signal would. Refuses a `pid` that is not the sandbox's process.",
    request: () => z.strictObject({ pid: z.int() }),
    answer: () => z.object({ pid: z.int() }),
    refusals: ["state_conflict"],
  }),
};
