import { stripVTControlCharacters } from "node:util";

/** Characters that are two columns wide on a terminal. */
const WIDE_CHARACTERS =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/gu;

/**
 * Wraps a text; further lines begin with `indent` blanks. Longer words are not cut, because users copy links and paths.
 */
export function wrapText(
  text: string,
  { places, indent = 0 }: { readonly places: number; readonly indent?: number },
): string {
  const lines: string[] = [];
  let line = "";
  // Every second piece is a gap.
  for (const [index, piece] of text.split(/(?<=\S)( +)(?=\S)/).entries()) {
    const isGap = index % 2 === 1;
    if (isGap) {
      line += piece;
      continue;
    }
    const room = lines.length === 0 ? places : places - indent;
    if (line.trim() !== "" && columnsOf(line + piece) > room) {
      lines.push(line.trimEnd());
      line = piece;
    } else line += piece;
  }
  return [...lines, line].join(`\n${" ".repeat(indent)}`);
}

function columnsOf(text: string): number {
  const plainText = stripVTControlCharacters(text);
  return (
    plainText.length +
    (plainText.match(WIDE_CHARACTERS) ?? []).filter((character) => character.length === 1).length
  );
}
