import type { AnswerOf } from "../../../../core/control/operations.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { displayText } from "../../../../core/text.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import type { Words } from "../../../../core/language.ts";
import { inputField } from "../fields.ts";
import { actionForm, formWithConfirmation, storePath, typedValues } from "../forms.ts";
import { momentWithDate, noItems, table, type TableRow } from "../parts.ts";
import { runAsViewer } from "../route.ts";
import type { PortalContext, View } from "../view.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { pageField } from "./store-forms.ts";
import { STORES_TEXTS as TEXTS } from "../store/texts.ts";

type Snapshot = AnswerOf<"listSnapshots">["snapshots"][number];

/** Maximum total size of snapshots that are described without a click: describing a snapshot reads its whole file. */
const MAX_READ_BYTES = 4 * 1024 * 1024;

/** The snapshots, each with its kind and time; large snapshots are described only on request. */
export async function snapshotSection(context: PortalContext, view: View): Promise<Outcome<Html>> {
  // Only the content of a snapshot shows which stores it contains.
  const isLimited = view.call.caller?.limit !== undefined;
  const isDetailed = isLimited || view.query.get("snapshots") === "details" || areSnapshotsSmall(context);
  const list = isDetailed
    ? await runAsViewer(context, "listSnapshots", { ...view, body: undefined })
    : undefined;
  if (list?.ok === false) return list;
  const details = new Map(list?.value.snapshots.map((snapshot) => [snapshot.name, snapshot]));
  const names = list === undefined ? context.snapshotStorage.names().toSorted() : [...details.keys()];
  const rowOf = (name: string): TableRow => snapshotRow(context, view, { name, snapshot: details.get(name) });
  const noSnapshotsNotice = noItems(TEXTS.noSnapshots, "checkout snapshots create before-the-sale");
  const link = html`<p>
    <a href="${storePath(view, "/stores")}?snapshots=details#snapshots">${TEXTS.details}</a>
  </p>`;
  return accept(
    html`<section id="snapshots">
      <h2>${TEXTS.snapshots}</h2>
      ${table(TEXTS.snapshots, names, rowOf, { noRows: noSnapshotsNotice })}
      ${isDetailed || names.length === 0 ? "" : link}
      <div class="panel actions">
        ${snapshotForm(view, TEXTS.snapshotStore, storePath(view, "/snapshots"))}
        ${snapshotForm(view, TEXTS.snapshotAll, storePath(view, "/snapshots/all"))}
      </div>
    </section>`,
  );
}

function areSnapshotsSmall({ snapshotStorage: storage }: PortalContext): boolean {
  const bytes = storage.names().reduce((sum, name) => sum + (storage.size(name) ?? 0), 0);
  return bytes <= MAX_READ_BYTES;
}

function snapshotForm(view: View, label: Words, action: string): Html {
  const typedForm = typedValues(view, action);
  const content = inputField(COMMON_TEXTS.name, "name", {
    required: true,
    hint: TEXTS.snapshotHint,
    typedForm,
  });
  return actionForm(view, { action, label, content });
}

function snapshotRow(
  context: PortalContext,
  view: View,
  { name, snapshot }: { readonly name: string; readonly snapshot: Snapshot | undefined },
): TableRow {
  const fields = { name };
  const contentWords = snapshot === undefined ? TEXTS.asTaken : contentOf(context, view, snapshot);
  const restoreTexts = [TEXTS.restore, TEXTS.restoreQuestion(name, contentWords), TEXTS.restoreNow] as const;
  const restoreForm = formWithConfirmation(view, restoreTexts, {
    action: "/portal/snapshots/restore",
    content: html`<label><input type="checkbox" name="trust" /> ${TEXTS.trust}</label>`,
    fields: { ...fields, ...pageField(view) },
  });
  const removeTexts = [COMMON_TEXTS.remove, TEXTS.removeQuestion(name), TEXTS.removeNow] as const;
  const action = storePath(view, "/snapshots/remove");
  const removeForm = formWithConfirmation(view, removeTexts, { action, fields });
  return [
    [TEXTS.snapshot, html`<code>${name}</code>`, "head"],
    ...(snapshot === undefined ? [] : detailCells(snapshot, contentWords)),
    [
      COMMON_TEXTS.act,
      html`<div class="actions">${snapshot?.problem ? "" : restoreForm} ${removeForm}</div>`,
    ],
  ];
}

/** The part of the sandbox that a snapshot contains, and that a restore replaces. */
function contentOf({ store }: PortalContext, view: View, { storeId }: Snapshot): Words {
  if (storeId === null) return TEXTS.wholeSandbox;
  if (storeId === view.storeId) return TEXTS.thisStore;
  const name = store.stores.names(storeId)?.store;
  return TEXTS.otherStore(name === undefined ? storeId : displayText(name));
}

function detailCells({ takenAt, bytes, problem }: Snapshot, content: Text): TableRow {
  return [
    [TEXTS.holds, problem === null ? content : html`<span class="badge bad">${problem}</span>`],
    [TEXTS.taken, takenAt === null ? "" : momentWithDate(takenAt)],
    [TEXTS.size, `${Math.ceil(bytes / 1024)} KiB`, "whole"],
  ];
}
