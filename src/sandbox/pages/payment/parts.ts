import type { Checkout } from "../../../core/checkout/checkout.ts";
import { formatPrice, pricePieces } from "../../../core/money.ts";
import { isFinal, MAX_ATTEMPTS } from "../../../core/checkout/payment.ts";
import { html, type Html } from "../../../web/html.ts";
import { LANGUAGE_TAGS, type Language } from "../../../web/language.ts";
import type { CheckoutView } from "../../checkout/view.ts";
import type { Texts } from "./texts.ts";

/** What every page of a checkout is made from. */
export type PageContext = {
  readonly language: Language;
  readonly texts: Texts;
  readonly view: CheckoutView;
  /** The token of this checkout's forms. */
  readonly token: string;
  /** Scheme, host and port that the pages are reached at. */
  readonly origin: string;
  /** The id of this very answer. */
  readonly requestId: string;
};

/** The address of a checkout's page, as a path. */
export function checkoutPath({ id }: Pick<Checkout, "id">): string {
  return `/pay/${id}`;
}

/** The address of the wallet for one attempt, as a path. */
export function walletPath(checkout: Pick<Checkout, "id">, attempt: number): string {
  return `${checkoutPath(checkout)}/wallet/${attempt}`;
}

/** The amount in the currency's own format, where there is no markup. */
export function price({ language, view }: PageContext): string {
  const { amountMinor, currency } = view.checkout;
  return formatPrice(amountMinor, currency, LANGUAGE_TAGS[language]);
}

/** The same in markup: a line breaks behind a separator, and never inside a group of digits. */
export function amount({ language, view }: PageContext): Html {
  const { amountMinor, currency } = view.checkout;
  const pieces = pricePieces(amountMinor, currency, LANGUAGE_TAGS[language]);
  return html`<span class="digits">${pieces.map((piece) => html`${piece}<wbr />`)}</span>`;
}

/** A row of a list of facts. */
export function row(label: string, value: string | Html): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd>${value}</dd>
  </div>`;
}

/** What the merchant wrote; it keeps its own direction. */
export function quoted(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** A form that is one button; `fields` are what it says beside its token. */
export function button(
  { token }: PageContext,
  form: {
    readonly action: string;
    readonly label: string | Html;
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

/** What is left of a checkout's time: `59:31`, or `1:59:31` from an hour on. */
export function timeLeft({ view }: PageContext): string {
  const seconds = Math.max(0, Math.ceil((view.checkout.expiresAt - view.now) / 1000));
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(seconds / 3600);
  return hours === 0 ? parts.join(":") : `${hours}:${parts.join(":")}`;
}

/** The mark of a payment method: its initial in its colour, so that no trade mark is copied. */
export function methodMark({ view, texts }: PageContext): Html {
  const { paymentMethod } = view.checkout;
  return html`<span class="mark ${paymentMethod}" aria-hidden="true"
    >${texts.method[paymentMethod].slice(0, 1)}</span
  >`;
}

/** Where a checkout stands, in words; a screen reader says it when it changes. */
export function stateInWords({ view, texts }: PageContext): string {
  const { checkout, attempts } = view;
  if (isFinal(checkout.status)) return wasPaidLate(view) ? texts.late : texts.result[checkout.status];
  if (attempts.some(({ outcome }) => outcome === null)) return texts.waiting;
  return attempts.length === 0 ? texts.ready : texts.declined(MAX_ATTEMPTS - attempts.length);
}

/** Whether somebody paid when the checkout had ended: for the customer the one late result that counts. */
export function wasPaidLate({ lateResults }: CheckoutView): boolean {
  return lateResults.some(({ result }) => result === "succeeded");
}
