/** A time between two moments, in milliseconds, in its largest unit: `21 min`. */
export function spanText(milliseconds: number): string {
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1000],
  ] as const;
  const [unit, size] = units.find(([, least]) => milliseconds >= least) ?? ["ms", 1];
  return `${Math.round(milliseconds / size)} ${unit}`;
}
