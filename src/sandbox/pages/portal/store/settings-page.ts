import type { AnswerOf } from "../../../../core/control/operations.ts";
import { servedSettingTexts } from "../../../../core/config/settings.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { field, typed } from "../fields.ts";
import { actForm, askedOnce, storePath } from "../forms.ts";
import { copyable, empty, facts, table } from "../parts.ts";
import { ask } from "../route.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { STORE_TEXTS } from "./texts.ts";

type Summary = AnswerOf<"storeSummary">;

/** What a store is and may do, where its customers come back to, and how the sandbox is served. */
export async function settingsPage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const summary = await ask(context, "storeSummary", { ...view, body: undefined });
  if (!summary.ok) return summary;
  const texts = STORE_TEXTS[view.language].settings;
  const main = html`${names(view, summary.value)} ${origins(view, summary.value)}
  ${capabilities(view, summary.value)} ${served(context, view)}`;
  return accept({ title: texts.title, main, live: { kind: "store" } });
}

/** What the form of a new return origin says. */
export function readOrigin(fields: ReadonlyMap<string, string>): unknown {
  return { action: "add", origin: fields.get("origin") ?? "", ...typed(fields, ["path"]) };
}

function names(view: View, { merchant, store }: Summary): Html {
  const texts = STORE_TEXTS[view.language].settings;
  const state = store.active
    ? html`<span class="badge good">${texts.active}</span>`
    : html`<span class="badge bad">${texts.inactive}</span>`;
  return html`<section class="panel">
    <h2>${texts.names}</h2>
    ${facts([
      [texts.store, store.name],
      [texts.storeId, copyable(store.id)],
      [texts.merchant, merchant.name],
      [texts.merchantId, copyable(merchant.id)],
      [texts.state, state],
    ])}
    <p class="hint">${texts.namesHint}</p>
  </section>`;
}

function origins(view: View, { returnOrigins }: Summary): Html {
  const texts = STORE_TEXTS[view.language].settings;
  const rows = returnOrigins.map(
    ({ origin, path }) =>
      html`<tr>
        <th scope="row"><code>${origin}</code></th>
        <td><code>${path}</code></td>
        <td>
          ${askedOnce(
            texts.remove,
            texts.removeQuestion(origin),
            actForm(view, {
              action: storePath(view, "/settings/return-origins/remove"),
              label: texts.removeNow,
              fields: { origin },
              style: "danger",
            }),
          )}
        </td>
      </tr>`,
  );
  const content = html`<div class="fields">
    ${field(texts.origin, "origin", { required: true, placeholder: "https://shop.example" })}
    ${field(texts.path, "path", { placeholder: "/", hint: texts.pathHint })}
  </div>`;
  const action = storePath(view, "/settings/return-origins");
  return html`<section>
    <h2>${texts.origins}</h2>
    <p class="hint">${texts.originsHint}</p>
    ${
      rows.length === 0
        ? empty(texts.noOrigins, "checkout return-origins add http://localhost:3000")
        : table(texts.origins, [texts.origin, texts.path, texts.act], rows)
    }
    <div class="panel">${actForm(view, { action, label: texts.add, content })}</div>
  </section>`;
}

function capabilities(view: View, { capabilities: all }: Summary): Html {
  const texts = STORE_TEXTS[view.language].settings;
  const named = (kind: string): Html[] =>
    all
      .filter((one) => one.kind === kind)
      .map(({ name, active }) =>
        active
          ? html`<span class="badge good">${name}</span> `
          : html`<span class="badge bad"
              >${name}<span class="visually-hidden"> ${texts.inactive}</span></span
            > `,
      );
  return html`<section class="panel">
    <h2>${texts.capabilities}</h2>
    ${facts([
      [texts.methods, html`${named("payment_method")}`],
      [texts.currencies, html`${named("currency")}`],
    ])}
    <p class="hint">${texts.capabilitiesHint} ${copyable("checkout admin enable-capability EUR")}</p>
  </section>`;
}

function served({ description }: PortalContext, view: View): Html {
  const texts = STORE_TEXTS[view.language].settings;
  const { version, dataDir, pid, settings } = description;
  const rows = servedSettingTexts(settings).map(
    ({ option, text, isDefault }) =>
      html`<tr>
        <th scope="row"><code>${option}</code></th>
        <td><code>${text}</code></td>
        <td>${isDefault ? "" : html`<span class="badge">${texts.changed}</span>`}</td>
      </tr>`,
  );
  return html`<section>
    <h2>${texts.served}</h2>
    <p class="hint">${texts.servedHint(version, String(pid), dataDir ?? texts.memory)}</p>
    ${table(texts.served, [texts.option, texts.value, texts.note], rows)}
  </section>`;
}
