/** A language that people read: English or Simplified Chinese. */
export type Language = "en" | "zh";

/** A text in each language. */
export type Words = readonly [english: string, chinese: string];

/** Says words in the language of whoever reads them. */
export type Say = (words: Words) => string;

/** Says words in English, as the APIs and the command line do. */
export function english([text]: Words): string {
  return text;
}

/** Says words in Chinese. */
function chinese([, text]: Words): string {
  return text;
}

/** What is told, in both languages. */
export function inBoth(tell: (say: Say) => string): Words {
  return [tell(english), tell(chinese)];
}

/** What says words in this language. */
export function saying(language: Language): Say {
  return language === "en" ? english : chinese;
}
