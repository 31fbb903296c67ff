import { html as escaped, raw } from "hono/html";
import { printable } from "../core/text.ts";
import { COMMA, type Language, type Words } from "../core/language.ts";
import { textInLanguage } from "./language.ts";

/** An object, so that markup cannot be confused with text that must be escaped. */
type Markup = ReturnType<typeof raw>;

/** Markup that is safe to send: only `html` and `trustMarkup` create it. */
export type Html = (language: Language) => Markup;

export type Text = string | Words | ((language: Language) => string);

export type Texts = {
  readonly [name: string | number]: Words | ((...values: never[]) => Words | Html) | Texts;
};

const PLAIN_TEXT = /^[ -~]*$/;
const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/g;
const JOINER =
  /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])([\u200c\u200d])(?=[\p{L}\p{Extended_Pictographic}])/u;

/**
 * Escapes each string, also for quoted attributes, and shows control, bidi and invisible characters as `\u{…}`
 * (decision 40). Line breaks become spaces; joiners between letters or emoji are kept.
 */
export function html(parts: TemplateStringsArray, ...values: readonly (Text | readonly Html[])[]): Html {
  return (language) => {
    const markup = escaped(parts, ...values.map((value) => fillIn(value, language)));
    if (markup instanceof Promise) throw new Error("markup is made of values, never of promises");
    return markup;
  };
}

/** Use only for markup that a library created from values of this program. */
export function trustMarkup(markup: string): Html {
  return () => raw(markup);
}

export function textOrName<Name extends string>(texts: Readonly<Record<Name, Words>>, name: Name): Text {
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
  // Odd pieces are joiners, because `split` keeps captured groups.
  return pieces.map((piece, index) => (index % 2 === 0 ? printable(piece) : piece)).join("");
}
