import { parseAccept } from "hono/utils/accept";
import { translatorFor, type Language, type Words } from "../core/language.ts";
import type { HttpRequest } from "../world.ts";
import { headerLines } from "./http.ts";

const LANGUAGE_TAGS = { en: "en", zh: "zh-Hans" } as const satisfies Record<Language, string>;

export function languageTagOf(language: Language): string {
  return LANGUAGE_TAGS[language];
}

export function textInLanguage(
  language: Language,
  text: string | Words | ((language: Language) => string),
): string {
  if (typeof text === "string") return text;
  return typeof text === "function" ? text(language) : translatorFor(language)(text);
}

export function languageOf(request: HttpRequest): Language {
  return parsePreferredLanguage(headerLines(request, "accept-language").join(","));
}

export function parsePreferredLanguage(acceptLanguage: string): Language {
  for (const { type, q } of parseAccept(acceptLanguage)) {
    const [primary = ""] = type.toLowerCase().split("-");
    if (q > 0 && isSupported(primary)) return primary;
  }
  return "en";
}

function isSupported(primary: string): primary is Language {
  return Object.hasOwn(LANGUAGE_TAGS, primary);
}
