/** One measured figure, and the baseline to which it is compared. */
export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: "/s" | "ms" | "KB" | "MB" | "ticks" | "rows" | "x";
  /** The baseline that `ratio` is relative to. */
  readonly baseline?: string;
  readonly ratio?: number;
  /** Compared with the ratio if there is one, otherwise with the value. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number } | { readonly below: number };
};

/** Whether a figure meets its target; a figure without a target always does. */
export function meets({ value, ratio = value, target }: Figure): boolean {
  if (target === undefined) return true;
  if ("atLeast" in target) return ratio >= target.atLeast;
  return "atMost" in target ? ratio <= target.atMost : ratio < target.below;
}

/** The middle value; for an even number of values, the larger of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("the median of nothing");
  return middle;
}

/** The median of the ratios between each value and the baseline that was measured next to it. */
export function medianRatio(values: readonly number[], baselines: readonly number[]): number {
  return median(values.map((value, index) => value / (baselines[index] ?? Number.NaN)));
}

export function formatTable(figures: readonly Figure[]): string {
  const rows = [["FIGURE", "MEASURED", "RATIO", "OF", "TARGET", ""], ...figures.map(toRow)];
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => alignCell(cell, widths, column))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

export function formatJson(figures: readonly Figure[]): string {
  const listed = figures.map((figure) => ({ ...figure, ok: meets(figure) }));
  const ok = figures.every(meets);
  return `${JSON.stringify({ ok, node: process.version, platform: `${process.platform} ${process.arch}`, figures: listed })}\n`;
}

function toRow(figure: Figure): string[] {
  const { name, value, unit, baseline = "", ratio, target } = figure;
  const verdict = target === undefined ? "" : meets(figure) ? "ok" : "MISSED";
  return [
    name,
    formatValue(value, unit),
    ratio === undefined ? "" : ratio.toFixed(3),
    baseline,
    formatTarget(figure),
    verdict,
  ];
}

function formatTarget({ target, ratio, unit }: Figure): string {
  if (target === undefined) return "";
  const suffix = ratio === undefined ? ` ${unit}` : "";
  if ("atLeast" in target) return `>= ${target.atLeast}${suffix}`;
  return "atMost" in target ? `<= ${target.atMost}${suffix}` : `< ${target.below}${suffix}`;
}

function formatValue(value: number, unit: Figure["unit"]): string {
  const digits = unit === "/s" || unit === "ticks" ? 0 : unit === "ms" && value < 10 ? 2 : 1;
  return `${value.toFixed(digits)} ${unit}`;
}

/** Aligns numbers to the right. */
function alignCell(cell: string, widths: readonly number[], column: number): string {
  const width = widths[column] ?? 0;
  return column === 1 || column === 2 ? cell.padStart(width) : cell.padEnd(width);
}
