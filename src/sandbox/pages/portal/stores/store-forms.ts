import { displayStoreName } from "../../../../core/config/store-name.ts";
import { NEW_MERCHANT } from "../../../../core/control/operations/stores.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { refuseFact } from "../../../../core/refusals.ts";
import { printableLiteral, displayText } from "../../../../core/text.ts";
import { html, type Html } from "../../../../web/html.ts";
import { selectField, inputField, filledFields } from "../fields.ts";
import {
  actionForm,
  formWithConfirmation,
  storePath,
  typedValues,
  type ActionForm,
  type Confirmation,
} from "../forms.ts";
import type { PortalContext, View } from "../view.ts";
import { COMMON_TEXTS } from "../texts.ts";
import { STORES_TEXTS as TEXTS } from "../store/texts.ts";
import type { StoreEntry } from "../../../../core/store/shapes.ts";

/** Parses the store of a form. Refuses with `invalid_parameter` if the user did not type the store's exact name. */
export function parseStoreConfirmation(
  fields: ReadonlyMap<string, string>,
  { context, storeId }: { readonly context: PortalContext; readonly storeId: string },
): Outcome<string> {
  const name = context.store.stores.names(storeId)?.store;
  const typedName = (fields.get("name") ?? "").trim();
  if (name === undefined || typedName === name || typedName === displayStoreName(name))
    return accept(storeId);
  const wanted = printableLiteral(displayStoreName(name));
  return refuseFact(
    "store_name_differs",
    { wanted, received: printableLiteral(typedName) },
    { field: "name" },
  );
}

export function parseStoreForm(fields: ReadonlyMap<string, string>): unknown {
  return filledFields(fields, ["name", "merchant"]);
}

export function resetForm(view: View, { storeId, name: storedName }: StoreEntry): Html {
  const name = displayStoreName(storedName);
  // The path names no store: this request must not enter it, because a reset waits until all requests have left.
  return formWithName(view, name, {
    texts: [TEXTS.reset, TEXTS.resetQuestion(name), TEXTS.resetNow],
    action: "/portal/stores/reset",
    fields: { store: storeId },
  });
}

export function deleteForm(view: View, store: StoreEntry): Html {
  const name = displayStoreName(store.name);
  const question = [TEXTS.delete, TEXTS.deleteQuestion(name), TEXTS.deleteNow] as const;
  return formWithName(view, name, { texts: question, action: storePath(store, "/delete") });
}

type ConfirmedForm = Pick<ActionForm, "action" | "fields"> & { readonly texts: Confirmation };

/** A destructive action on a store, confirmed by typing the store's name, as it is displayed. */
function formWithName(view: View, name: string, { texts, action, fields = {} }: ConfirmedForm): Html {
  const typedForm = typedValues(view, action, fields);
  const content = inputField(TEXTS.typeName(name), "name", { required: true, typedForm });
  return formWithConfirmation(view, texts, { action, fields: { ...fields, ...pageField(view) }, content });
}

/** A form field with the store of the page that contains the form: a refused form is shown on that page again. */
export function pageField({ storeId }: View): Readonly<Record<string, string>> {
  return { [PAGE_FIELD]: storeId };
}

const PAGE_FIELD = "page_of";

/** The id of the store whose page shows a refused form again; empty if the form does not name it. */
export function storeOfFormPage(fields: ReadonlyMap<string, string>): string {
  return fields.get(PAGE_FIELD) ?? "";
}

export function createStoreForm(view: View, stores: readonly StoreEntry[]): Html {
  const merchants = new Map(
    stores.map(({ merchantId, merchantName }) => [merchantId, displayText(merchantName)]),
  );
  const action = storePath(view, "/stores");
  if (!view.may("POST", action)) return html``;
  const typedForm = typedValues(view, action);
  const content = html`<div class="fields">
    ${inputField(COMMON_TEXTS.name, "name", { hint: TEXTS.nameHint, typedForm })}
    ${selectField(
      COMMON_TEXTS.merchant,
      "merchant",
      [["", TEXTS.sameMerchant], [NEW_MERCHANT, TEXTS.newMerchant], ...[...merchants].slice(1)],
      typedForm,
    )}
  </div>`;
  return html`<section class="panel">
    <h2>${TEXTS.create}</h2>
    <p class="hint">${TEXTS.createHint}</p>
    ${actionForm(view, { action, label: TEXTS.createNow, content, style: "primary" })}
  </section>`;
}
