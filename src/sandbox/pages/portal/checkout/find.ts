import { DEFAULT_STORE } from "../../../../core/control/protocol.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { callerOfSession, defaultStoreOf, reaches } from "../../../access/caller.ts";
import type { Answer } from "../../../answer.ts";
import type { AreaRequest } from "../../../area.ts";
import { findPathInAnyStore, findPathInStore } from "../../../explain/portal-page.ts";
import { searchStore } from "../../../explain/search.ts";
import { refuseUnknownStore } from "../../../with-store.ts";
import { redirectTo, answerWithPage } from "../route.ts";
import type { PortalContext, Viewer } from "../view.ts";
import { searchResultsPage, pathsOfHits } from "./found-page.ts";

/**
 * Redirects from any id, or an order_id, to the page of its object. For other texts, redirects to the page of the only
 * object that contains the text, or shows all such objects by kind.
 */
export async function findInStore(
  context: PortalContext,
  call: AreaRequest<Viewer>,
): Promise<Outcome<Answer>> {
  const storeId = call.params["store_id"] ?? DEFAULT_STORE;
  if (context.store.stores.names(storeId) === undefined) return refuseUnknownStore(storeId);
  const text = searchTextOf(call);
  if (text === "") return accept(redirectTo(call, `/portal/${storeId}/checkouts`));
  const exactPath = findPathInStore(context, storeId, text);
  if (exactPath !== undefined && call.caller?.may("GET", exactPath) === true)
    return accept(redirectTo(call, exactPath));
  const hits = await searchStore(context, storeId, text);
  const [onlyPath, ...otherPaths] = pathsOfHits({ storeId }, hits);
  // There may be further results beyond the end of the search.
  if (onlyPath !== undefined && otherPaths.length === 0 && hits.nextBefore === null)
    return accept(redirectTo(call, onlyPath));
  return answerWithPage(context, call, async (_context, view) => accept(searchResultsPage(view, text, hits)));
}

/** Redirects a search of all stores to the object in the first store that has it, or to a search of the first store. */
export function findAnywhere(context: PortalContext, call: AreaRequest<Viewer>): Outcome<Answer> {
  const text = searchTextOf(call);
  const caller = callerOfSession(call.caller);
  const path = reaches(caller, null) ? findPathInAnyStore(context, text) : undefined;
  if (path !== undefined) return accept(redirectTo(call, path));
  const storeId = defaultStoreOf(context.store, caller);
  if (storeId === undefined) return refuseFact("no_store_at_all", {});
  return accept(
    redirectTo(
      call,
      text === "" ? `/portal/${storeId}/checkouts` : `/portal/${storeId}/find?q=${encodeURIComponent(text)}`,
    ),
  );
}

function searchTextOf({ query }: AreaRequest<Viewer>): string {
  return new URLSearchParams(query).get("q")?.trim().slice(0, MAX_SEARCH_LENGTH) ?? "";
}

/** Maximum length of a search text, as in the list of checkouts. */
const MAX_SEARCH_LENGTH = 512;
