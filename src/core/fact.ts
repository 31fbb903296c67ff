import { english, inBothLanguages, type Translator, type Words } from "./language.ts";
import { PARTS, type PartName } from "./refusals/parts.ts";

/** Text from outside must first be escaped with `printableLiteral`. */
export type FactValue = string | number | readonly string[] | Part;
export type FactValues = Readonly<Record<string, FactValue>>;

export type Part = { readonly fact: PartName; readonly values: FactValues };

export type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

export type PlainPartName = {
  [Name in PartName]: [NamesIn<(typeof PARTS)[Name][number]>] extends [never] ? Name : never;
}[PartName];

export function partOf<
  const Name extends PartName,
  Values extends Readonly<Record<NamesIn<(typeof PARTS)[Name][number]>, FactValue>>,
>(fact: Name, values: Values): { readonly fact: Name; readonly values: Values } {
  return { fact, values };
}

export function isPartName(name: string): name is PartName {
  return Object.hasOwn(PARTS, name);
}

export function partWords({ fact, values }: Part): Words {
  return fillPair(PARTS[fact], values);
}

const NAME_PATTERN = /\{(\w+)\}/g;

export function namesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(NAME_PATTERN), ([, name = ""]) => name);
}

export function fill(text: string, values: FactValues, say: Translator = english): string {
  return text.replaceAll(NAME_PATTERN, (_, name: string) => valueText(values[name], say));
}

export function fillPair(words: Words, values: FactValues): Words {
  return inBothLanguages((say) => fill(say(words), values, say));
}

const NONE_WORDS: Words = ["none", "无"];
const LIST_SEPARATOR: Words = [", ", "、"];

export function valueText(value: FactValue | undefined, say: Translator): string {
  if (typeof value !== "object") return String(value);
  if ("fact" in value) return say(partWords(value));
  return value.length === 0 ? say(NONE_WORDS) : value.join(say(LIST_SEPARATOR));
}
