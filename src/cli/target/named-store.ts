// Which store a command is about: who names it, in which order. Its key: cli/target/identity.ts; the control API:
// `inStore` in cli/target/control.ts.
import { ownerOf, storesMeant, type Credentials } from "../../core/state-files.ts";
import { printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { isTyped } from "../option-rules.ts";
import { stateFile } from "../../host/folder/files.ts";
import type { Context } from "../command.ts";
import { STORE_VARIABLE } from "./surroundings.ts";
import { idOf } from "../parsers.ts";
import { EXIT, Refused, type Problem } from "../problem.ts";

/** A store as something names it, and what: a flag its id or its name, the rest its id. */
export type NamedStore = {
  readonly text: string;
  readonly by: "flag" | "variable" | "choice" | "key";
  /** `--store`, a variable, or a file. */
  readonly source: string;
};

/** Where a store is looked for. */
type StoreScene = {
  /** The merchant's copy of its keys; empty where they are of no use. */
  readonly credentials: Credentials;
  /** Whether it is the sandbox of the folder: what the folder remembers is about no other one. */
  readonly isOwn: boolean;
  /** Whether the environment is about another service: its key and store are that one's. */
  readonly isElsewhere: boolean;
};

/**
 * The store that a command is about, by rank: flag, environment, `checkout stores use`, the store of the API key in the
 * environment (decision 90). Undefined where nothing names one: then it is the first.
 */
export function namedStore(
  { around, world }: Pick<Context, "around" | "world">,
  { credentials, isOwn, isElsewhere }: StoreScene,
): NamedStore | undefined {
  const { options, storeId, apiKey, location } = around;
  if (around.foundStore !== undefined)
    return { text: around.foundStore, by: "variable", source: "the store that this command acts on" };
  if (options.store !== undefined && isStoreTyped(world))
    return { text: options.store, by: "flag", source: "--store" };
  if (!isElsewhere && storeId !== undefined) return { text: storeId, by: "variable", source: STORE_VARIABLE };
  const chosen = isOwn ? around.chosenStore() : undefined;
  if (chosen !== undefined) return { text: chosen, by: "choice", source: stateFile(location(), "store") };
  const owner = isElsewhere ? undefined : ownerOf(credentials, apiKey ?? "");
  if (owner === undefined) return undefined;
  return { text: owner, by: "key", source: stateFile(location(), "credentials") };
}

/** Whether `--store` stands on the command line, and not in a variable. */
export function isStoreTyped({ argv }: Pick<World, "argv">): boolean {
  return isTyped({ argv }, "store");
}

/** The one store of a list that an id or a name means. Refuses none and several, with what there is. */
export function oneStore<Named extends { readonly id: string; readonly name: string }>(
  stores: readonly Named[],
  text: string,
): Named {
  const meant = storesMeant(stores, text);
  const [only, second] = meant;
  if (only === undefined) throw new Refused(unknownStore(text, stores));
  if (second !== undefined) throw new Refused(ambiguousStore(text, meant));
  return only;
}

/** A store that nothing knows by this name: exit 2. */
export function unknownStore(
  text: string,
  known: readonly { readonly id: string; readonly name: string }[],
): Problem {
  const shown = known.slice(0, MAX_SHOWN).map(({ name }) => printableLiteral(name));
  const rest = known.length > MAX_SHOWN ? ", …" : "";
  const there = known.length === 0 ? "" : `; there is ${shown.join(", ")}${rest}`;
  return {
    exitCode: EXIT.usage,
    code: "store_unknown",
    message: `there is no store ${printableLiteral(text)}${there}`,
    next: "checkout stores list shows them; name it by its id where its name is not known here",
  };
}

function ambiguousStore(text: string, meant: readonly { readonly id: string }[]): Problem {
  const ids = meant.slice(0, MAX_SHOWN).map(({ id }) => id);
  const rest = meant.length > MAX_SHOWN ? ", …" : "";
  return {
    exitCode: EXIT.usage,
    code: "store_ambiguous",
    message: `${meant.length} stores have the name ${printableLiteral(text)}: ${ids.join(", ")}${rest}`,
    next: "name it by its id",
  };
}

/** How to find the stores of a sandbox. */
export const STORES = "checkout stores list shows them";

/** Most stores that a message names. */
const MAX_SHOWN = 10;

/** Whether a text is a store's id, and not a name that has to be looked up. */
export function isStoreId(text: string): boolean {
  return idOf(text) !== undefined;
}
