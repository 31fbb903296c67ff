import { printable, displayText } from "../core/text.ts";
import type { Printer, Style } from "./printer.ts";

/** Text whose characters are one column wide: ASCII, and the symbols of this program. */
const PLAIN_TEXT = /^[ -~–→…]*$/;
const GAP = "  ";
const DEFAULT_WIDTH = 80;
const MIN_CUT_WIDTH = 8;
const MIN_FIRST_CUT_WIDTH = 16;

type FitOptions = {
  readonly width: number;
  /** These columns are cut, down to `MIN_FIRST_CUT_WIDTH`, before a column is omitted. */
  readonly cut?: readonly string[];
  /** Omitted one after the other until the other columns fit. If they never fit, the widest ones are cut. */
  readonly drop?: readonly string[];
  /** Cut in the middle, because addresses differ at both ends. */
  readonly middle?: readonly string[];
  readonly style?: Style | undefined;
  /** Cut last, because commands take the values of these columns. */
  readonly keep?: readonly string[];
  /** Wraps long cells, such as sentences, instead of cutting them. */
  readonly wrap?: true;
};

export type TableStyle = Pick<Printer, "width"> & Partial<Pick<Printer, "style">>;

type Row = readonly string[];
type Cell = string | number | null;
type Cells = readonly Cell[];
type WidthOf = (text: string) => number;

/** Escapes control characters in cells, and keeps columns aligned even with emoji and combining marks. */
export async function table(header: Row, rows: readonly Cells[], fitOptions: FitOptions): Promise<string> {
  return (await tableRows(header, rows, fitOptions)).join("\n");
}

export type Column<Item> = readonly [
  name: string,
  cellOf: (item: Item) => Cell,
  isNeeded?: (item: Item) => boolean,
];

export function tableOf<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  fitOptions: FitOptions,
): Promise<string> {
  const shownColumns = columns.filter(([, , isNeeded]) => isNeeded === undefined || items.some(isNeeded));
  return table(
    shownColumns.map(([name]) => name),
    items.map((item) => shownColumns.map(([, cellOf]) => cellOf(item))),
    fitOptions,
  );
}

export async function tableRows(
  header: Row,
  rows: readonly Cells[],
  fitOptions: FitOptions,
): Promise<readonly string[]> {
  const cells = [
    header,
    ...rows.map((row) => row.map((cell) => printable(displayText(String(cell ?? "–"))))),
  ];
  const widthOf = await measureFor(cells.flat());
  const fittingCells = fitRows(cells, fitOptions, widthOf);
  const widths = widthsOf(fittingCells.flat(), widthOf);
  const names = fittingCells[0]?.[0] ?? [];
  const painterOf = (row: number, column: number): ((cell: string) => string) =>
    row > 0 && fitOptions.style !== undefined && STATE_COLUMN_PATTERN.test(names[column] ?? "")
      ? createPainter(fitOptions.style)
      : (cell) => cell;
  const isLast = (column: number): boolean => column === names.length - 1;
  const formatCell = (cell: string, [row, column]: readonly [number, number]): string => {
    const blankCount = isLast(column) ? 0 : (widths[column] ?? 0) - widthOf(cell);
    return painterOf(row, column)(cell) + " ".repeat(Math.max(0, blankCount));
  };
  return fittingCells.map((lines, row) =>
    lines
      .map((line) =>
        line
          .map((cell, column) => formatCell(cell, [row, column]))
          .join(GAP)
          .trimEnd(),
      )
      .join("\n"),
  );
}

const STATE_COLUMN_PATTERN = /^(STATE|STATUS|RESULT|ACTIVE|APPROVED)$/;

const COLOURS: readonly (readonly [colour: keyof Style, pattern: RegExp])[] = [
  ["green", /^(2\d\d\b|succeeded|enabled|yes)/],
  [
    "red",
    /^(5\d\d\b|0\b|failed|failing|disabled|unreachable|timeout|connection_lost|bad_answer|target_forbidden)/,
  ],
  ["yellow", /^([34]\d\d\b|pending|paused|due|refused|in progress|interrupted|no\b|retired)/],
  ["dim", /^(expired|cancelled|dropped|–)/],
];

function createPainter(style: Style): (cell: string) => string {
  return (cell) => {
    const [colour] = COLOURS.find(([, pattern]) => pattern.test(cell)) ?? [];
    return colour === undefined ? cell : style[colour](cell);
  };
}

