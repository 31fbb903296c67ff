import { html as escaped, raw } from "hono/html";
import { printable } from "../core/text.ts";

/** Markup that is safe to send. Only `html` and `trusted` make it. */
export type Html = ReturnType<typeof raw>;

/** The values that markup may contain; a string always becomes text. */
type Content = Html | string | readonly Html[];

/** Most texts: nothing in them is invisible. */
const PLAIN = /^[ -~]*$/;
const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/g;
/** The zero-width joiners in Persian, Indian scripts and emoji, where they join two such characters. */
const JOINER =
  /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])([\u200c\u200d])(?=[\p{L}\p{Extended_Pictographic}])/u;

/**
 * Markup with its values filled in: `html`<p>${text}</p>``. Every string becomes text, also inside a quoted attribute,
 * with control, bidi and invisible characters visible as `\u{…}` (decision 40). Unlike on a terminal, a line
 * break becomes a space, and a joiner between letters or emoji stays.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  const filled = escaped(
    parts,
    ...values.map((value) => (typeof value === "string" ? visible(value) : value)),
  );
  if (filled instanceof Promise) throw new Error("markup is made of values, never of promises");
  return filled;
}

/** Markup that another library made from our own values. */
export function trusted(markup: string): Html {
  return raw(markup);
}

function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  const pieces = text.replace(LINE_BREAK, " ").split(JOINER);
  // Every second piece is a joiner, because the expression captures it.
  return pieces.map((piece, index) => (index % 2 === 0 ? printable(piece) : piece)).join("");
}
