import type { AnswerOf } from "../../../../core/control/operations.ts";
import { isApproved, isGateOpen, productionOf } from "../../../../core/readiness/admin-act.ts";
import type { RecordedAct } from "../../../../core/control/readiness.ts";
import type { AdministratorAction } from "../../../../core/readiness/names.ts";
import { accept, type Outcome } from "../../../../core/outcome.ts";
import { html, type Html } from "../../../../web/html.ts";
import { field, typed } from "../fields.ts";
import { actForm, askedOnce } from "../forms.ts";
import { amount, copyable, dated, either, empty, facts, table } from "../parts.ts";
import { ask } from "../route.ts";
import type { Content, PortalContext, View } from "../view.ts";
import { ADMIN_TEXTS } from "./texts.ts";

type Summary = AnswerOf<"storeSummary">;

/** How many entries of the audit log are shown: the newest. */
const MAX_ACTS = 200;

/** A store as the administrator sees it: what only this one can do, and what was done. */
export async function adminStorePage(context: PortalContext, view: View): Promise<Outcome<Content>> {
  const summary = await ask(context, "storeSummary", { ...view, body: undefined });
  if (!summary.ok) return summary;
  const log = await ask(context, "adminLog", { ...view, body: undefined });
  if (!log.ok) return log;
  const texts = ADMIN_TEXTS[view.language];
  const { store, merchant } = summary.value;
  const { acts } = log.value;
  const main = html`<p><a href="/portal/admin">${texts.back}</a></p>
    ${production(view, acts)}
    <section class="panel">
      <h2>${texts.store}</h2>
      ${facts([
        [texts.store, html`${store.name} ${copyable(store.id)}`],
        [texts.merchant, merchant.name],
        [texts.state, either(store.active, texts.active, texts.inactive)],
      ])}
      <div class="actions">${asked(view, { action: store.active ? "deactivate" : "activate" })}</div>
    </section>
    ${capabilities(view, summary.value)} ${prices(view, summary.value)} ${auditLog(view, acts)}`;
  return accept({ title: store.name, main, live: { kind: "store" } });
}

/** What a form of the administrator says; a currency may be typed in small letters. */
export function readAct(fields: ReadonlyMap<string, string>): unknown {
  const { subject, ...rest } = typed(fields, ["action", "subject", "note"]);
  if (subject === undefined) return rest;
  return {
    ...rest,
    subject: /^[a-z]{3}$/i.test(subject) && isOfCapability(rest) ? subject.toUpperCase() : subject,
  };
}

function isOfCapability({ action }: Readonly<Record<string, string>>): boolean {
  return action === "enable_capability" || action === "disable_capability";
}

type Wanted = { readonly action: AdministratorAction; readonly subject?: string };

/** An act that is done only after its question. */
function asked(view: View, { action, subject }: Wanted): Html {
  const texts = ADMIN_TEXTS[view.language];
  const fields = { action, ...(subject === undefined ? {} : { subject }) };
  const form = actForm(view, {
    action: actsPath(view),
    label: texts.acts[action],
    fields,
    content: field(texts.note, "note"),
    style: UNDOING.has(action) ? "danger" : "primary",
  });
  return askedOnce(texts.acts[action], texts.questions[action], form);
}

const UNDOING: ReadonlySet<AdministratorAction> = new Set([
  "revoke_credential",
  "deactivate",
  "disable_capability",
  "revoke_price",
  "close_gate",
]);

/** An act that gives something, and can be taken back by the next. */
function atOnce(view: View, { action, subject = "" }: Wanted): Html {
  const label = ADMIN_TEXTS[view.language].acts[action];
  return actForm(view, { action: actsPath(view), label, fields: { action, subject } });
}

function actsPath({ storeId }: View): string {
  return `/portal/admin/${storeId}/acts`;
}

