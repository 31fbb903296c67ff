/** What `parseStatuses` takes, as a JSON Schema says it. */
export const STATUSES_FORM = { pattern: "^(?:0|[1-5](?:\\d\\d|[xX][xX]))$" };

/** Statuses as people name them: `404`, `4xx`, `0` where none was sent; undefined if it is none of these. */
export function parseStatuses(text: string): readonly [number, number] | undefined {
  if (text === "0") return [0, 0];
  if (/^[1-5]xx$/i.test(text)) return [Number(text[0]) * 100, Number(text[0]) * 100 + 99];
  return /^[1-5]\d\d$/.test(text) ? [Number(text), Number(text)] : undefined;
}
