import { displayStoreName } from "../../../../core/config/store-name.ts";
import { displayText } from "../../../../core/text.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { isProductionApproved, isGateOpen, productionOf } from "../../../../core/readiness/admin-action.ts";
import type { AdministratorAction } from "../../../../core/readiness/names.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { inputField, filledFields } from "../fields.ts";
import { actionForm, formWithConfirmation, storePath } from "../forms.ts";
import {
  amountHtml,
  linkButton,
  copyableText,
  momentWithDate,
  goodOrNeutralBadge,
  emptyListHtml,
  factList,
  section,
  table,
} from "../parts.ts";
import { runAsViewer } from "../route.ts";
import type { PageContent, PortalContext, View } from "../view.ts";
import { FRAME_TEXTS, COMMON_TEXTS } from "../texts.ts";
import { ADMIN_TEXTS } from "./texts.ts";
import type { RecordedAction } from "../../../../core/readiness/shapes.ts";

type Summary = AnswerOf<"storeSummary">;

const MAX_ACTIONS = 200;

export async function adminStorePage(context: PortalContext, view: View): Promise<Outcome<PageContent>> {
  const summary = await runAsViewer(context, "storeSummary", { ...view, body: undefined });
  if (!summary.ok) return summary;
  const log = await runAsViewer(context, "adminLog", { ...view, body: undefined });
  if (!log.ok) return log;
  const { store, merchant } = summary.value;
  const { acts } = log.value;
  const main = html`<p><a href="/portal/admin">${FRAME_TEXTS.allStores}</a></p>
    ${productionSection(view, acts)}
    <section class="panel">
      <h2>${COMMON_TEXTS.store}</h2>
      ${factList([
        [COMMON_TEXTS.store, html`${displayStoreName(store.name)} ${copyableText(store.id)}`],
        [COMMON_TEXTS.merchant, merchant.name],
        [COMMON_TEXTS.state, goodOrNeutralBadge(store.active, COMMON_TEXTS.active, COMMON_TEXTS.inactive)],
      ])}
      <div class="actions">
        ${formWithQuestion(view, { action: store.active ? "deactivate" : "activate" })}
      </div>
    </section>
    ${capabilitySection(view, summary.value)} ${priceSection(view, summary.value)} ${auditLogSection(acts)}`;
  return accept({ title: displayStoreName(store.name), main, liveTopic: "store" });
}

export function parseActionForm(fields: ReadonlyMap<string, string>): unknown {
  const { subject, ...actionFields } = filledFields(fields, ["action", "subject", "note"]);
  if (subject === undefined) return actionFields;
  return {
    ...actionFields,
    subject:
      /^[a-z]{3}$/i.test(subject) && isCapabilityAction(actionFields) ? subject.toUpperCase() : subject,
  };
}

function isCapabilityAction({ action }: Readonly<Record<string, string>>): boolean {
  return action === "enable_capability" || action === "disable_capability";
}

type ActionQuestion = { readonly action: AdministratorAction; readonly subject?: string };

function formWithQuestion(view: View, { action, subject }: ActionQuestion): Html {
  const fields = { action, ...(subject === undefined ? {} : { subject }) };
  const path = actionsPath(view);
  const label = ADMIN_TEXTS.acts[action];
  return formWithConfirmation(view, [label, ADMIN_TEXTS.questions[action], label], {
    action: path,
    fields,
    content: (typedForm) => inputField(ADMIN_TEXTS.note, "note", { typedForm }),
    style: REVOKING_ACTIONS.has(action) ? "danger" : "primary",
  });
}

const REVOKING_ACTIONS: ReadonlySet<AdministratorAction> = new Set([
  "revoke_credential",
  "deactivate",
  "disable_capability",
  "revoke_price",
  "close_gate",
]);

/** Renders the form of an action that can be revoked, and so needs no confirmation. */
function formWithoutQuestion(view: View, { action, subject = "" }: ActionQuestion): Html {
  const label = ADMIN_TEXTS.acts[action];
  return actionForm(view, { action: actionsPath(view), label, fields: { action, subject } });
}

function actionsPath({ storeId }: View): string {
  return `/portal/admin/${storeId}/acts`;
}