function fitRows(
  cells: readonly Row[],
  { width, cut = [], drop = [], keep = [], middle = [], wrap }: FitOptions,
  widthOf: WidthOf,
): readonly (readonly Row[])[] {
  const tableWidth = width === 0 ? DEFAULT_WIDTH : width;
  let shownCells = cells;
  const isCut = (column: number): boolean => cut.includes(shownCells[0]?.[column] ?? "");
  const minWidthOf = (columnWidth: number, column: number): number =>
    isCut(column) ? Math.min(columnWidth, MIN_FIRST_CUT_WIDTH) : columnWidth;
  for (const name of drop) {
    if (sumOf(widthsOf(shownCells, widthOf).map(minWidthOf)) <= tableWidth) break;
    const column = shownCells[0]?.indexOf(name) ?? -1;
    shownCells = shownCells.map((row) => row.filter((_, index) => index !== column));
  }
  const keptColumns = new Set(keep.map((name) => shownCells[0]?.indexOf(name) ?? -1));
  const columnWidths = fitWidths(tableWidth, widthsOf(shownCells, widthOf), { isCut, keptColumns });
  return shownCells.map((row) => {
    const columns = row.map((cell, index) => {
      const columnWidth = columnWidths[index] ?? 0;
      if (wrap === true) return wrapTo(cell, columnWidth, widthOf);
      return [
        middle.includes(shownCells[0]?.[index] ?? "")
          ? cutMiddle(cell, columnWidth, widthOf)
          : cutTo(cell, columnWidth, widthOf),
      ];
    });
    const height = Math.max(...columns.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) => columns.map((lines) => lines[line] ?? ""));
  });
}

function wrapTo(text: string, width: number, widthOf: WidthOf): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((part) => breakWord(part, width, widthOf))) {
    const longerLine = line === "" ? word : `${line} ${word}`;
    if (widthOf(longerLine) > width && line !== "") lines.push(line);
    line = widthOf(longerLine) > width ? word : longerLine;
  }
  return [...lines, line];
}

function breakWord(word: string, width: number, widthOf: WidthOf): readonly string[] {
  if (widthOf(word) <= width) return [word];
  const pieces = [""];
  for (const character of word) {
    const longerPiece = `${pieces.pop() ?? ""}${character}`;
    if (widthOf(longerPiece) > width) pieces.push(longerPiece.slice(0, -character.length), character);
    else pieces.push(longerPiece);
  }
  return pieces;
}

/** Columns in `cut` get narrower first, then the widest of the columns outside `keep`, and columns in `keep` last. */
function fitWidths(
  tableWidth: number,
  widths: readonly number[],
  {
    isCut,
    keptColumns,
  }: { readonly isCut: (column: number) => boolean; readonly keptColumns: ReadonlySet<number> },
): readonly number[] {
  const fittedWidths = [...widths];
  const columns = [...fittedWidths.keys()];
  const rounds = [
    [columns.filter(isCut), MIN_FIRST_CUT_WIDTH],
    [columns.filter((column) => !keptColumns.has(column)), MIN_CUT_WIDTH],
    [columns, MIN_CUT_WIDTH],
  ] as const;
  for (const [columnsOfRound, minimum] of rounds) {
    while (sumOf(fittedWidths) > tableWidth) {
      const maxWidth = Math.max(...columnsOfRound.map((column) => fittedWidths[column] ?? 0));
      if (maxWidth <= minimum) break;
      fittedWidths[columnsOfRound.find((column) => fittedWidths[column] === maxWidth) ?? 0] = maxWidth - 1;
    }
  }
  return fittedWidths;
}

function cutTo(text: string, width: number, widthOf: WidthOf): string {
  if (widthOf(text) <= width) return text;
  const characters = Array.from(text);
  while (characters.length > 0 && widthOf(characters.join("")) >= width) characters.pop();
  return `${characters.join("")}…`;
}

function cutMiddle(text: string, width: number, widthOf: WidthOf): string {
  if (widthOf(text) <= width) return text;
  const characters = Array.from(text);
  const middle = Math.floor(characters.length / 2);
  const [head, tail] = [characters.slice(0, middle), characters.slice(middle)];
  while (widthOf([...head, ...tail].join("")) >= width) {
    if (head.length > tail.length) head.pop();
    else tail.shift();
  }
  return `${head.join("")}…${tail.join("")}`;
}

function widthsOf(cells: readonly Row[], widthOf: WidthOf): number[] {
  return (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ""))));
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}

/** Loads Unicode tables, which takes 20 ms, only if a text needs them. */
async function measureFor(texts: readonly string[]): Promise<WidthOf> {
  if (texts.every((text) => PLAIN_TEXT.test(text))) return (text) => text.length;
  const { default: stringWidth } = await import("string-width");
  return stringWidth;
}
