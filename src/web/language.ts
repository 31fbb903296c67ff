import { parseAccept } from "hono/utils/accept";
import type { HttpRequest } from "../world.ts";
import { headerLines } from "./http.ts";

/** The languages of the pages, English and Simplified Chinese, each with its tag. */
const LANGUAGE_TAGS = { en: "en", zh: "zh-Hans" } as const;

/** A language, named by its primary tag. */
export type Language = keyof typeof LANGUAGE_TAGS;

/** The tag of a language, for markup, headers and Intl. */
export function tagOf(language: Language): string {
  return LANGUAGE_TAGS[language];
}

/** Words in each language. */
export type Words = readonly [english: string, chinese: string];

/** A text as a page in this language shows it. */
export function inLanguage(
  language: Language,
  text: string | Words | ((language: Language) => string),
): string {
  if (typeof text === "string") return text;
  return typeof text === "function" ? text(language) : text[language === "en" ? 0 : 1];
}

/** The language of a browser's page. */
export function languageOf(request: HttpRequest): Language {
  return preferredLanguage(headerLines(request, "accept-language").join(","));
}

/** The language that a browser prefers by its Accept-Language header; default: English. */
export function preferredLanguage(acceptLanguage: string): Language {
  for (const { type, q } of parseAccept(acceptLanguage)) {
    const [primary = ""] = type.toLowerCase().split("-");
    if (q > 0 && isOurs(primary)) return primary;
  }
  return "en";
}

function isOurs(primary: string): primary is Language {
  return Object.hasOwn(LANGUAGE_TAGS, primary);
}
