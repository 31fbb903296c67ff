import { html, type Html, type Text } from "../../../web/html.ts";
import type { TypedForm } from "./fields.ts";
import { COMMON_TEXTS } from "./texts.ts";
import type { PartView, View } from "./view.ts";

export function storePath({ storeId }: Pick<View, "storeId">, path: string): string {
  return `/portal/${storeId}${path}`;
}

export function listUrl(
  view: Pick<View, "storeId">,
  path: string,
  filters: Readonly<Record<string, string | null>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value);
  return storePath(view, query.size === 0 ? path : `${path}?${query.toString()}`);
}

export function linkUnlessSaved({ isSaved }: Pick<View, "isSaved">, address: string, text: Text): Html {
  return isSaved === true ? html`${text}` : html`<a href="${address}">${text}</a>`;
}

export type ActionForm = {
  readonly action: string;
  readonly label: Text;
  readonly fields?: Readonly<Record<string, string>>;
  readonly content?: (typedForm: TypedForm) => Html;
  readonly style?: "" | "primary" | "danger";
  readonly isDisabled?: boolean;
};

type FormView = Pick<PartView, "formToken" | "refusedForm" | "may">;

/** Empty if the viewer may not submit the form. */
export function actionForm(
  view: FormView,
  { action, label, fields = {}, content = () => html``, style = "", isDisabled = false }: ActionForm,
): Html {
  if (!view.may("POST", action)) return html``;
  const inputs = Object.entries({ ...fields, token: view.formToken });
  const typedForm = typedValues(view, action, fields);
  const error =
    typedForm?.field === "" ? html`<p class="refused" tabindex="-1" autofocus>${typedForm.words}</p>` : "";
  return html`<form method="post" action="${action}" class="act" id="${idOf(action, fields)}">
    ${error} ${inputs.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${content(typedForm)}
    <button type="submit" class="${style}" ${isDisabled ? html`disabled` : ""}>${label}</button>
  </form>`;
}

export function typedValues(
  { refusedForm }: Pick<View, "refusedForm">,
  action: string,
  fields: Readonly<Record<string, string>> = {},
): TypedForm {
  if (refusedForm?.action !== action) return undefined;
  return Object.entries(fields).every(([name, value]) => refusedForm.fields.get(name) === value)
    ? refusedForm
    : undefined;
}

function idOf(action: string, fields: Readonly<Record<string, string>>): string {
  return ["do", ...action.split("/").slice(2), ...Object.values(fields)].join("-").replace(/[^\w-]+/g, "_");
}

export function testOrderForm(view: View): Html {
  return actionForm(view, {
    action: storePath(view, "/checkouts/test-orders"),
    label: COMMON_TEXTS.testOrder,
    style: "primary",
  });
}

export type Confirmation = readonly [title: Text, question: Text, button: Text];

export function formWithConfirmation(
  view: FormView,
  [title, question, label]: Confirmation,
  form: Omit<ActionForm, "label">,
): Html {
  if (!view.may("POST", form.action)) return html``;
  const isRefused = typedValues(view, form.action, form.fields) !== undefined;
  return html`<details class="asked" ${isRefused ? html`open` : ""}>
    <summary>${title}</summary>
    <p>${question}</p>
    ${actionForm(view, { style: "danger", ...form, label })}
  </details>`;
}

export function creationPanel(view: FormView, [title, hint]: readonly [Text, Text], form: ActionForm): Html {
  if (!view.may("POST", form.action)) return html``;
  return html`<section class="panel">
    <h2>${title}</h2>
    <p class="hint">${hint}</p>
    ${actionForm(view, { style: "primary", ...form })}
  </section>`;
}