function production(view: View, acts: readonly RecordedAct[]): Html {
  const texts = ADMIN_TEXTS[view.language];
  const state = productionOf(acts);
  const { request } = state;
  const [approved, open] = [isApproved(state), isGateOpen(state)];
  const requested =
    request === null
      ? html`${texts.noRequest} ${copyable(texts.noRequestYet)}`
      : html`${dated(request.at)} ${request.note === null ? "" : html`· ${request.note}`}`;
  return html`<section class="panel">
    <h2>${texts.production}</h2>
    ${facts([
      [texts.requested, requested],
      [texts.credential, either(approved, texts.approved, texts.notApproved)],
      [texts.gate, either(open, texts.open, texts.closed)],
    ])}
    <div class="actions">
      ${asked(view, { action: approved ? "revoke_credential" : "approve_credential" })}
      ${asked(view, { action: open ? "close_gate" : "open_gate" })}
    </div>
  </section>`;
}

function capabilities(view: View, { capabilities: all }: Summary): Html {
  const texts = ADMIN_TEXTS[view.language];
  const rows = all.map(
    ({ name, kind, active }) =>
      html`<tr>
        <th scope="row"><code>${name}</code></th>
        <td>${texts[kind]}</td>
        <td>${either(active, texts.active, texts.inactive)}</td>
        <td>
          ${
            active
              ? asked(view, { action: "disable_capability", subject: name })
              : atOnce(view, { action: "enable_capability", subject: name })
          }
        </td>
      </tr>`,
  );
  const another = actForm(view, {
    action: actsPath(view),
    label: texts.acts.enable_capability,
    fields: { action: "enable_capability" },
    content: field(texts.another, "subject", { required: true, hint: texts.anotherHint }),
  });
  return html`<section>
    <h2>${texts.capabilities}</h2>
    ${table(texts.capabilities, [texts.capability, texts.kind, texts.state, texts.act], rows)}
    <div class="panel actions">${another}</div>
  </section>`;
}

/** Those to approve come first. */
function prices(view: View, { prices: all }: Summary): Html {
  const texts = ADMIN_TEXTS[view.language];
  const sorted = all.toSorted((left, right) => Number(left.approved) - Number(right.approved));
  const rows = sorted.map((price) => {
    const { id, description, approved, retired } = price;
    const acts = approved
      ? asked(view, { action: "revoke_price", subject: id })
      : atOnce(view, { action: "approve_price", subject: id });
    return html`<tr>
      <th scope="row"><code>${id}</code> <small>${description}</small></th>
      <td>${amount(view, price)}</td>
      <td>
        ${
          retired
            ? html`<span class="badge">${texts.retired}</span>`
            : either(approved, texts.approved, texts.notApproved)
        }
      </td>
      <td>${retired ? "" : acts}</td>
    </tr>`;
  });
  return html`<section>
    <h2>${texts.catalog}</h2>
    ${
      rows.length === 0
        ? empty(texts.noPrices, "checkout prices add --help")
        : table(texts.catalog, [texts.price, texts.amount, texts.state, texts.act], rows)
    }
  </section>`;
}

/** The newest first, because that is what was looked for. */
function auditLog(view: View, acts: readonly RecordedAct[]): Html {
  const texts = ADMIN_TEXTS[view.language];
  const rows = acts
    .slice(-MAX_ACTS)
    .toReversed()
    .map(
      ({ number, at, actor, action, subject, note }) =>
        html`<tr>
          <td>${String(number)}</td>
          <td>${dated(at)}</td>
          <td>${actor === "merchant" ? texts.merchantActor : texts.administrator}</td>
          <th scope="row"><code>${action}</code></th>
          <td>${subject === null ? "" : html`<code>${subject}</code>`}</td>
          <td>${note ?? ""}</td>
        </tr>`,
    );
  const columns = [texts.number, texts.at, texts.who, texts.what, texts.of, texts.noteGiven];
  return html`<section>
    <h2>${texts.log}</h2>
    ${rows.length === 0 ? empty(texts.noActs, "checkout admin log") : table(texts.log, columns, rows)}
    ${acts.length > MAX_ACTS ? html`<p class="hint">${texts.newest(MAX_ACTS)}</p>` : ""}
  </section>`;
}
