import * as z from "zod/mini";
import { moment, sandboxOperation, whole, type DomainOf } from "./operation.ts";
import { nameSchemas, wireSchema } from "./wire-names.ts";

/** How a sandbox is served, as far as a configuration can say it. */
export const servedSettings = z.object({
  port: z.int(),
  /** As it is typed: `5/s` or `off`. */
  rateLimit: z.string(),
  checkoutLifetimeMs: z.int(),
  deliveryTimeoutMs: z.int(),
  /** Delay before each try of a delivery. */
  deliveryScheduleMs: z.array(z.int()),
  /** How many deliveries are in flight to one endpoint at most. */
  deliveriesInFlight: z.int(),
  allowHosts: z.array(z.string()),
  allowControlHosts: z.array(z.string()),
  allowTargets: z.array(z.string()),
  /** Addresses beside loopback. */
  listen: z.array(z.string()),
  /** Null: payers reach the pages at this machine's address. */
  publicUrl: z.nullable(z.string()),
  /** Null: a browser reaches the portal at `localhost`, or there is none beside a public URL. */
  portalUrl: z.nullable(z.string()),
  /** How many requests of each store are logged. */
  keptRequests: z.int(),
});

const sandboxDescription = z.object({
  baseUrl: z.string(),
  /** Null where there is no portal: beside a public URL it needs an address of its own. */
  portalUrl: z.nullable(z.string()),
  checkoutOrigin: z.string(),
  merchantId: z.uuid(),
  /** The first store. */
  storeId: z.uuid(),
  storeName: z.string(),
  /** That of the first store. */
  signingSecret: z.string(),
  /** How many of its endpoints sign with a secret of their own, after a rotation. */
  ownSecrets: z.optional(z.int()),
  /** The last four characters of its API keys that are revoked. */
  revokedKeyEnds: z.optional(z.array(z.string())),
  /** The state folder; null where nothing is kept. */
  dataDir: z.nullable(z.string()),
  ephemeral: z.boolean(),
  /** New with each start in memory, each reset and each restore (decision 96). */
  instanceId: z.string(),
  pid: z.int(),
  version: z.string(),
  startedAt: moment,
  /** Where its log goes; null: to the terminal that it was started in. */
  logFile: z.nullable(z.string()),
  /** Why no events are delivered (decision 71); null if they are. */
  heldBack: z.nullable(z.string()),
  /** How many faults of all stores can still hit (decision 94). */
  activeFaults: whole(0),
  /** How it is served. */
  settings: z.extend(servedSettings, { logFormat: z.enum(["text", "json"]), quiet: z.boolean() }),
});
/** What a sandbox says of itself; its API key is shown only once (decision 15). */
export type SandboxDescription = DomainOf<typeof sandboxDescription>;

/** Reads the answer of `describeSandbox`, without the table of all operations; undefined if it is none. */
export function readDescription(body: unknown): SandboxDescription | undefined {
  // Read once: compiling the schema would take longer.
  const answer = z.object({ data: wireSchema(sandboxDescription) }).safeParse(body, { jitless: true });
  return answer.data?.data as SandboxDescription | undefined;
}

nameSchemas({ SandboxDescription: sandboxDescription, ServedSettings: servedSettings });

/** The operations on the process that serves (decision 74). */
export const sandboxOperations = {
  describe: sandboxOperation({
    path: "/openapi.json",
    summary: "Describes the control API, as this document",
    description: "Answers this document. Needs the control token.",
    answer: z.looseObject({
      openapi: z.string(),
      info: z.looseObject({ title: z.string(), version: z.string() }),
      paths: z.record(z.string(), z.unknown()),
    }),
    bare: true,
  }),
  describeSandbox: sandboxOperation({
    path: "/sandbox",
    summary: "Tells where the sandbox is, which store it has and how it is served",
    description:
      "Answers addresses, version, process, first store and settings of the running sandbox. It holds the signing secret of the first store, and no API key.",
    answer: sandboxDescription,
  }),
  stopSandbox: sandboxOperation({
    method: "POST",
    path: "/sandbox/stop",
    summary: "Stops the sandbox after this answer, if it is the process that is meant",
    description:
      "Stops the process after this answer, as a signal does. Refuses a `pid` that is another process.",
    request: z.strictObject({ pid: z.int() }),
    answer: z.object({ pid: z.int() }),
    refusals: ["state_conflict"],
  }),
};
