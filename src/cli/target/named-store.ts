// The store that a command is about, and its sources by rank. Its key: cli/target/resolve.ts; the control API:
// `resolveStore` in cli/target/control.ts.
import { ownerOf, matchingStores } from "../../core/state-files.ts";
import { printableLiteral } from "../../core/text.ts";
import { stateFile } from "../../host/folder/files.ts";
import { withSource, type Surroundings, type ValueWithSource } from "./surroundings.ts";
import { EXIT, Refused, type Problem } from "../problem.ts";

/**
 * By rank: flag, environment, `stores use`, the environment's API key (decision 90). Undefined: the first store. Only a
 * flag may be a name. `isOwn`: the sandbox is the folder's; only there does the folder's default store count.
 */
export function findNamedStore(around: Surroundings, isOwn: boolean): ValueWithSource<string> | undefined {
  const owner = ownerOf(around.credentials(), around.apiKey?.value ?? "");
  const { storeFlag, storeId, location } = around;
  return (
    storeFlag ??
    storeId ??
    (isOwn ? withSource(around.chosenStore(), stateFile(location(), "store")) : undefined) ??
    withSource(owner, stateFile(location(), "credentials"))
  );
}

/** The store with an id or a name. Refuses if no store matches, or if several do, and names the candidates. */
export function requireOneStore<Named extends { readonly id: string; readonly name: string }>(
  stores: readonly Named[],
  text: string,
): Named {
  const meant = matchingStores(stores, text);
  const [only] = meant;
  if (only === undefined) throw new Refused(unknownStoreProblem(text, stores));
  if (meant.length === 1) return only;
  const ids = firstOf(meant.map(({ id }) => id));
  throw new Refused({
    exitCode: EXIT.usage,
    code: "store_ambiguous",
    message: `${meant.length} stores have the name ${printableLiteral(text)}: ${ids}`,
    next: "name the store by its id",
  });
}

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
