import type { Printer } from "../printer.ts";
import { wrapText } from "../wrap.ts";

const INDENT = "  ";

export function formatMarkdown(page: string, { style, width }: Pick<Printer, "style" | "width">): string {
  return blocksOf(page)
    .map((block) => {
      const [firstLine = ""] = block;
      if (firstLine.startsWith("```")) return block.slice(1, -1).map((line) => INDENT + line);
      if (firstLine.startsWith("#")) return [style.bold(plainText(firstLine.replace(/^#+ /, "")))];
      if (firstLine.startsWith("|")) return tableLines(block, width);
      if (firstLine.startsWith("* ") || /^\d+\. /.test(firstLine)) return itemLines(block, width);
      return [wrapText(plainText(block.join(" ")), { width: width })];
    })
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

function blocksOf(page: string): readonly (readonly string[])[] {
  const blocks: string[][] = [];
  let block: string[] = [];
  let isCode = false;
  for (const line of [...page.split("\n"), ""]) {
    const isFence = line.startsWith("```");
    const isHeading = !isCode && line.startsWith("#");
    if (!isCode && (isFence || isHeading || line === "")) {
      blocks.push(block);
      block = [];
    }
    if (isCode || line !== "") block.push(line);
    if (isFence) isCode = !isCode;
    if (isCode || !(isFence || isHeading)) continue;
    blocks.push(block);
    block = [];
  }
  return blocks.filter((lines) => lines.length > 0).filter(([line = ""]) => !/^(?:<!--|!\[)/.test(line));
}

function tableLines([header = "", , ...rows]: readonly string[], width: number): readonly string[] {
  const names = cellsOf(header);
  return rows.flatMap((row) => {
    const [firstCell = "", ...otherCells] = cellsOf(row);
    const filledCells = otherCells
      .map((cell, index) => ({ cell, name: names[index + 1] ?? "" }))
      .filter(({ cell }) => cell !== "");
    const [onlyCell] = filledCells;
    if (onlyCell !== undefined && otherCells.length === 1)
      return [wrapText(`${INDENT}${firstCell}: ${onlyCell.cell}`, { width: width, indent: 4 })];
    return [
      INDENT + firstCell,
      ...filledCells.map(({ name, cell }) =>
        wrapText(`${INDENT}${INDENT}${name === "" ? "" : `${name}: `}${cell}`, { width: width, indent: 6 }),
      ),
    ];
  });
}

function cellsOf(row: string): readonly string[] {
  return row
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => plainText(cell.trim().replaceAll(String.raw`\|`, "|")));
}

function itemLines(lines: readonly string[], width: number): readonly string[] {
  const items: string[] = [];
  for (const line of lines) {
    if (/^(?:\* |\d+\. )/.test(line) || items.length === 0) items.push(line);
    else items[items.length - 1] += ` ${line.trim()}`;
  }
  return items.map((item) => {
    const indent = item.indexOf(" ") + 1;
    return wrapText(plainText(item), { width: width, indent });
  });
}

function plainText(text: string): string {
  return text
    .replaceAll(/\[([^\]]+)\]\((https?:[^)]+)\)/g, "$1 ($2)")
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1")
    .replaceAll("**", "");
}
