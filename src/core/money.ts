/** The number of decimals of a currency: 2 for EUR, none for JPY and KRW, 3 for KWD. Undefined where the code is no currency code. */
export function currencyDecimals(currency: string): number | undefined {
  if (!/^[A-Z]{3}$/.test(currency)) return undefined;
  const format = new Intl.NumberFormat("en", { style: "currency", currency });
  return format.resolvedOptions().maximumFractionDigits;
}

/** An amount in minor units as people write it, exactly: `1999`, `EUR` is `19.99 EUR`. */
export function formatAmount(amountMinor: number, currency: string): string {
  const decimals = currencyDecimals(currency);
  if (decimals === undefined) return `${amountMinor} minor units of ${currency}`;
  if (decimals === 0) return `${amountMinor} ${currency}`;
  const digits = String(amountMinor).padStart(decimals + 1, "0");
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)} ${currency}`;
}
