import { explainAmountFault } from "../../../core/money.ts";
import { accept, type Outcome, prefixFieldName, type Refused } from "../../../core/outcome.ts";
import { printableLiteral } from "../../../core/text.ts";
import { html, type Html, type Text } from "../../../web/html.ts";
import type { RefusedForm } from "./view.ts";
import { refuseFact } from "../../../core/refusals.ts";
import type { Part } from "../../../core/fact.ts";

export type TypedForm = RefusedForm | undefined;

export type InputOptions = {
  readonly hint?: Text;
  readonly value?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly numeric?: boolean;
  readonly list?: string;
  readonly typedForm?: TypedForm;
};

export function inputField(label: Text, name: string, options: InputOptions): Html {
  const { hint, value = "", placeholder, list, typedForm } = options;
  const attributes = [
    options.required === true ? html` required` : html``,
    options.numeric === true ? html` inputmode="numeric"` : html``,
    placeholder === undefined ? html`` : html` placeholder="${placeholder}"`,
    list === undefined ? html`` : html` list="${list}"`,
    refusedAttributes(name, typedForm),
  ];
  return html`<label class="field">
    <span>${label}</span>
    <input
      name="${name}"
      value="${typedForm?.fields.get(name) ?? value}"
      autocomplete="off"
      spellcheck="false"
      ${attributes}
    />
    ${refusalText(name, typedForm)} ${hint === undefined ? "" : html`<small>${hint}</small>`}
  </label>`;
}

export function textField(
  label: Text,
  name: string,
  { placeholder, typedForm }: { readonly placeholder: string; readonly typedForm: TypedForm },
): Html {
  return html`<label class="field">
    <span>${label}</span>
    <textarea
      name="${name}"
      rows="3"
      placeholder="${placeholder}"
      spellcheck="false"
      ${refusedAttributes(name, typedForm)}
    >
${typedForm?.fields.get(name) ?? ""}</textarea>
    ${refusalText(name, typedForm)}
  </label>`;
}

function refusedAttributes(name: string, typedForm: TypedForm): Html {
  return typedForm?.field === name
    ? html` autofocus aria-invalid="true" aria-describedby="refused-${name}"`
    : html``;
}

export const REFUSED_CLASS_ATTRIBUTE = 'class="refused"';

export function refusalText(name: string, typedForm: TypedForm): Html {
  if (typedForm?.field !== name) return html``;
  return html`<strong class="refused" id="refused-${name}">${typedForm.words}</strong>`;
}

export function suggestions(id: string, values: readonly string[]): Html {
  return html`<datalist id="${id}">
    ${values.map((value) => html`<option value="${value}"></option>`)}
  </datalist>`;
}

export function selectField(
  label: Text,
  name: string,
  options: readonly (readonly [value: string, text: Text])[],
  typedForm?: TypedForm,
): Html {
  const chosenValue = typedForm?.fields.get(name);
  return html`<label class="field">
    <span>${label}</span>
    <select name="${name}" ${refusedAttributes(name, typedForm)}>
      ${options.map(
        ([value, text]) =>
          html`<option value="${value}" ${value === chosenValue ? html`selected` : ""}>${text}</option>`,
      )}
    </select>
    ${refusalText(name, typedForm)}
  </label>`;
}

export function checkbox(
  label: Text,
  name: string,
  { checked = false, typedForm }: { readonly checked?: boolean; readonly typedForm?: TypedForm } = {},
): Html {
  const isTicked = typedForm === undefined ? checked : typedForm.fields.has(name);
  return html`<label class="tick">
    <input type="checkbox" name="${name}" value="yes" ${isTicked ? html` checked` : html``} />
    <span>${label}</span>
  </label>`;
}

export function filledFields(
  fields: ReadonlyMap<string, string>,
  names: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const text = fields.get(name) ?? "";
      return text === "" ? [] : [[name, text]];
    }),
  );
}

export function parseAmount(fields: ReadonlyMap<string, string>, currency: string): Outcome<number> {
  const text = fields.get("amount_minor") ?? "";
  const expectedText = explainAmountFault(text, currency);
  if (expectedText === undefined) return accept(Number(text));
  return refuseForm("amount_minor", expectedText, text);
}

export function refuseForm(field: string, form: Part, text: string): Refused {
  return prefixFieldName(field, refuseFact("field_form", { form, received: printableLiteral(text) }));
}
