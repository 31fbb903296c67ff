/** A language that people read: English or Simplified Chinese. */
export type Language = "en" | "zh";

/** A text in each language. */
export type Words = readonly [english: string, chinese: string];

/** Picks the words of the reader's language. */
export type Say = (words: Words) => string;

/** Says words in English, as the APIs and the command line do. */
export function english([text]: Words): string {
  return text;
}

/** Says words in Chinese. */
function chinese([, text]: Words): string {
  return text;
}

/** The result of `tell` in both languages. */
export function inBoth(tell: (say: Say) => string): Words {
  return [tell(english), tell(chinese)];
}

/** The function that picks the words of a language. */
export function saying(language: Language): Say {
  return language === "en" ? english : chinese;
}
