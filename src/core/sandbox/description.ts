import * as z from "zod/mini";
import { servedSettings } from "../config/shapes.ts";
import { hold } from "../webhook/hold.ts";
import { moment, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { nameSchemas, wireSchema } from "../shape/wire-names.ts";

export const sandboxDescription = z.object({
  baseUrl: z.string(),
  /** Null if there is no portal, because a public URL is set without an address for the portal. */
  portalUrl: z.nullable(z.string()),
  checkoutOrigin: z.string(),
  merchantId: z.uuid(),
  storeId: z.uuid(),
  storeName: z.string(),
  signingSecret: z.string(),
  ownSecrets: z.optional(z.int()),
  revokedKeyEnds: z.optional(z.array(z.string())),
  dataDir: z.nullable(z.string()),
  ephemeral: z.boolean(),
  /** Changes with each start in memory, each reset and each restore (decision 96). */
  instanceId: z.string(),
  pid: z.int(),
  version: z.string(),
  startedAt: moment,
  /** Null if the sandbox logs to the terminal in which it was started. */
  logFile: z.nullable(z.string()),
  /** Why all or some stores deliver nothing (decisions 71, 95); null if no store is held. */
  heldBack: z.nullable(z.string()),
  hold: z.nullable(hold),
  /** The number of faults, in all stores, that can still be applied (decision 94). */
  activeFaults: wholeNumber(0),
  settings: z.extend(servedSettings, { logFormat: z.enum(["text", "json"]), quiet: z.boolean() }),
});
/** Has no API key, because a key is shown only once (decision 15). */
export type SandboxDescription = DomainOf<typeof sandboxDescription>;

const { baseUrl, portalUrl, checkoutOrigin, merchantId, storeId, storeName, signingSecret } =
  sandboxDescription.shape;
const { dataDir, ephemeral, pid, version } = sandboxDescription.shape;
export const readyMessage = z.object({
  event: z.literal("ready"),
  baseUrl,
  portalUrl,
  checkoutOrigin,
  merchantId,
  storeId,
  storeName,
  apiKey: z.nullable(z.string()),
  signingSecret,
  controlToken: z.string(),
  dataDir,
  ephemeral,
  alreadyRunning: z.boolean(),
  /** A link to the portal that works once; null if there is no portal. */
  signInUrl: z.nullable(z.string()),
  pid,
  version,
});

export type ProcessDescription = Pick<
  SandboxDescription,
  | "baseUrl"
  | "portalUrl"
  | "checkoutOrigin"
  | "dataDir"
  | "ephemeral"
  | "pid"
  | "version"
  | "startedAt"
  | "logFile"
  | "settings"
>;

export function parseDescription(body: unknown): SandboxDescription | undefined {
  // `jitless`, because compiling the schema takes longer than parsing one answer.
  const answer = z.object({ data: wireSchema(sandboxDescription) }).safeParse(body, { jitless: true });
  return answer.data?.data as SandboxDescription | undefined;
}

nameSchemas({ SandboxDescription: sandboxDescription });
