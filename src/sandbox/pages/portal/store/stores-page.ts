import { displayStoreName } from "../../../../core/config/store-name.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { NEW_MERCHANT } from "../../../../core/control/operations/stores.ts";
import type { Words } from "../../../../core/language.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import type { StoreEntry } from "../../../../core/store/shapes.ts";
import { displayText, printableLiteral } from "../../../../core/text.ts";
import { html, type Html } from "../../../../web/html.ts";
import { inputField, selectField, type TypedForm } from "../fields.ts";
import {
  actionForm,
  creationPanel,
  formWithConfirmation,
  storePath,
  typedValues,
  type ActionForm,
  type Confirmation,
} from "../forms.ts";
import { listPage } from "../list.ts";
import {
  goodOrBadBadge,
  copyableText,
  linkTo,
  momentWithDate,
  emptyListHtml,
  table,
  type TableRow,
} from "../parts.ts";
import { runAsViewer } from "../route.ts";
import { COMMON_TEXTS, FRAME_TEXTS } from "../texts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { STORES_TEXTS as TEXTS } from "./texts.ts";

type Snapshot = AnswerOf<"listSnapshots">["snapshots"][number];

const MAX_NEWEST = 100;
/** Describing a snapshot reads its whole file; above this total size, the page does so only after a click. */
const MAX_READ_BYTES = 4 * 1024 * 1024;
export const PAGE_FIELD = "page_of";

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
    [COMMON_TEXTS.state, goodOrBadBadge(active, COMMON_TEXTS.active, COMMON_TEXTS.inactive)],
    [COMMON_TEXTS.created, momentWithDate(createdAt)],
    [COMMON_TEXTS.act, html`<div class="actions">${acts}</div>`],
  ];
}

function resetForm(view: View, { storeId, name: storedName }: StoreEntry): Html {
  const name = displayStoreName(storedName);
  return formWithName(view, name, [TEXTS.reset, TEXTS.resetQuestion(name), TEXTS.resetNow], {
    action: "/portal/stores/reset",
    fields: { store: storeId },
  });
}

function deleteForm(view: View, store: StoreEntry): Html {
  const name = displayStoreName(store.name);
  const texts = [TEXTS.delete, TEXTS.deleteQuestion(name), TEXTS.deleteNow] as const;
  return formWithName(view, name, texts, { action: storePath(store, "/delete") });
}

/** For destructive actions: the user confirms by typing the store's name. */
function formWithName(
  view: View,
  name: string,
  texts: Confirmation,
  { action, fields = {} }: Pick<ActionForm, "action" | "fields">,
): Html {
  const typedForm = typedValues(view, action, fields);
  return formWithConfirmation(view, texts, {
    action,
    fields: { ...fields, [PAGE_FIELD]: view.storeId },
    content: () => inputField(TEXTS.typeName(name), "name", { required: true, typedForm }),
  });
}

export function parseStoreConfirmation(
  fields: ReadonlyMap<string, string>,
  { context, storeId }: { readonly context: PortalContext; readonly storeId: string },
): Outcome<string> {
  const name = context.store.stores.names(storeId)?.store;
  const typedName = (fields.get("name") ?? "").trim();
  if (name === undefined || typedName === name || typedName === displayStoreName(name))
    return accept(storeId);
  const values = {
    wanted: printableLiteral(displayStoreName(name)),
    received: printableLiteral(typedName),
  };
  return refuseFact("store_name_differs", values, { field: "name" });
}

function createStoreForm(view: View, stores: readonly StoreEntry[]): Html {
  const form = {
    action: storePath(view, "/stores"),
    label: TEXTS.createNow,
    content: (typedForm: TypedForm) => storeFields(stores, typedForm),
  };
  return creationPanel(view, [TEXTS.create, TEXTS.createHint], form);
}

function storeFields(stores: readonly StoreEntry[], typedForm: TypedForm): Html {
  const merchants = new Map(
    stores.map(({ merchantId, merchantName }) => [merchantId, displayText(merchantName)]),
  );
  return html`<div class="fields">
    ${inputField(COMMON_TEXTS.name, "name", { hint: TEXTS.nameHint, typedForm })}
    ${selectField(
      COMMON_TEXTS.merchant,
      "merchant",
      [["", TEXTS.sameMerchant], [NEW_MERCHANT, TEXTS.newMerchant], ...[...merchants].slice(1)],
      typedForm,
    )}
  </div>`;
}

