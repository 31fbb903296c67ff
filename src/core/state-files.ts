import * as z from "zod/mini";
import { parseJson } from "./json.ts";

/** Bytes of the master key in `master.key`: AES-256. */
export const MASTER_KEY_BYTES = 32;

const credentials = z.object({
  /** False until the first start has its store in `sandbox.db`; absent from then on. */
  ready: z.optional(z.literal(false)),
  stores: z.record(z.string(), z.object({ name: z.string(), api_key: z.string() })),
});
/** That of development versions, with the key of the only store: read, so that a start refuses their database by name. */
const oldCredentials = z.pipe(
  z.object({ store_id: z.string(), api_key: z.string() }),
  z.transform(({ store_id: id, api_key }) => ({ stores: { [id]: { name: "Sandbox Store", api_key } } })),
);

/**
 * `credentials.json`: the merchant's copy of the API key of each store, which the sandbox shows once (decisions 54, 85).
 * The sandbox's first store is the first.
 */
export type Credentials = z.infer<typeof credentials>;

/** The store of credentials that a key is of; undefined where they do not have the key. */
export function ownerOf({ stores }: Credentials, apiKey: string): string | undefined {
  return Object.entries(stores).find(([, { api_key: key }]) => key === apiKey)?.[0];
}

/** The stores that are meant by an id, or else by a name, which several can have. */
export function storesMeant<Named extends { readonly id: string; readonly name: string }>(
  stores: readonly Named[],
  text: string,
): readonly Named[] {
  const byId = stores.filter(({ id }) => id === text.toLowerCase());
  return byId.length > 0 ? byId : stores.filter(({ name }) => name === text);
}

const chosenStore = z.object({ store_id: z.uuid() });

/**
 * Reads `store.json`, the store that the commands of a folder act on where nothing else says which (decision 90);
 * undefined if the text is invalid.
 */
export const parseChosenStore = reader(chosenStore);

const run = z.object({
  pid: z.int(),
  started: z.string(),
  port: z.nullable(z.int().check(z.minimum(1), z.maximum(65_535))),
  control_token: z.string(),
  // Sandboxes before decision 65 do not write it.
  version: z.optional(z.string()),
  folder: z.optional(z.string()),
  /** The first store; sandboxes before decision 90 do not write it. */
  store_id: z.optional(z.string()),
  /** Sandboxes before decision 96 do not write it. */
  instance_id: z.optional(z.string()),
  /** Whether the process is a program of the user's, which goes on when its sandbox has stopped. */
  is_guest: z.optional(z.boolean()),
});

/**
 * `run.json`: the process that serves a folder. `started` distinguishes it from a later process with the same pid,
 * `folder` (device and inode) the folder from its copies; a run.json without it is of an older version.
 */
export type Run = z.infer<typeof run>;

const runOwner = z.pick(run, { pid: true, started: true, folder: true });

/** The process that a `run.json` names, also one of another version, whose other fields may be others. */
export type RunOwner = z.infer<typeof runOwner>;

/** Reads the process that a `run.json` names; undefined if it names none, as one that a crash has torn. */
export const parseRunOwner = reader(runOwner);

const admin = z.object({ admin_token: z.string().check(z.regex(/^[\w-]{16,128}$/)) });

/** Reads `admin.json`, the token of the administrator (decision 49); undefined if the text is invalid. */
export const parseAdmin = reader(admin);

const allowed = z.object({
  variables: z.array(z.object({ name: z.string(), folder: z.string(), origin: z.string() })),
});

/**
 * `allowed.json` of a person: variables that may be sent as API keys, each for the folder of a configuration and the
 * origin of a service (decision 85). It holds names, never values.
 */
export type Allowed = z.infer<typeof allowed>;

/** Reads `allowed.json`; undefined if the text is invalid. */
export const parseAllowed = reader(allowed);

/** Reads `credentials.json`; undefined if the text is invalid. */
export const parseCredentials: (text: string) => Credentials | undefined = reader(
  z.union([credentials, oldCredentials]),
);

/** Reads `run.json`; undefined if the text is invalid. */
export const parseRun = reader(run);

function reader<Value>(schema: z.ZodMiniType<Value>): (text: string) => Value | undefined {
  // A command reads each file once or twice: compiling the schema would take longer than that.
  return (text) => schema.safeParse(parseJson(text), { jitless: true }).data;
}
