import type { AnswerOf } from "../../../../core/control/operations.ts";
import { NEW_MERCHANT, type StoreEntry } from "../../../../core/control/stores.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import { printableLiteral } from "../../../../core/text.ts";
import { html, type Html } from "../../../../web/html.ts";
import { choice, field, typed } from "../fields.ts";
import { actForm, askedOnce, storePath } from "../forms.ts";
import { copyable, dated, empty, table } from "../parts.ts";
import { ask } from "../route.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { STORE_TEXTS } from "./texts.ts";

type Snapshot = AnswerOf<"listSnapshots">["snapshots"][number];

/** How many stores are shown: the newest, and the one whose page it is. */
const MAX_SHOWN = 100;

/** The stores of the sandbox and its snapshots. */
export async function storesPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const listed = await ask(context, "listStores", { ...view, body: undefined });
  if (!listed.ok) return listed;
  const { stores } = listed.value;
  const texts = STORE_TEXTS[view.language].stores;
  const shown = stores.filter(
    ({ storeId }, index) => storeId === view.storeId || index === 0 || index >= stores.length - MAX_SHOWN,
  );
  const rows = shown.map((store) => row(view, store, { isFirst: store === stores[0] }));
  const hidden = stores.length - shown.length;
  const snapshots = await snapshotSection(context, view);
  if (!snapshots.ok) return snapshots;
  const columns = [texts.store, texts.merchant, texts.state, texts.created, texts.act];
  const main = html`<section>
      ${table(texts.title, columns, rows)}
      ${hidden === 0 ? "" : html`<p class="hint">${texts.hidden(hidden)} ${copyable("checkout stores list")}</p>`}
    </section>
    ${createForm(view, shown)} ${snapshots.value}`;
  return accept({ title: texts.title, main, live: { kind: "store" } });
}

/** The store that a form names, if its name was typed as it is. Refuses with `invalid_parameter` otherwise. */
export function readNamed(
  fields: ReadonlyMap<string, string>,
  { context, storeId }: { readonly context: PortalContext; readonly storeId: string },
): Outcome<string> {
  const name = context.store.stores.names(storeId)?.store;
  const got = (fields.get("name") ?? "").trim();
  if (name === undefined || got === name) return accept(storeId);
  const wanted = `the name of the store, ${printableLiteral(name)}`;
  return refuse("invalid_parameter", `expected ${wanted}; got ${printableLiteral(got)}; nothing was changed`);
}

/** What the form of a new store says. */
export function readStore(fields: ReadonlyMap<string, string>): unknown {
  return typed(fields, ["name", "merchant"]);
}

function row(view: View, store: StoreEntry, { isFirst }: { readonly isFirst: boolean }): Html {
  const texts = STORE_TEXTS[view.language].stores;
  const { storeId, name, merchantName, active, createdAt } = store;
  const isCurrent = storeId === view.storeId;
  return html`<tr data-row>
    <th scope="row">
      <a href="${storePath(store, "/start")}">${name}</a>
      ${isCurrent ? html`<span class="badge">${texts.current}</span>` : ""}
      <div class="whole"><small>${copyable(storeId)}</small></div>
    </th>
    <td>${merchantName}</td>
    <td>
      ${
        active
          ? html`<span class="badge good">${texts.active}</span>`
          : html`<span class="badge bad">${texts.inactive}</span>`
      }
    </td>
    <td>${dated(createdAt)}</td>
    <td><div class="actions">${resetForm(view, store)} ${isFirst ? "" : deleteForm(view, store)}</div></td>
  </tr>`;
}

function resetForm(view: View, { storeId, name }: StoreEntry): Html {
  const texts = STORE_TEXTS[view.language].stores;
  return askedOnce(
    texts.reset,
    texts.resetQuestion(name),
    actForm(view, {
      // Not below the store: a reset waits until nobody is in it any more.
      action: "/portal/stores/reset",
      label: texts.resetNow,
      fields: { store: storeId },
      content: field(texts.typeName(name), "name", { required: true }),
      style: "danger",
    }),
  );
}

