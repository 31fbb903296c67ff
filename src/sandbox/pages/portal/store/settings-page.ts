import { displayStoreName } from "../../../../core/config/store-name.ts";
import { differencesText } from "../../../../core/webhook/dialect-differences.ts";
import { displayText } from "../../../../core/text.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { NO_VALUE_TEXT } from "../../../../core/config/setting-kinds.ts";
import { servedSettingTexts } from "../../../../core/config/settings.ts";
import { html, type Html } from "../../../../web/html.ts";
import { inputField, filledFields, type TypedForm } from "../fields.ts";
import { actionForm, formWithConfirmation, storePath } from "../forms.ts";
import { copyableText, emptyListHtml, factList, goodOrBadBadge, section, table } from "../parts.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { SETTINGS_TEXTS as TEXTS } from "./texts.ts";

type Summary = AnswerOf<"storeSummary">;

export function settingsPage(view: View, summary: Summary, context: PortalContext): PageContent {
  const main = html`${namesPanel(summary)} ${originsSection(view, summary)} ${capabilitiesPanel(summary)}
  ${view.call.caller?.limit === undefined ? servedSettings(context) : ""}`;
  return { title: FRAME_TEXTS.settings, main, liveTopic: "store" };
}

export function parseReturnOriginForm(fields: ReadonlyMap<string, string>): unknown {
  return { action: "add", origin: fields.get("origin") ?? "", ...filledFields(fields, ["path"]) };
}

function namesPanel({ merchant, store, dialect }: Summary): Html {
  return html`<section class="panel">
    <h2>${COMMON_TEXTS.store}</h2>
    ${factList([
      [COMMON_TEXTS.name, displayStoreName(store.name)],
      [COMMON_TEXTS.storeId, copyableText(store.id)],
      [COMMON_TEXTS.merchant, displayText(merchant.name)],
      [TEXTS.merchantId, copyableText(merchant.id)],
      [COMMON_TEXTS.state, goodOrBadBadge(store.active, COMMON_TEXTS.active, COMMON_TEXTS.inactive)],
      [
        TEXTS.dialect,
        html`${dialect === undefined ? TEXTS.noDialect : html`<code>${differencesText(dialect)}</code>`}`,
      ],
    ])}
    <p class="hint">${TEXTS.namesHint}</p>
    ${dialect === undefined ? "" : html`<p class="hint">${TEXTS.dialectHint}</p>`}
  </section>`;
}

function originsSection(view: View, { returnOrigins }: Summary): Html {
  const noRows = emptyListHtml(TEXTS.noOrigins, "checkout return-origins add http://localhost:3000");
  const list = table({ caption: TEXTS.origins, noRows }, returnOrigins, ({ origin, path }) => {
    const question = [COMMON_TEXTS.remove, TEXTS.removeQuestion(origin), TEXTS.removeNow] as const;
    const removePath = storePath(view, "/settings/return-origins/remove");
    const removeForm = formWithConfirmation(view, question, { action: removePath, fields: { origin } });
    return [
      [TEXTS.origin, html`<code>${origin}</code>`, "head"],
      [COMMON_TEXTS.path, html`<code>${path}</code>`],
      [COMMON_TEXTS.act, removeForm],
    ];
  });
  const action = storePath(view, "/settings/return-origins");
  return html`<section>
    <h2>${TEXTS.origins}</h2>
    <p class="hint">${TEXTS.originsHint}</p>
    ${list}
    ${view.may("POST", action) ? html`<div class="panel">${actionForm(view, { action, label: TEXTS.add, content: originFields })}</div>` : ""}
  </section>`;
}

function originFields(typedForm: TypedForm): Html {
  return html`<div class="fields">
    ${inputField(TEXTS.origin, "origin", { required: true, placeholder: "https://shop.example", typedForm })}
    ${inputField(COMMON_TEXTS.path, "path", { placeholder: "/", hint: TEXTS.pathHint, typedForm })}
  </div>`;
}

function capabilitiesPanel({ capabilities: capabilityRows }: Summary): Html {
  const namesOfKind = (kind: string): Html[] =>
    capabilityRows
      .filter((capability) => capability.kind === kind)
      .map(({ name, active }) =>
        active
          ? html`<span class="badge good">${name}</span> `
          : html`<span class="badge bad"
              >${name}<span class="visually-hidden"> ${COMMON_TEXTS.inactive}</span></span
            > `,
      );
  return html`<section class="panel">
    <h2>${COMMON_TEXTS.capabilities}</h2>
    ${factList([
      [TEXTS.methods, html`${namesOfKind("payment_method")}`],
      [TEXTS.currencies, html`${namesOfKind("currency")}`],
    ])}
    <p class="hint">${TEXTS.capabilitiesHint} ${copyableText("checkout admin enable-capability EUR")}</p>
  </section>`;
}

function servedSettings({ description }: PortalContext): Html {
  const { version, dataDir, pid, settings } = description;
  const list = table(
    { caption: TEXTS.served },
    servedSettingTexts(settings),
    ({ option, text, isDefault }) => [
      [TEXTS.option, html`<code>${option}</code>`, "head"],
      [TEXTS.value, text === NO_VALUE_TEXT ? TEXTS.noValue : html`<code>${text}</code>`],
      [COMMON_TEXTS.note, isDefault ? "" : html`<span class="badge">${TEXTS.changed}</span>`],
    ],
  );
  const hint = html`<p class="hint">${TEXTS.servedHint(version, String(pid), dataDir)}</p>`;
  return section(TEXTS.served, hint, list);
}
