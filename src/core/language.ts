/** `zh` is Simplified Chinese. */
export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

export type Words = readonly [english: string, chinese: string];

export const COMMA: Words = [", ", "，"];
export const COLON: Words = [": ", "："];
export const SEMICOLON: Words = ["; ", "；"];

export type Translator = (words: Words) => string;

export function english([text]: Words): string {
  return text;
}

function chinese([, text]: Words): string {
  return text;
}

export function inBothLanguages(textIn: (say: Translator) => string): Words {
  return [textIn(english), textIn(chinese)];
}

export function translatorFor(language: Language): Translator {
  return language === "en" ? english : chinese;
}
