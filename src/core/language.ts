/** A language that people read: English or Simplified Chinese. */
export type Language = "en" | "zh";

/** A text in each language. */
export type Words = readonly [english: string, chinese: string];

/** Translates words to the reader's language. */
export type Translator = (words: Words) => string;

/** Selects the English words, as in the APIs and the command line. */
export function english([text]: Words): string {
  return text;
}

/** Selects the Chinese words. */
function chinese([, text]: Words): string {
  return text;
}

/** The result of `tell` in both languages. */
export function inBothLanguages(tell: (say: Translator) => string): Words {
  return [tell(english), tell(chinese)];
}

/** The function that selects the words in a language. */
export function selectorOf(language: Language): Translator {
  return language === "en" ? english : chinese;
}
