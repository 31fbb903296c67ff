import type { AnswerOf } from "../../../../core/control/operations.ts";
import { SCOPES } from "../../../../core/credential.ts";
import { html, type Html } from "../../../../web/html.ts";
import { refusalText, checkbox, type TypedForm } from "../fields.ts";
import { creationPanel, formWithConfirmation, storePath } from "../forms.ts";
import { momentWithDate, emptyListHtml, table, type TableRow } from "../parts.ts";
import type { PageContent, View } from "../view.ts";
import { revealedKeyOrSecret } from "./connect-page.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { KEYS_TEXTS as TEXTS } from "./texts.ts";

type Key = AnswerOf<"listKeys">["keys"][number];

export function keysPage(view: View, { keys }: AnswerOf<"listKeys">): PageContent {
  const activeCount = keys.filter(({ revokedAt }) => revokedAt === null).length;
  const noRows = emptyListHtml(TEXTS.none, "checkout keys create");
  const list = table({ caption: FRAME_TEXTS.keys, noRows }, keys, (key) =>
    keyRow(view, key, { isLast: activeCount === 1 }),
  );
  const main = html`${revealedKeyOrSecret(view)} ${list} ${createForm(view)}`;
  return { title: FRAME_TEXTS.keys, main, liveTopic: "store" };
}

export function parseKeyForm(fields: ReadonlyMap<string, string>): unknown {
  return { scopes: SCOPES.filter((scope) => fields.get(scope) === "yes") };
}

function keyRow(view: View, key: Key, { isLast }: { readonly isLast: boolean }): TableRow {
  const { keyId, lastFour, scopes, createdAt, revokedAt } = key;
  const question = html`${TEXTS.revokeQuestion(lastFour)}${isLast ? html` ${TEXTS.revokeLast}` : ""}`;
  const revokeForm = formWithConfirmation(view, [TEXTS.revoke, question, TEXTS.revokeNow], {
    action: storePath(view, `/keys/${keyId}/revoke`),
  });
  const state =
    revokedAt === null
      ? html`<span class="badge good">${TEXTS.inForce}</span>`
      : html`<span class="badge">${TEXTS.revoked}</span> ${momentWithDate(revokedAt)}`;
  return [
    [TEXTS.key, html`<code>svc_test_…${lastFour}</code>`, "head", "whole"],
    [TEXTS.scopes, scopes.map((scope) => html`<code class="whole">${scope}</code> `)],
    [COMMON_TEXTS.created, momentWithDate(createdAt)],
    [COMMON_TEXTS.state, state],
    [COMMON_TEXTS.act, revokedAt === null ? revokeForm : ""],
  ];
}

function createForm(view: View): Html {
  const form = { action: storePath(view, "/keys"), label: TEXTS.createNow, content: scopeFields };
  return creationPanel(view, [TEXTS.create, TEXTS.createHint], form);
}

function scopeFields(typedForm: TypedForm): Html {
  return html`<fieldset class="ticks">
    <legend>${TEXTS.scopes}</legend>
    ${refusalText("scopes", typedForm)}
    ${SCOPES.map((scope) => checkbox(scope, scope, { checked: true, typedForm }))}
  </fieldset>`;
}
