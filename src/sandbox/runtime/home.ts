import { printable } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";

/**
 * Compares the folder that the state is in with the one that it belongs in (decision 71), and records the folder if none
 * was recorded yet, or if the state is adopted. Returns why nothing may be delivered: the state is a copy, was moved, or
 * came from somebody else. Undefined if it is where it belongs.
 */
export function settleHome(
  store: Pick<Store, "home" | "write">,
  { path, adopt }: { readonly path: string; readonly adopt: boolean },
): Promise<string | undefined> {
  return store.write(() => {
    const known = store.home.path();
    if (known === path) return undefined;
    if (known !== undefined && !adopt)
      return `this state belongs in ${printable(known)}; checkout sandbox start --adopt makes this folder its own`;
    store.home.record(path);
    return undefined;
  });
}
