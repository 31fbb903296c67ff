import { english, type Words } from "../../src/core/language.ts";

/**
 * Matches a text that has these parts in this order, with any text between them. A string or a number matches literally;
 * words of the product match in English, with any value in place of a name in braces.
 */
export function inOrder(...parts: readonly (string | number | Words | RegExp)[]): RegExp {
  const sources = parts.map((part) => {
    if (part instanceof RegExp) return part.source;
    if (typeof part !== "object") return literal(String(part));
    return english(part)
      .split(/\{\w+\}/)
      .map(literal)
      .join("[^]*?");
  });
  return new RegExp(sources.join("[^]*?"));
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