async function snapshotSection(context: PortalContext, view: View): Promise<Outcome<Html>> {
  // A limited caller sees only snapshots of its own store, so the page must read which stores each snapshot contains.
  const isLimited = view.call.caller?.limit !== undefined;
  const isDetailed = isLimited || view.query.get("snapshots") === "details" || areSnapshotsSmall(context);
  const list = isDetailed
    ? await runAsViewer(context, "listSnapshots", { ...view, body: undefined })
    : undefined;
  if (list?.ok === false) return list;
  const details = new Map(list?.value.snapshots.map((snapshot) => [snapshot.name, snapshot]));
  const names = list === undefined ? context.snapshotStorage.names().toSorted() : [...details.keys()];
  const rowOf = (name: string): TableRow => snapshotRow(context, view, { name, snapshot: details.get(name) });
  const noRows = emptyListHtml(TEXTS.noSnapshots, "checkout snapshots create before-the-sale");
  const link = html`<p>
    <a href="${storePath(view, "/stores")}?snapshots=details#snapshots">${TEXTS.details}</a>
  </p>`;
  return accept(
    html`<section id="snapshots">
      <h2>${TEXTS.snapshots}</h2>
      ${table({ caption: TEXTS.snapshots, noRows }, names, rowOf)}
      ${isDetailed || names.length === 0 ? "" : link}
      <div class="panel actions">
        ${snapshotForm(view, TEXTS.snapshotStore, "/snapshots")}
        ${snapshotForm(view, TEXTS.snapshotAll, "/snapshots/all")}
      </div>
    </section>`,
  );
}

function areSnapshotsSmall({ snapshotStorage: storage }: PortalContext): boolean {
  const bytes = storage.names().reduce((sum, name) => sum + (storage.size(name) ?? 0), 0);
  return bytes <= MAX_READ_BYTES;
}

function snapshotForm(view: View, label: Words, path: string): Html {
  return actionForm(view, {
    action: storePath(view, path),
    label,
    content: (typedForm) =>
      inputField(COMMON_TEXTS.name, "name", { required: true, hint: TEXTS.snapshotHint, typedForm }),
  });
}

function snapshotRow(
  context: PortalContext,
  view: View,
  { name, snapshot }: { readonly name: string; readonly snapshot: Snapshot | undefined },
): TableRow {
  const contentWords = snapshot === undefined ? TEXTS.asTaken : contentOf(context, view, snapshot);
  const restoreTexts = [TEXTS.restore, TEXTS.restoreQuestion(name, contentWords), TEXTS.restoreNow] as const;
  const restoreForm = formWithConfirmation(view, restoreTexts, {
    action: "/portal/snapshots/restore",
    content: () => html`<label><input type="checkbox" name="trust" /> ${TEXTS.trust}</label>`,
    fields: { name, [PAGE_FIELD]: view.storeId },
  });
  const removeTexts = [COMMON_TEXTS.remove, TEXTS.removeQuestion(name), TEXTS.removeNow] as const;
  const action = storePath(view, "/snapshots/remove");
  const removeForm = formWithConfirmation(view, removeTexts, { action, fields: { name } });
  const forms = html`<div class="actions">${snapshot?.problem ? "" : restoreForm} ${removeForm}</div>`;
  return [
    [TEXTS.snapshot, html`<code>${name}</code>`, "head"],
    ...(snapshot === undefined ? [] : detailCells(snapshot, contentWords)),
    [COMMON_TEXTS.act, forms],
  ];
}

function contentOf({ store }: PortalContext, view: View, { storeId }: Snapshot): Words {
  if (storeId === null) return TEXTS.wholeSandbox;
  if (storeId === view.storeId) return TEXTS.thisStore;
  const name = store.stores.names(storeId)?.store;
  return TEXTS.otherStore(name === undefined ? storeId : displayText(name));
}

function detailCells({ takenAt, bytes, problem }: Snapshot, content: Words): TableRow {
  return [
    [TEXTS.holds, problem === null ? content : html`<span class="badge bad">${problem}</span>`],
    [TEXTS.taken, takenAt === null ? "" : momentWithDate(takenAt)],
    [TEXTS.size, `${Math.ceil(bytes / 1024)} KiB`, "whole"],
  ];
}
