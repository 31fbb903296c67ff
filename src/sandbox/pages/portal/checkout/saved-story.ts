import { accept, type Outcome } from "../../../../core/outcome.ts";
import { toIso } from "../../../../core/clock.ts";
import { html, trustMarkup } from "../../../../web/html.ts";
import { pageResponse } from "../../../../web/page.ts";
import { withoutSecrets } from "../../../access/redaction.ts";
import type { Answer } from "../../../answer.ts";
import type { AreaRequest } from "../../../area.ts";
import { storeTime } from "../../../with-store.ts";
import type { OperationContext, SavedStory } from "../../../control/handler.ts";
import { savedPage } from "../frame.ts";
import { viewOf, type PortalContext, type Viewer } from "../view.ts";
import { checkoutDetailsPage } from "./checkout-page.ts";
import { CHECKOUTS_TEXTS } from "./texts.ts";

/** The file has no scripts, forms, links to other pages, or secrets. */
export async function renderStoryFile(
  context: OperationContext,
  { storeId, id, language }: SavedStory,
): Promise<Outcome<string>> {
  const form = { formToken: "", refusedForm: undefined, may: () => false } as const;
  const view = { storeId, id, language, ...form, isSaved: true } as const;
  const content = await checkoutDetailsPage(context, view);
  if (!content.ok) return content;
  const { title, main } = content.value;
  const at = toIso(storeTime(context, storeId));
  const shownStory = html`<p class="hint">${CHECKOUTS_TEXTS.saved(at)}</p>
    ${main}`;
  const safeStory = withoutSecrets(String(shownStory(language)), context.secrets);
  const store = context.store.stores.names(storeId)?.store ?? "";
  return accept(String(savedPage(store, { title, main: trustMarkup(safeStory) })(language)));
}

export async function downloadStory(
  context: PortalContext,
  call: AreaRequest<Viewer>,
): Promise<Outcome<Answer>> {
  const { storeId, id, language } = viewOf(context, call);
  const outcome = await renderStoryFile(context, { storeId, id, language });
  if (!outcome.ok) return outcome;
  const page = pageResponse({ status: 200, markup: trustMarkup(outcome.value), language }, call.requestId);
  const orderId = context.store.checkouts.find(storeId, id)?.orderId ?? "";
  const headers = {
    ...page.headers,
    "Content-Disposition": `attachment; filename="${fileName(orderId, id)}"`,
  };
  return accept({ ...page, headers, isUnlogged: true });
}

function fileName(orderId: string, id: string): string {
  const plainId = orderId.replaceAll(/[^\w.-]+/g, "-").replaceAll(/^[-.]+|[-.]+$/g, "");
  return `${[...(plainId === "" ? [] : [plainId]), id.slice(-8)].join("-")}.html`;
}