function productionSection(view: View, acts: readonly RecordedAction[]): Html {
  const state = productionOf(acts);
  const { request } = state;
  const [hasApproval, isOpen] = [isProductionApproved(state), isGateOpen(state)];
  const requestText =
    request === null
      ? html`${ADMIN_TEXTS.noRequest} ${copyableText("checkout production request")}`
      : html`${momentWithDate(request.at)} ${request.note === null ? "" : html`· ${request.note}`}`;
  return html`<section class="panel">
    <h2>${COMMON_TEXTS.production}</h2>
    ${factList([
      [ADMIN_TEXTS.requested, requestText],
      [
        COMMON_TEXTS.credential,
        goodOrNeutralBadge(hasApproval, COMMON_TEXTS.approved, COMMON_TEXTS.notApproved),
      ],
      [COMMON_TEXTS.gate, goodOrNeutralBadge(isOpen, COMMON_TEXTS.open, COMMON_TEXTS.closed)],
    ])}
    <div class="actions">
      ${formWithQuestion(view, { action: hasApproval ? "revoke_credential" : "approve_credential" })}
      ${formWithQuestion(view, { action: isOpen ? "close_gate" : "open_gate" })}
    </div>
  </section>`;
}

function capabilitySection(view: View, { capabilities }: Summary): Html {
  const list = table({ caption: COMMON_TEXTS.capabilities }, capabilities, ({ name, kind, active }) => [
    [ADMIN_TEXTS.capability, html`<code>${name}</code>`, "head"],
    [COMMON_TEXTS.kind, ADMIN_TEXTS[kind]],
    [COMMON_TEXTS.state, goodOrNeutralBadge(active, COMMON_TEXTS.active, COMMON_TEXTS.inactive)],
    [
      COMMON_TEXTS.act,
      active
        ? formWithQuestion(view, { action: "disable_capability", subject: name })
        : formWithoutQuestion(view, { action: "enable_capability", subject: name }),
    ],
  ]);
  const otherForm = actionForm(view, {
    action: actionsPath(view),
    label: ADMIN_TEXTS.acts.enable_capability,
    fields: { action: "enable_capability" },
    content: (typedForm) =>
      inputField(ADMIN_TEXTS.another, "subject", {
        required: true,
        hint: ADMIN_TEXTS.anotherHint,
        typedForm,
      }),
  });
  return section(COMMON_TEXTS.capabilities, list, html`<div class="panel actions">${otherForm}</div>`);
}

function priceSection(view: View, { prices }: Summary): Html {
  const sortedPrices = prices.toSorted((left, right) => Number(left.approved) - Number(right.approved));
  const noRows = emptyListHtml(
    ADMIN_TEXTS.noPrices,
    "checkout prices add oolong --amount-minor 700 --currency EUR --payment-method alipay_plus",
    linkButton(storePath(view, "/catalog"), ADMIN_TEXTS.addPrice),
  );
  const list = table({ caption: ADMIN_TEXTS.catalog, noRows }, sortedPrices, (price) => {
    const { id, description, approved, retired } = price;
    const name = html`<code>${displayText(id)}</code> <small>${displayText(description)}</small>`;
    const actForm = approved
      ? formWithQuestion(view, { action: "revoke_price", subject: id })
      : formWithoutQuestion(view, { action: "approve_price", subject: id });
    const state = retired
      ? html`<span class="badge">${COMMON_TEXTS.retired}</span>`
      : goodOrNeutralBadge(approved, COMMON_TEXTS.approved, COMMON_TEXTS.notApproved);
    return [
      [COMMON_TEXTS.price, name, "head"],
      [COMMON_TEXTS.amount, amountHtml(price)],
      [COMMON_TEXTS.state, state],
      [COMMON_TEXTS.act, retired ? "" : actForm],
    ];
  });
  return section(ADMIN_TEXTS.catalog, list);
}

function auditLogSection(acts: readonly RecordedAction[]): Html {
  const list = table(
    { caption: ADMIN_TEXTS.log, noRows: emptyListHtml(ADMIN_TEXTS.noActs, "checkout admin log") },
    acts.slice(-MAX_ACTIONS).toReversed(),
    ({ number, at, actor, action, subject, note }) => [
      [ADMIN_TEXTS.number, String(number)],
      [COMMON_TEXTS.at, momentWithDate(at)],
      [ADMIN_TEXTS.who, actor === "merchant" ? ADMIN_TEXTS.merchantActor : ADMIN_TEXTS.administrator],
      [COMMON_TEXTS.act, html`<code>${action}</code>`, "head"],
      [COMMON_TEXTS.of, subject === null ? "" : html`<code>${subject}</code>`],
      [COMMON_TEXTS.note, note ?? ""],
    ],
  );
  const hint = html`<p class="hint">${ADMIN_TEXTS.newest(MAX_ACTIONS)}</p>`;
  return section(ADMIN_TEXTS.log, list, acts.length > MAX_ACTIONS ? hint : "");
}
