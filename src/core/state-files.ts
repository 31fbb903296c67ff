import * as z from "zod/mini";
import { parseJson } from "./json.ts";
import { lazyValue } from "./lazy.ts";

export const MASTER_KEY_BYTES = 32;

const credentialsSchema = () =>
  z.object({
    /** False until the first start has written its store to `sandbox.db`; missing afterwards. */
    ready: z.optional(z.literal(false)),
    stores: z.record(z.string(), z.object({ name: z.string(), api_key: z.string() })),
  });
/** Accepts the format of development versions, so that a start refuses their database instead of this file. */
const oldCredentialsSchema = () =>
  z.pipe(
    z.object({ store_id: z.string(), api_key: z.string() }),
    z.transform(({ store_id: id, api_key }) => ({ stores: { [id]: { name: "Sandbox Store", api_key } } })),
  );

/** A copy of each key, because the sandbox shows a key once (decisions 54, 85). The first store comes first. */
export type CredentialsFile = z.infer<ReturnType<typeof credentialsSchema>>;

export function storeIdOfKey({ stores }: CredentialsFile, apiKey: string): string | undefined {
  return Object.entries(stores).find(([, { api_key: key }]) => key === apiKey)?.[0];
}

export const parseChosenStore = parserOf(() => z.object({ store_id: z.uuid() }));

const runSchema = () =>
  z.object({
    pid: z.int(),
    started: z.string(),
    port: z.nullable(z.int().check(z.minimum(1), z.maximum(65_535))),
    control_token: z.string(),
    // Sandboxes before decision 65 do not write this field.
    version: z.optional(z.string()),
    folder: z.optional(z.string()),
    /** The first store; sandboxes before decision 90 do not write this field. */
    store_id: z.optional(z.string()),
    /** Sandboxes before decision 96 do not write this field. */
    instance_id: z.optional(z.string()),
    /**
     * The newest mark of the file `-opening` when the sandbox became ready with an empty write-ahead log. If a killed
     * sandbox left an empty log and the same mark, no commit was lost.
     */
    opening: z.optional(z.string()),
    /** The machine or container of the process; missing in older versions. */
    host: z.optional(z.string()),
    is_guest: z.optional(z.boolean()),
  });

/** `started` detects a later process with the same pid; `folder` (device and inode) detects a copy of the folder. */
export type RunRecord = z.infer<ReturnType<typeof runSchema>>;

export type RunOwner = Pick<RunRecord, "pid" | "started" | "folder">;

/** Returns undefined if the file names no process, for example after a crash during the write. */
export const parseRunOwner = parserOf(() => z.pick(runSchema(), { pid: true, started: true, folder: true }));

export const parseAdmin = parserOf(() =>
  z.object({ admin_token: z.string().check(z.regex(/^[\w-]{16,128}$/)) }),
);

export const parseCredentials: (text: string) => CredentialsFile | undefined = parserOf(() =>
  z.union([credentialsSchema(), oldCredentialsSchema()]),
);

export const parseRunRecord = parserOf(runSchema);

function parserOf<Value>(makeSchema: () => z.ZodMiniType<Value>): (text: string) => Value | undefined {
  const schema = lazyValue(makeSchema);
  // A command reads each file once or twice, so compiling the schema would cost more than it saves.
  return (text) => schema().safeParse(parseJson(text), { jitless: true }).data;
}
