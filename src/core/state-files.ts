import * as z from "zod";
import { parseJson } from "./json.ts";

/** Bytes of the master key in `master.key`: AES-256. */
export const MASTER_KEY_BYTES = 32;

const credentials = z.object({ merchant_id: z.string(), store_id: z.string(), api_key: z.string() });

/** `credentials.json`: the merchant's copy of the API key, which the sandbox shows once (decision 54). */
export type Credentials = z.infer<typeof credentials>;

const run = z.object({
  pid: z.int(),
  started: z.string(),
  port: z.int().min(1).max(65_535).nullable(),
  control_token: z.string(),
  // Sandboxes before decision 65 do not write it.
  version: z.string().optional(),
  folder: z.string().optional(),
});

/**
 * `run.json`: the process that serves a folder. `started` distinguishes it from a later process with the same pid,
 * `folder` (device and inode) the folder from its copies; a run.json without it is of an older version.
 */
export type Run = z.infer<typeof run>;

const admin = z.object({ admin_token: z.string().regex(/^[\w-]{16,128}$/) });

/** `admin.json`: the token of the administrator (decision 49). */
export type Admin = z.infer<typeof admin>;

/** Reads `admin.json`; undefined if the text is invalid. */
export function parseAdmin(text: string): Admin | undefined {
  return parseAs(admin, text);
}

/** Reads `credentials.json`; undefined if the text is invalid. */
export function parseCredentials(text: string): Credentials | undefined {
  return parseAs(credentials, text);
}

/** Reads `run.json`; undefined if the text is invalid. */
export function parseRun(text: string): Run | undefined {
  return parseAs(run, text);
}

function parseAs<Value>(schema: z.ZodType<Value>, text: string): Value | undefined {
  // A command reads each file once or twice: compiling the schema would take longer than that.
  return schema.safeParse(parseJson(text), { jitless: true }).data;
}
