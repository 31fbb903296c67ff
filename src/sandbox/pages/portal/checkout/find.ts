import { DEFAULT_STORE } from "../../../../core/control/protocol.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import type { Answer } from "../../../answer.ts";
import type { Call } from "../../../area.ts";
import { pageAnywhere, pageInStore } from "../../../explain/portal-page.ts";
import { noStore } from "../../../at-store.ts";
import { sentOn } from "../route.ts";
import type { PortalContext, Viewer } from "../view.ts";

/** Leads from any id, or an order_id, to its page; else to the list of what a text finds. */
export function findInStore(context: PortalContext, call: Call<Viewer>): Outcome<Answer> {
  const storeId = call.params["store_id"] ?? DEFAULT_STORE;
  if (context.store.stores.names(storeId) === undefined) return noStore(storeId);
  const text = wanted(call);
  return accept(sentOn(call, pageInStore(context, storeId, text) ?? listPath(storeId, text)));
}

/** The same for who names no store: each is looked in, the first one first. */
export function findAnywhere(context: PortalContext, call: Call<Viewer>): Outcome<Answer> {
  const text = wanted(call);
  const path = pageAnywhere(context, text);
  if (path !== undefined) return accept(sentOn(call, path));
  const first = context.store.stores.first();
  if (first === undefined) return refuse("not_found", ["this sandbox has no store", "本沙箱没有商店"]);
  return accept(sentOn(call, listPath(first.id, text)));
}

function wanted({ query }: Call<Viewer>): string {
  return new URLSearchParams(query).get("q")?.trim() ?? "";
}

function listPath(storeId: string, text: string): string {
  return `/portal/${storeId}/checkouts${text === "" ? "" : `?q=${encodeURIComponent(text)}`}`;
}
