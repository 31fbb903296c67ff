import { stripVTControlCharacters } from "node:util";

const WIDE_CHARACTERS =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/gu;

/** Indents all lines but the first. A word longer than a line is not broken, because users copy links. */
export function wrapText(
  text: string,
  { width, indent = 0 }: { readonly width: number; readonly indent?: number },
): string {
  const lines: string[] = [];
  let line = "";
  for (const [index, piece] of text.split(/(?<=\S)( +)(?=\S)/).entries()) {
    const isGap = index % 2 === 1;
    if (isGap) {
      line += piece;
      continue;
    }
    const lineWidth = lines.length === 0 ? width : width - indent;
    if (line.trim() !== "" && columnCount(line + piece) > lineWidth) {
      lines.push(line.trimEnd());
      line = piece;
    } else line += piece;
  }
  return [...lines, line].join(`\n${" ".repeat(indent)}`);
}

function columnCount(text: string): number {
  const plainText = stripVTControlCharacters(text);
  return (
    plainText.length +
    (plainText.match(WIDE_CHARACTERS) ?? []).filter((character) => character.length === 1).length
  );
}
