import { displayStoreName } from "../../../../core/config/store-name.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { displayText } from "../../../../core/text.ts";
import { html } from "../../../../web/html.ts";
import { storePath } from "../forms.ts";
import { listPage } from "../list.ts";
import { copyableText, momentWithDate, badStateBadge, linkTo, type TableRow } from "../parts.ts";
import { runAsViewer } from "../route.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { snapshotSection } from "./snapshots-part.ts";
import { createStoreForm, deleteForm, resetForm } from "./store-forms.ts";
import { STORES_TEXTS as TEXTS } from "../store/texts.ts";
import type { StoreEntry } from "../../../../core/store/shapes.ts";

/** Maximum number of newest stores shown, in addition to the first store and the current store. */
const MAX_NEWEST = 100;

export async function storesPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const storeList = await runAsViewer(context, "listStores", { ...view, body: undefined });
  if (!storeList.ok) return storeList;
  const snapshots = await snapshotSection(context, view);
  if (!snapshots.ok) return snapshots;
  const { stores } = storeList.value;
  const items = stores.filter(
    ({ storeId }, index) => storeId === view.storeId || index === 0 || index >= stores.length - MAX_NEWEST,
  );
  const hiddenCount = stores.length - items.length;
  return listPage(view, {
    title: FRAME_TEXTS.stores,
    liveTopic: "store",
    path: "/stores",
    columns: (store) => storeRow(view, store, { isFirst: store === stores[0] }),
    read: () => accept({ items, next: null }),
    noRows: html``,
    wrap: (list) =>
      html`<section>
          ${list}
          ${hiddenCount === 0 ? "" : html`<p class="hint">${TEXTS.hidden(hiddenCount)} ${copyableText("checkout stores list")}</p>`}
        </section>
        ${createStoreForm(view, items)} ${snapshots.value}`,
  });
}

function storeRow(view: View, store: StoreEntry, { isFirst }: { readonly isFirst: boolean }): TableRow {
  const { storeId, name, merchantName, active, createdAt } = store;
  const isCurrent = storeId === view.storeId;
  const nameHtml = html`${linkTo(storePath(store, "/start"), displayStoreName(name))}
    ${isCurrent ? html`<span class="badge">${TEXTS.current}</span>` : ""}
    <div class="whole"><small>${copyableText(storeId)}</small></div>`;
  const acts = html`${resetForm(view, store)} ${isFirst ? "" : deleteForm(view, store)}`;
  return [
    [COMMON_TEXTS.store, nameHtml, "head"],
    [COMMON_TEXTS.merchant, displayText(merchantName)],
    [COMMON_TEXTS.state, badStateBadge(active, COMMON_TEXTS.active, COMMON_TEXTS.inactive)],
    [COMMON_TEXTS.created, momentWithDate(createdAt)],
    [COMMON_TEXTS.act, html`<div class="actions">${acts}</div>`],
  ];
}
