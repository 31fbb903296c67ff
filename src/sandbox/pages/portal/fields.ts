import { html, type Html, type Text } from "../../../web/html.ts";

/** A field of a form, with its label. */
export function field(
  label: Text,
  name: string,
  {
    hint,
    value = "",
    placeholder = "",
    required = false,
    numeric = false,
    list = "",
  }: {
    /** What can be typed, where the label does not say it. */
    readonly hint?: Text;
    readonly value?: string;
    readonly placeholder?: string;
    readonly required?: boolean;
    /** Whether a phone shows digits. */
    readonly numeric?: boolean;
    /** The id of a `suggestions` on the page. */
    readonly list?: string;
  } = {},
): Html {
  const attributes = [
    required ? html` required` : html``,
    numeric ? html` inputmode="numeric"` : html``,
    placeholder === "" ? html`` : html` placeholder="${placeholder}"`,
    list === "" ? html`` : html` list="${list}"`,
  ];
  return html`<label class="field">
    <span>${label}</span>
    <input name="${name}" value="${value}" autocomplete="off" spellcheck="false" ${attributes} />
    ${hint === undefined ? "" : html`<small>${hint}</small>`}
  </label>`;
}

/** What a field suggests; anything else can be typed too. */
export function suggestions(id: string, values: readonly string[]): Html {
  return html`<datalist id="${id}">
    ${values.map((value) => html`<option value="${value}"></option>`)}
  </datalist>`;
}

/** A field with a few values, each with its text. */
export function choice(
  label: Text,
  name: string,
  options: readonly (readonly [value: string, text: Text])[],
): Html {
  return html`<label class="field">
    <span>${label}</span>
    <select name="${name}">
      ${options.map(([value, text]) => html`<option value="${value}">${text}</option>`)}
    </select>
  </label>`;
}

/** A filter of a list: any of its values, or one of them, each with its text. */
export function listFilter(
  { label, name, any }: { readonly label: Text; readonly name: string; readonly any: Text },
  options: readonly (readonly [value: string, text: Text])[],
  chosen: string | null,
): Html {
  return html`<label>
    ${label}
    <select name="${name}">
      <option value="">${any}</option>
      ${options.map(
        ([value, text]) =>
          html`<option value="${value}" ${value === chosen ? html`selected` : ""}>${text}</option>`,
      )}
    </select>
  </label>`;
}

/** A box that is ticked or not; it sends `yes`. */
export function tick(label: Text, name: string, { checked = false } = {}): Html {
  return html`<label class="tick">
    <input type="checkbox" name="${name}" value="yes" ${checked ? html` checked` : html``} />
    <span>${label}</span>
  </label>`;
}

/** The fields of these names in which something was typed; a form sends the others empty. */
export function typed(
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
