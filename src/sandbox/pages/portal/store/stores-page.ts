import { displayStoreName } from "../../../../core/config/store-name.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { NEW_MERCHANT } from "../../../../core/control/operations/stores.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import { printableLiteral, displayText } from "../../../../core/text.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";
import { selectField, inputField, filledFields } from "../fields.ts";
import { actionForm, formWithConfirmation, storePath, typedValues } from "../forms.ts";
import {
  copyableText,
  momentWithDate,
  noItems,
  badStateBadge,
  linkTo,
  table,
  type TableRow,
} from "../parts.ts";
import { runAsViewer } from "../route.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { STORES_TEXTS as TEXTS } from "./texts.ts";
import type { StoreEntry } from "../../../../core/store/shapes.ts";

type Snapshot = AnswerOf<"listSnapshots">["snapshots"][number];

/** Number of newest stores shown, in addition to the first store and the current store. */
const MAX_SHOWN = 100;

export async function storesPage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const listed = await runAsViewer(context, "listStores", { ...view, body: undefined });
  if (!listed.ok) return listed;
  const { stores } = listed.value;
  const shown = stores.filter(
    ({ storeId }, index) => storeId === view.storeId || index === 0 || index >= stores.length - MAX_SHOWN,
  );
  const list = table(
    FRAME_TEXTS.stores,
    shown,
    (store) => row(view, store, { isFirst: store === stores[0] }),
    {
      opens: true,
    },
  );
  const hidden = stores.length - shown.length;
  const snapshots = await snapshotSection(context, view);
  if (!snapshots.ok) return snapshots;
  const main = html`<section>
      ${list}
      ${hidden === 0 ? "" : html`<p class="hint">${TEXTS.hidden(hidden)} ${copyableText("checkout stores list")}</p>`}
    </section>
    ${createForm(view, shown)} ${snapshots.value}`;
  return accept({ title: FRAME_TEXTS.stores, main, live: "store" });
}

/** Parses the store that a form names, if the user typed its exact name. Refuses with `invalid_parameter` otherwise. */
export function parseStoreConfirmation(
  fields: ReadonlyMap<string, string>,
  { context, storeId }: { readonly context: PortalContext; readonly storeId: string },
): Outcome<string> {
  const name = context.store.stores.names(storeId)?.store;
  const got = (fields.get("name") ?? "").trim();
  if (name === undefined || got === name || got === displayStoreName(name)) return accept(storeId);
  const wanted = printableLiteral(displayStoreName(name));
  return refuse(
    "invalid_parameter",
    [
      `expected the name of the store, ${wanted}; got ${printableLiteral(got)}; nothing was changed`,
      `应为商店名称 ${wanted}；收到 ${printableLiteral(got)}；未作任何更改`,
    ],
    { field: "name" },
  );
}

export function parseStoreForm(fields: ReadonlyMap<string, string>): unknown {
  return filledFields(fields, ["name", "merchant"]);
}

function row(view: View, store: StoreEntry, { isFirst }: { readonly isFirst: boolean }): TableRow {
  const { storeId, name, merchantName, active, createdAt } = store;
  const isCurrent = storeId === view.storeId;
  const named = html`${linkTo(storePath(store, "/start"), displayStoreName(name))}
    ${isCurrent ? html`<span class="badge">${TEXTS.current}</span>` : ""}
    <div class="whole"><small>${copyableText(storeId)}</small></div>`;
  const acts = html`${resetForm(view, store)} ${isFirst ? "" : deleteForm(view, store)}`;
  return [
    [COMMON_TEXTS.store, named, "head"],
    [COMMON_TEXTS.merchant, displayText(merchantName)],
    [COMMON_TEXTS.state, badStateBadge(active, COMMON_TEXTS.active, COMMON_TEXTS.inactive)],
    [COMMON_TEXTS.created, momentWithDate(createdAt)],
    [COMMON_TEXTS.act, html`<div class="actions">${acts}</div>`],
  ];
}

function resetForm(view: View, { storeId, name }: StoreEntry): Html {
  // Not below the store: a reset waits until the requests of its store have ended.
  return namedForm(view, name, {
    label: TEXTS.reset,
    question: TEXTS.resetQuestion(displayStoreName(name)),
    action: "/portal/stores/reset",
    button: TEXTS.resetNow,
    fields: { store: storeId },
  });
}

function deleteForm(view: View, store: StoreEntry): Html {
  return namedForm(view, store.name, {
    label: TEXTS.delete,
    question: TEXTS.deleteQuestion(displayStoreName(store.name)),
    action: storePath(store, "/delete"),
    button: TEXTS.deleteNow,
    fields: {},
  });
}

