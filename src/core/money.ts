import { createPart, type Part } from "./fact.ts";

/**
 * Decimals of ISO 4217, as payment services use them. Intl follows cash usage, and gives HUF, IDR and COP no decimals.
 */
const CURRENCIES: Readonly<Record<number, readonly string[]>> = {
  0: [
    "BIF",
    "CLP",
    "DJF",
    "GNF",
    "ISK",
    "JPY",
    "KMF",
    "KRW",
    "PYG",
    "RWF",
    "UGX",
    "UYI",
    "VND",
    "VUV",
    "XAF",
    "XOF",
    "XPF",
  ],
  3: ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"],
  4: ["CLF", "UYW"],
};
const DECIMALS_BY_CURRENCY = new Map(
  Object.entries(CURRENCIES).flatMap(([decimals, codes]) => codes.map((code) => [code, Number(decimals)])),
);

/** Returns 2 for an unknown code, and undefined unless the code is three capital letters. */
export function currencyDecimals(currency: string): number | undefined {
  return /^[A-Z]{3}$/.test(currency) ? (DECIMALS_BY_CURRENCY.get(currency) ?? 2) : undefined;
}

/** Accepts every code that Intl can name, including funds and historic currencies. */
export function isCurrency(code: string): boolean {
  if (!/^[A-Z]{3}$/.test(code)) return false;
  return new Intl.DisplayNames("en", { type: "currency", fallback: "none" }).of(code) !== undefined;
}

/**
 * Parses `19.99` or `19,99` in EUR to 1999. Returns undefined for a text without decimals, or with more than the
 * currency has.
 */
export function parseDecimalAmount(text: string, currency: string): number | undefined {
  const [, majorDigits = "", decimalDigits = ""] = /^(\d{1,13})[.,](\d{1,4}?)0*$/.exec(text) ?? [];
  const places = currencyDecimals(currency);
  if (majorDigits === "" || places === undefined || decimalDigits.replace(/0+$/, "").length > places)
    return undefined;
  return Number(majorDigits + decimalDigits.slice(0, places).padEnd(places, "0"));
}

export function explainAmountFault(text: string, currency: string): Part | undefined {
  const meantAmount = parseDecimalAmount(text, currency);
  if (meantAmount !== undefined && meantAmount !== 0)
    return createPart("amount_in_minor_units", {
      ...MAX_AMOUNT_VALUES,
      amount: formatAmount(meantAmount, currency),
      meant: meantAmount,
    });
  const places = currencyDecimals(currency);
  if (meantAmount === undefined && /^\d+[.,]\d+$/.test(text) && places !== undefined)
    return places === 0
      ? createPart("amount_without_decimals", { ...MAX_AMOUNT_VALUES, currency })
      : createPart("amount_with_decimals", { ...MAX_AMOUNT_VALUES, currency, places });
  return /^\d{1,16}$/.test(text) && Number(text) > 0 && Number(text) <= Number.MAX_SAFE_INTEGER
    ? undefined
    : createPart("whole_amount", MAX_AMOUNT_VALUES);
}

const MAX_AMOUNT_VALUES = { most: Number.MAX_SAFE_INTEGER };

export function formatAmount(amountMinor: number, currency: string): string {
  const decimals = currencyDecimals(currency);
  if (decimals === undefined) return `${amountMinor} minor units of ${currency}`;
  if (decimals === 0) return `${amountMinor} ${currency}`;
  const digits = String(amountMinor).padStart(decimals + 1, "0");
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)} ${currency}`;
}

/** The locale decides the symbol, ISO 4217 the decimals. Yen are written `JP¥`, because ¥ alone also means yuan. */
export function formatPrice(amountMinor: number, currency: string, locale: string): string {
  return pricePieces(amountMinor, currency, locale).join("");
}

/** Cached, because creating a format takes as long as formatting ten amounts. */
const formats = new Map<string, Intl.NumberFormat>();

function formatOf(currency: string, locale: string): Intl.NumberFormat {
  const name = `${locale} ${currency}`;
  const knownFormat = formats.get(name);
  if (knownFormat !== undefined) return knownFormat;
  const decimals = currencyDecimals(currency) ?? 0;
  const format = new Intl.NumberFormat(locale, {
    style: "currency",
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  formats.set(name, format);
  return format;
}

/** Splits the price where a line may break: after separators and spaces, never within a group of digits. */
export function pricePieces(amountMinor: number, currency: string, locale: string): readonly string[] {
  const decimals = currencyDecimals(currency) ?? 0;
  const digits = String(amountMinor).padStart(decimals + 1, "0");
  const majorDigits = digits.slice(0, digits.length - decimals);
  // Passed as text, because an amount must not become a floating-point number.
  const exactText = `${majorDigits}.${digits.slice(digits.length - decimals)}` as `${number}`;
  const pieces = [""];
  for (const { type, value } of formatOf(currency, locale).formatToParts(exactText)) {
    const text = type === "currency" && currency === "JPY" ? "JP¥" : value;
    pieces.push(`${pieces.pop() ?? ""}${text}`);
    if (type === "group" || type === "literal") pieces.push("");
  }
  return pieces;
}
