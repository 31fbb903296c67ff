/** A language that people read: English or Simplified Chinese. */
export type Language = "en" | "zh";

export type Words = readonly [english: string, chinese: string];

export type Translator = (words: Words) => string;

/** Selects the English words, as in the APIs and the command line. */
export function english([text]: Words): string {
  return text;
}

function chinese([, text]: Words): string {
  return text;
}

export function inBothLanguages(tell: (say: Translator) => string): Words {
  return [tell(english), tell(chinese)];
}

export function selectorOf(language: Language): Translator {
  return language === "en" ? english : chinese;
}
