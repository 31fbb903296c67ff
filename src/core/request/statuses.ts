export const STATUSES_SCHEMA = { pattern: "^(?:0|[1-5](?:\\d\\d|[xX][xX]))$" };

/** Parses `404`, `4xx`, or `0` for no answer, to the lowest and highest status. Returns undefined for other texts. */
export function parseStatuses(text: string): readonly [number, number] | undefined {
  if (text === "0") return [0, 0];
  if (/^[1-5]xx$/i.test(text)) return [Number(text[0]) * 100, Number(text[0]) * 100 + 99];
  return /^[1-5]\d\d$/.test(text) ? [Number(text), Number(text)] : undefined;
}
