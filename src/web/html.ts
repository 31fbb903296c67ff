import { html as escaped, raw } from "hono/html";
import { printable } from "../core/text.ts";
import { COMMA, type Language, type Words } from "../core/language.ts";
import { textInLanguage } from "./language.ts";

/** Markup in one language. hono's markup is an object, so it cannot be confused with a text. */
type Markup = ReturnType<typeof raw>;

/** Markup that is safe to send, for a page in any language. Only `html` and `trustMarkup` create it. */
export type Html = (language: Language) => Markup;

/** A value in markup: a string becomes text, and words become their text in the page's language. */
export type Text = string | Words | ((language: Language) => string);

/** The texts of pages; texts with values are functions. */
export type Texts = {
  readonly [name: string | number]: Words | ((...values: never[]) => Words | Html) | Texts;
};

/** Matches printable ASCII text, which has no invisible characters. */
const PLAIN_TEXT = /^[ -~]*$/;
const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/g;
/** Matches a zero-width joiner or non-joiner between letters or emoji, as Persian, Indian scripts and emoji need it. */
const JOINER =
  /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])([\u200c\u200d])(?=[\p{L}\p{Extended_Pictographic}])/u;

/**
 * Markup with its values filled in: `html`<p>${text}</p>``. Every string becomes text, even inside a quoted attribute,
 * with control, bidi and invisible characters visible as `\u{…}` (decision 40). Unlike on a terminal, a line break
 * becomes a space, and a joiner between letters or emoji is kept.
 */
export function html(parts: TemplateStringsArray, ...values: readonly (Text | readonly Html[])[]): Html {
  return (language) => {
    const markup = escaped(parts, ...values.map((value) => fillIn(value, language)));
    if (markup instanceof Promise) throw new Error("markup is made of values, never of promises");
    return markup;
  };
}

/** Turns markup that another library created from our own values into `Html`. */
export function trustMarkup(markup: string): Html {
  return () => raw(markup);
}

/** The text of a stored name. A name that this version does not know is shown as it is. */
export function knownText<Name extends string>(texts: Readonly<Record<Name, Words>>, name: Name): Text {
  return Object.hasOwn(texts, name) ? texts[name] : name;
}

export function joinTexts(texts: readonly Text[]): Html {
  return html`${texts.map((text, index) => html`${index === 0 ? "" : COMMA}${text}`)}`;
}

function fillIn(value: Text | readonly Html[], language: Language): string | readonly Markup[] {
  if (isList(value)) return value.map((text) => text(language));
  const text = textInLanguage(language, value);
  return typeof text === "string" ? visibleText(text) : text;
}

function isList(value: Text | readonly Html[]): value is readonly Html[] {
  return Array.isArray(value) && typeof value[0] !== "string";
}

function visibleText(text: string): string {
  if (PLAIN_TEXT.test(text)) return text;
  const pieces = text.replace(LINE_BREAK, " ").split(JOINER);
  // Every second piece is a joiner, which the group of the expression captures.
  return pieces.map((piece, index) => (index % 2 === 0 ? printable(piece) : piece)).join("");
}
