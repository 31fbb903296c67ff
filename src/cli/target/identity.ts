import { ownerOf, type Credentials } from "../../core/state-files.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { catchRefusal, EXIT, usageProblem, type Problem } from "../problem.ts";
import { isStoreId, findNamedStore, requireOneStore, type NamedStore } from "./named-store.ts";
import { UNSET_VALUE, type ValueWithSource } from "./surroundings.ts";

/** The client's identity at the service: its API key and store. */
export type Identity = {
  readonly apiKey: ValueWithSource<string | null>;
  readonly storeId: ValueWithSource<string | null>;
  readonly storeName: ValueWithSource<string | null>;
  /** The problem if the named store is not the key's store; independent of the running sandbox. */
  readonly contradiction: Problem | undefined;
  /** The problem if the current sandbox does not have the store. */
  readonly lacksStore: Problem | undefined;
};

type IdentitySources = {
  readonly credentials: Credentials;
  /** Whether the service is the folder's sandbox, running or not. */
  readonly isOwn: boolean;
  readonly local: boolean;
  /** The sandbox's first store; if none is running, the first store with a kept key. */
  readonly first: string | undefined;
};

/**
 * The API key from the environment, otherwise the folder's key for the named store or the first store; with the key's
 * store.
 */
export function resolveIdentity(
  context: Pick<Context, "world" | "around">,
  sources: IdentitySources,
): Identity {
  const { credentials } = sources;
  const named = findNamedStore(context, { ...sources, isElsewhere: false });
  const { apiKey, storeId: variable, location } = context.around;
  const source = stateFile(location(), "credentials");
  const identity =
    apiKey === undefined
      ? identityWithKeptKey({ ...sources, source }, named)
      : identityWithOwnKey(sources, { apiKey, variable, named });
  const { storeId } = identity;
  const name = storeId.value === null ? undefined : credentials.stores[storeId.value]?.name;
  const storeName = name === undefined ? UNSET_VALUE : { value: name, source };
  return { ...identity, storeName };
}

/** The identity with the folder's key for the named store. */
function identityWithKeptKey(
  sources: IdentitySources & { readonly source: string },
  named: NamedStore | undefined,
): Omit<Identity, "storeName"> {
  const { source, credentials, isOwn, first } = sources;
  const meant = catchRefusal(() => named && findStoreId(sources, named));
  if (!meant.ok)
    return { apiKey: UNSET_VALUE, storeId: UNSET_VALUE, contradiction: undefined, lacksStore: meant.refusal };
  const id = meant.value ?? (isOwn ? first : undefined);
  if (id === undefined)
    return { apiKey: UNSET_VALUE, storeId: UNSET_VALUE, contradiction: undefined, lacksStore: undefined };
  const kept = isOwn ? credentials.stores[id]?.api_key : undefined;
  return {
    apiKey: kept === undefined ? UNSET_VALUE : { value: kept, source },
    storeId: { value: id, source: named?.source ?? source },
    contradiction: undefined,
    lacksStore: isOwn && kept === undefined ? missingKeyProblem(id, { source, named }) : undefined,
  };
}

/** The identity with the API key from the environment, which determines the store of new orders. */
function identityWithOwnKey(
  sources: IdentitySources,
  {
    apiKey: value,
    variable,
    named,
  }: {
    readonly apiKey: string;
    readonly variable: string | undefined;
    readonly named: NamedStore | undefined;
  },
): Omit<Identity, "storeName"> {
  const apiKey = { value, source: "CHECKOUT_API_KEY" };
  const kept = ownerOf(sources.credentials, value);
  // The store in the environment is the store of the key in the environment.
  const owner = kept ?? (named?.by === "flag" ? variable : undefined);
  const meant = catchRefusal(() => named && findStoreId(sources, named));
  if (!meant.ok) return { apiKey, storeId: UNSET_VALUE, contradiction: undefined, lacksStore: meant.refusal };
  const id = meant.value;
  const isOther = id !== undefined && owner !== undefined && id !== owner;
  // The chosen store of the folder does not apply to a key that the folder does not know.
  const isKnown = named?.by !== "choice" || owner !== undefined;
  const storeId = id !== undefined && isKnown ? { value: id, source: named?.source ?? "" } : UNSET_VALUE;
  const contradiction = isOther ? otherStoreProblem(owner, { id, source: named?.source ?? "" }) : undefined;
  return { apiKey, storeId, contradiction, lacksStore: undefined };
}

/** The id of a named store. Names are known only for the folder's sandbox; another service's ids can have any form. */
function findStoreId({ credentials, local }: IdentitySources, named: NamedStore): string {
  const { text, by } = named;
  if (by !== "flag" || !local) return text;
  if (isStoreId(text)) return text.toLowerCase();
  const stores = Object.entries(credentials.stores).map(([id, { name }]) => ({ id, name }));
  return requireOneStore(stores, text).id;
}

function otherStoreProblem(
  owner: string,
  { id, source }: { readonly id: string; readonly source: string },
): Problem {
  const message = `CHECKOUT_API_KEY is a key of store ${printable(owner)}, not of store ${printable(id)} (${source})`;
  return usageProblem(message, "unset one of them; nothing was sent");
}

function missingKeyProblem(
  id: string,
  { source, named }: { readonly source: string; readonly named: NamedStore | undefined },
): Problem {
  return {
    exitCode: EXIT.credential,
    code: "credential_missing",
    message: `${source} has no API key of store ${printable(id)} (${named?.source ?? "the first store"})`,
    next: "set CHECKOUT_API_KEY to a key of that store; checkout stores list shows the stores",
  };
}
