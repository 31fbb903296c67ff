import type { AnswerOf } from "../../../../core/control/operations.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
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

/** The snapshots. The contents of a snapshot are read only on request, because that reads the whole file. */
export async function snapshotSection(context: PortalContext, view: View): Promise<Outcome<Html>> {
  // Which snapshots are of one store is known only by their contents.
  const isDetailed = view.query.get("snapshots") === "details" || view.call.caller?.limit !== undefined;
  const listed = isDetailed
    ? await runAsViewer(context, "listSnapshots", { ...view, body: undefined })
    : undefined;
  if (listed?.ok === false) return listed;
  const details = new Map(listed?.value.snapshots.map((one) => [one.name, one]));
  const names = listed === undefined ? context.snapshotStorage.names().toSorted() : [...details.keys()];
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
