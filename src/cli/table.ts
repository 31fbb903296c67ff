import { printable } from "../core/text.ts";

/** Text of which each character takes one place: ASCII, and the marks of our own. */
const PLAIN = /^[ -~–→…]*$/;

/** Rows in columns, with a header. Everything from outside is escaped; emoji and combining marks do not shift a column. */
export async function table(
  header: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): Promise<string> {
  const cells = [header, ...rows.map((row) => row.map((cell) => printable(String(cell ?? "–"))))];
  const widthOf = await measureFor(cells.flat());
  const widths = header.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ""))));
  const pad = (cell: string, column: number): string =>
    cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell)));
  return cells.map((row) => row.map(pad).join("  ").trimEnd()).join("\n");
}

/** How many places a text takes on a terminal. The tables of Unicode are loaded where they are needed: that takes 20 ms. */
async function measureFor(texts: readonly string[]): Promise<(text: string) => number> {
  if (texts.every((text) => PLAIN.test(text))) return (text) => text.length;
  const { default: stringWidth } = await import("string-width");
  return stringWidth;
}
