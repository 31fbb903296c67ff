/** Parses `Retry-After`, in seconds or as an HTTP date, to milliseconds; 0 if it is missing or invalid. */
export function parseRetryAfter(value: string | undefined, now: number): number {
  if (value === undefined) return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = value.endsWith("GMT") ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

export function headerPairs(
  rawHeaders: readonly string[],
): readonly (readonly [name: string, value: string])[] {
  return rawHeaders.flatMap((value, index) =>
    index % 2 === 1 ? [[rawHeaders[index - 1] ?? "", value] as const] : [],
  );
}

export const COMMAND_AGENT = "checkout-cli";
/** Marks requests that a drill sends itself, because they prove nothing about the merchant's programs. */
export const DRILL_AGENT = `${COMMAND_AGENT} drill`;
