import type { Checkout } from "../../../core/checkout/checkout.ts";
import { toIso } from "../../../core/clock.ts";
import { formatPrice, pricePieces } from "../../../core/money.ts";
import { isFinal, MAX_PAYMENT_ATTEMPTS } from "../../../core/checkout/payment.ts";
import { html, type Html, type Text } from "../../../web/html.ts";
import type { Language, Words } from "../../../core/language.ts";
import { textInLanguage, languageTagOf } from "../../../web/language.ts";
import type { CheckoutView } from "../../checkout/view.ts";
import { payerLayout, statusAnnouncement } from "../shared/layout.ts";
import { SHARED_TEXTS } from "../shared/texts.ts";
import { PAYMENT_TEXTS } from "./texts.ts";

export type CheckoutPageContext = {
  readonly view: CheckoutView;
  readonly token: string;
  readonly origin: string;
  readonly requestId: string;
  readonly isStaying: boolean;
};

export function checkoutPath({ id }: Pick<Checkout, "id">): string {
  return `/pay/${id}`;
}

export function walletPath(checkout: Pick<Checkout, "id">, attempt: number): string {
  return `${checkoutPath(checkout)}/wallet/${attempt}`;
}

/**
 * Each answer contains a new offline warning, which restarts its CSS animation, so the warning becomes visible only
 * when answers stop.
 */
export function livePage(
  context: CheckoutPageContext,
  page: {
    readonly title: Text;
    readonly address: string;
    readonly isOver: boolean;
    readonly style: "checkout" | "single";
    readonly content: Html;
  },
): Html {
  const pace = page.isOver ? "slow" : "fast";
  const { amountMinor, currency } = context.view.checkout;
  const price = (language: Language): string => formatPrice(amountMinor, currency, languageTagOf(language));
  const main = html`<main
    id="page"
    class="${page.style}"
    hx-get="${page.address}"
    hx-trigger="every ${pace === "slow" ? "10s" : "1s"}"
    hx-select="#page"
    hx-swap="outerMorph"
  >
    ${statusAnnouncement(statusWords(context))} ${page.content}
    <p class="no-answer ${pace}" id="answer-${context.requestId}">${SHARED_TEXTS.noAnswer}</p>
  </main>`;
  return payerLayout({ title: html`${page.title} · ${price}`, main });
}

/** `<wbr>` lets a line break after a group of digits, but not inside one. */
export function amountHtml({ view }: CheckoutPageContext): Html {
  const { amountMinor, currency } = view.checkout;
  return (language) => {
    const pieces = pricePieces(amountMinor, currency, languageTagOf(language));
    return html`<span class="digits">${pieces.map((piece) => html`${piece}<wbr />`)}</span>`(language);
  };
}

/** In UTC, because shop and customer may be in different places. */
export function momentHtml(time: number): Html {
  const text = (language: Language): string =>
    new Intl.DateTimeFormat(languageTagOf(language), MOMENT_FORMAT).format(time);
  return html`<time datetime="${toIso(time)}">${text}</time>`;
}

const MOMENT_FORMAT: Intl.DateTimeFormatOptions = {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC",
  timeZoneName: "short",
};

export function paidAt({ checkout, attempts }: CheckoutView): number | undefined {
  if (checkout.status !== "succeeded") return undefined;
  return attempts.find(({ outcome }) => outcome === "succeeded")?.finishedAt ?? undefined;
}

export function formButton(
  { token }: CheckoutPageContext,
  form: {
    readonly action: string;
    readonly label: Text;
    readonly style: "primary" | "plain" | "choice";
    readonly fields?: Readonly<Record<string, string>>;
  },
): Html {
  const fields = Object.entries({ token, ...form.fields }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return html`<form method="post" action="${form.action}">
    ${fields}<button class="${form.style}">${form.label}</button>
  </form>`;
}

export function timeLeftText({ view }: CheckoutPageContext): string {
  const seconds = Math.max(0, Math.ceil((view.checkout.expiresAt - view.now) / 1000));
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(seconds / 3600);
  return hours === 0 ? parts.join(":") : `${hours}:${parts.join(":")}`;
}

export function paymentMethodIcon({ view }: CheckoutPageContext): Html {
  const { paymentMethod } = view.checkout;
  return html`<span class="mark ${paymentMethod}" aria-hidden="true"
    >${(language) => textInLanguage(language, PAYMENT_TEXTS.method[paymentMethod]).slice(0, 1)}</span
  >`;
}

function statusWords({ view }: CheckoutPageContext): Words {
  const { checkout, attempts } = view;
  if (isFinal(checkout.status))
    return wasPaidLate(view) ? PAYMENT_TEXTS.late : PAYMENT_TEXTS.result[checkout.status];
  if (attempts.some(({ outcome }) => outcome === null)) return PAYMENT_TEXTS.waiting;
  return attempts.length === 0
    ? PAYMENT_TEXTS.ready
    : PAYMENT_TEXTS.declined(MAX_PAYMENT_ATTEMPTS - attempts.length);
}

export function wasPaidLate({ lateResults }: CheckoutView): boolean {
  return lateResults.some(({ result }) => result === "succeeded");
}