function deleteForm(view: View, store: StoreEntry): Html {
  const texts = STORE_TEXTS[view.language].stores;
  return askedOnce(
    texts.delete,
    texts.deleteQuestion(store.name),
    actForm(view, {
      action: storePath(store, "/delete"),
      label: texts.deleteNow,
      content: field(texts.typeName(store.name), "name", { required: true }),
      style: "danger",
    }),
  );
}

function createForm(view: View, stores: readonly StoreEntry[]): Html {
  const texts = STORE_TEXTS[view.language].stores;
  const merchants = new Map(stores.map(({ merchantId, merchantName }) => [merchantId, merchantName]));
  const content = html`<div class="fields">
    ${field(texts.name, "name", { hint: texts.nameHint })}
    ${choice(texts.merchant, "merchant", [
      ["", texts.sameMerchant],
      [NEW_MERCHANT, texts.newMerchant],
      ...[...merchants].slice(1),
    ])}
  </div>`;
  return html`<section class="panel">
    <h2>${texts.create}</h2>
    <p class="hint">${texts.createHint}</p>
    ${actForm(view, {
      action: storePath(view, "/stores"),
      label: texts.createNow,
      content,
      style: "primary",
    })}
  </section>`;
}

/** What a snapshot holds is told only when it is asked for: each is a whole file to be read. */
async function snapshotSection(context: PortalContext, view: View): Promise<Outcome<Html>> {
  const texts = STORE_TEXTS[view.language].stores;
  const names = context.snapshotShelf.names().toSorted();
  const isDetailed = view.query.get("snapshots") === "details";
  const listed = isDetailed ? await ask(context, "listSnapshots", { ...view, body: undefined }) : undefined;
  if (listed?.ok === false) return listed;
  const details = new Map(listed?.value.snapshots.map((one) => [one.name, one]));
  const rows = names.map((name) => snapshotRow(view, name, details.get(name)));
  const columns = isDetailed
    ? [texts.snapshot, texts.holds, texts.taken, texts.size, texts.act]
    : [texts.snapshot, texts.act];
  const link = html`<p>
    <a href="${storePath(view, "/stores")}?snapshots=details#snapshots">${texts.details}</a>
  </p>`;
  return accept(
    html`<section id="snapshots">
      <h2>${texts.snapshots}</h2>
      ${
        rows.length === 0
          ? empty(texts.noSnapshots, "checkout snapshots create before-the-sale")
          : html`${table(texts.snapshots, columns, rows)} ${isDetailed ? "" : link}`
      }
      <div class="panel actions">
        ${snapshotForm(view, texts.snapshotStore, storePath(view, "/snapshots"))}
        ${snapshotForm(view, texts.snapshotAll, storePath(view, "/snapshots/all"))}
      </div>
    </section>`,
  );
}

function snapshotForm(view: View, label: string, action: string): Html {
  const texts = STORE_TEXTS[view.language].stores;
  const content = field(texts.snapshotName, "name", { required: true, hint: texts.snapshotHint });
  return actForm(view, { action, label, content });
}

function snapshotRow(view: View, name: string, found: Snapshot | undefined): Html {
  const texts = STORE_TEXTS[view.language].stores;
  const fields = { name };
  const restore = askedOnce(
    texts.restore,
    texts.restoreQuestion(name),
    actForm(view, {
      action: "/portal/snapshots/restore",
      label: texts.restoreNow,
      fields,
      style: "danger",
    }),
  );
  const remove = askedOnce(
    texts.removeSnapshot,
    texts.removeQuestion(name),
    actForm(view, {
      action: storePath(view, "/snapshots/remove"),
      label: texts.removeNow,
      fields,
      style: "danger",
    }),
  );
  return html`<tr>
    <th scope="row"><code>${name}</code></th>
    ${found === undefined ? "" : detailCells(view, found)}
    <td><div class="actions">${found?.problem ? "" : restore} ${remove}</div></td>
  </tr>`;
}

function detailCells(view: View, { storeId, takenAt, bytes, problem }: Snapshot): Html {
  const texts = STORE_TEXTS[view.language].stores;
  const holds = storeId === null ? texts.wholeSandbox : storeId;
  return html`<td>${problem === null ? holds : html`<span class="badge bad">${problem}</span>`}</td>
    <td>${takenAt === null ? "" : dated(takenAt)}</td>
    <td class="whole">${`${Math.ceil(bytes / 1024)} KiB`}</td>`;
}