/** A destructive action on a store, confirmed by typing the store's name. */
function namedForm(
  view: View,
  name: string,
  act: {
    readonly label: Text;
    readonly question: Text;
    readonly action: string;
    readonly button: Text;
    readonly fields: Readonly<Record<string, string>>;
  },
): Html {
  const { label, question, action, button, fields } = act;
  const typed = typedValues(view, action, fields);
  const content = inputField(TEXTS.typeName(displayStoreName(name)), "name", { required: true, typed });
  return formWithConfirmation(
    view,
    { label, question },
    { action, label: button, fields: { ...fields, ...pageField(view) }, content, style: "danger" },
  );
}

/** A form field with the store of the page that contains the form: a refused form is shown on that page again. */
function pageField({ storeId }: View): Readonly<Record<string, string>> {
  return { [PAGE_OF]: storeId };
}

const PAGE_OF = "page_of";

/** The id of the store on whose page a refused form is shown again; empty if the form does not name it. */
export function storeOfFormPage(fields: ReadonlyMap<string, string>): string {
  return fields.get(PAGE_OF) ?? "";
}

function createForm(view: View, stores: readonly StoreEntry[]): Html {
  const merchants = new Map(
    stores.map(({ merchantId, merchantName }) => [merchantId, displayText(merchantName)]),
  );
  const action = storePath(view, "/stores");
  const typed = typedValues(view, action);
  const content = html`<div class="fields">
    ${inputField(COMMON_TEXTS.name, "name", { hint: TEXTS.nameHint, typed })}
    ${selectField(
      COMMON_TEXTS.merchant,
      "merchant",
      [["", TEXTS.sameMerchant], [NEW_MERCHANT, TEXTS.newMerchant], ...[...merchants].slice(1)],
      typed,
    )}
  </div>`;
  return html`<section class="panel">
    <h2>${TEXTS.create}</h2>
    <p class="hint">${TEXTS.createHint}</p>
    ${actionForm(view, { action, label: TEXTS.createNow, content, style: "primary" })}
  </section>`;
}

/** The snapshots. The contents of a snapshot are read only on request, because that reads the whole file. */
async function snapshotSection(context: PortalContext, view: View): Promise<Outcome<Html>> {
  const names = context.snapshotStorage.names().toSorted();
  const isDetailed = view.query.get("snapshots") === "details";
  const listed = isDetailed
    ? await runAsViewer(context, "listSnapshots", { ...view, body: undefined })
    : undefined;
  if (listed?.ok === false) return listed;
  const details = new Map(listed?.value.snapshots.map((one) => [one.name, one]));
  const rowOf = (name: string): TableRow => snapshotRow(view, name, details.get(name));
  const none = noItems(TEXTS.noSnapshots, "checkout snapshots create before-the-sale");
  const link = html`<p>
    <a href="${storePath(view, "/stores")}?snapshots=details#snapshots">${TEXTS.details}</a>
  </p>`;
  return accept(
    html`<section id="snapshots">
      <h2>${TEXTS.snapshots}</h2>
      ${table(TEXTS.snapshots, names, rowOf, { none })} ${isDetailed || names.length === 0 ? "" : link}
      <div class="panel actions">
        ${snapshotForm(view, TEXTS.snapshotStore, storePath(view, "/snapshots"))}
        ${snapshotForm(view, TEXTS.snapshotAll, storePath(view, "/snapshots/all"))}
      </div>
    </section>`,
  );
}

function snapshotForm(view: View, label: Words, action: string): Html {
  const typed = typedValues(view, action);
  const content = inputField(COMMON_TEXTS.name, "name", { required: true, hint: TEXTS.snapshotHint, typed });
  return actionForm(view, { action, label, content });
}

function snapshotRow(view: View, name: string, found: Snapshot | undefined): TableRow {
  const fields = { name };
  const restore = formWithConfirmation(
    view,
    { label: TEXTS.restore, question: TEXTS.restoreQuestion(name) },
    {
      action: "/portal/snapshots/restore",
      label: TEXTS.restoreNow,
      content: html`<label><input type="checkbox" name="trust" /> ${TEXTS.trust}</label>`,
      fields: { ...fields, ...pageField(view) },
      style: "danger",
    },
  );
  const remove = formWithConfirmation(
    view,
    { label: COMMON_TEXTS.remove, question: TEXTS.removeQuestion(name) },
    {
      action: storePath(view, "/snapshots/remove"),
      label: TEXTS.removeNow,
      fields,
      style: "danger",
    },
  );
  return [
    [TEXTS.snapshot, html`<code>${name}</code>`, "head"],
    ...(found === undefined ? [] : detailCells(found)),
    [COMMON_TEXTS.act, html`<div class="actions">${found?.problem ? "" : restore} ${remove}</div>`],
  ];
}

function detailCells({ storeId, takenAt, bytes, problem }: Snapshot): TableRow {
  const holds = storeId ?? TEXTS.wholeSandbox;
  return [
    [TEXTS.holds, problem === null ? holds : html`<span class="badge bad">${problem}</span>`],
    [TEXTS.taken, takenAt === null ? "" : momentWithDate(takenAt)],
    [TEXTS.size, `${Math.ceil(bytes / 1024)} KiB`, "whole"],
  ];
}
