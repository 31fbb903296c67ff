// The store that a command is about, and its sources by rank. Its key: cli/target/resolve.ts; the control API:
// `resolveStore` in cli/target/control.ts.
import { ownerOf, matchingStores, type Credentials } from "../../core/state-files.ts";
import { printableLiteral } from "../../core/text.ts";
import { stateFile } from "../../host/folder/files.ts";
import type { Surroundings } from "./surroundings.ts";
import { EXIT, Refused, type Problem } from "../problem.ts";

/** A store and the source that names it: a flag by id or name, other sources by id. */
export type NamedStore = {
  readonly text: string;
  readonly by: "flag" | "variable" | "choice" | "key";
  /** `--store`, a variable, or a file. */
  readonly source: string;
};

type StoreSources = {
  /** The keys kept in the folder; empty if they must not be used. */
  readonly credentials: Credentials;
  /** Whether the sandbox is the folder's: only there does the folder's default store count. */
  readonly isOwn: boolean;
};

/** By rank: flag, environment, `stores use`, the environment's API key (decision 90). Undefined: the first store. */
export function findNamedStore(
  around: Surroundings,
  { credentials, isOwn }: StoreSources,
): NamedStore | undefined {
  const { storeFlag, storeId, apiKey, location } = around;
  if (around.foundStore !== undefined)
    return { text: around.foundStore, by: "variable", source: "the store that this command acts on" };
  if (storeFlag !== undefined) return { text: storeFlag, by: "flag", source: "--store" };
  if (storeId !== undefined) return { text: storeId.value, by: "variable", source: storeId.source };
  const chosen = isOwn ? around.chosenStore() : undefined;
  if (chosen !== undefined) return { text: chosen, by: "choice", source: stateFile(location(), "store") };
  const owner = ownerOf(credentials, apiKey?.value ?? "");
  if (owner === undefined) return undefined;
  return { text: owner, by: "key", source: stateFile(location(), "credentials") };
}

/** The store with an id or a name. Refuses if no store matches, or if several do, and names the candidates. */
export function requireOneStore<Named extends { readonly id: string; readonly name: string }>(
  stores: readonly Named[],
  text: string,
): Named {
  const meant = matchingStores(stores, text);
  const [only, second] = meant;
  if (only === undefined) throw new Refused(unknownStoreProblem(text, stores));
  if (second === undefined) return only;
  throw new Refused({
    exitCode: EXIT.usage,
    code: "store_ambiguous",
    message: `${meant.length} stores have the name ${printableLiteral(text)}: ${firstOf(meant.map(({ id }) => id))}`,
    next: "name the store by its id",
  });
}

/** The problem of an unknown store: exit 2. */
export function unknownStoreProblem(text: string, known: readonly { readonly name: string }[]): Problem {
  const names = firstOf(known.map(({ name }) => printableLiteral(name)));
  return {
    exitCode: EXIT.usage,
    code: "store_unknown",
    message: `there is no store ${printableLiteral(text)}${names === "" ? "" : `; known stores: ${names}`}`,
    next: "checkout stores list shows the stores; use the id of a store whose name is not known here",
  };
}

/** Maximum number of stores that a message names. */
const MAX_SHOWN = 10;

function firstOf(stores: readonly string[]): string {
  return [...stores.slice(0, MAX_SHOWN), ...(stores.length > MAX_SHOWN ? ["…"] : [])].join(", ");
}
