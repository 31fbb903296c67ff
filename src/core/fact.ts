import { english, inBothLanguages, type Translator, type Words } from "./language.ts";
import { PART_TEXTS, type PartName } from "./refusals/parts.ts";

/** Text from outside must first be escaped with `printableLiteral`. */
export type FactValue = string | number | readonly string[] | Part;
export type FactValues = Readonly<Record<string, FactValue>>;

export type Part = { readonly fact: PartName; readonly values: FactValues };

export type PlaceholderNames<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholderNames<Rest>
  : never;

export type PlainPartName = {
  [Name in PartName]: [PlaceholderNames<(typeof PART_TEXTS)[Name][number]>] extends [never] ? Name : never;
}[PartName];

export function createPart<
  const Name extends PartName,
  Values extends Readonly<Record<PlaceholderNames<(typeof PART_TEXTS)[Name][number]>, FactValue>>,
>(fact: Name, values: Values): { readonly fact: Name; readonly values: Values } {
  return { fact, values };
}

export function isPartName(name: string): name is PartName {
  return Object.hasOwn(PART_TEXTS, name);
}

export function partWords({ fact, values }: Part): Words {
  return fillBothLanguages(PART_TEXTS[fact], values);
}

const NAME_PATTERN = /\{(\w+)\}/g;

export function findPlaceholderNames(text: string): readonly string[] {
  return Array.from(text.matchAll(NAME_PATTERN), ([, name = ""]) => name);
}

export function fillTemplate(text: string, values: FactValues, say: Translator = english): string {
  return text.replaceAll(NAME_PATTERN, (_, name: string) => valueText(values[name], say));
}

export function fillBothLanguages(words: Words, values: FactValues): Words {
  return inBothLanguages((say) => fillTemplate(say(words), values, say));
}

const NONE_WORDS: Words = ["none", "无"];
const LIST_SEPARATOR: Words = [", ", "、"];

export function valueText(value: FactValue | undefined, say: Translator): string {
  if (typeof value !== "object") return String(value);
  if ("fact" in value) return say(partWords(value));
  return value.length === 0 ? say(NONE_WORDS) : value.join(say(LIST_SEPARATOR));
}
