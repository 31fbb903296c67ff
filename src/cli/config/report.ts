import { printable } from "../../core/text.ts";
import { summarizeChanges } from "../../host/config/changes.ts";
import type { Style } from "../printer.ts";
import type { ChangeEntry } from "../../core/config/shapes.ts";

export type SettingDifference = { readonly field: string; readonly from: string; readonly to: string };

const MARKS = {
  add: ["+", "green"],
  change: ["~", "cyan"],
  remove: ["-", "red"],
  unmanaged: ["?", "dim"],
} as const;

export function planText(
  changes: readonly ChangeEntry[],
  settings: readonly SettingDifference[],
  style: Style,
): string {
  const keptCount = changes.filter(({ action }) => action === "keep").length;
  const summary = summarizeChanges(changes) || "nothing to change";
  const lines = changes.flatMap((change) => changeLines(change, style));
  return [...lines, `${summary}; ${keptCount} unchanged`, ...settingLines(settings)].join("\n");
}

function changeLines(
  { action, kind, name, storeId, differences }: ChangeEntry,
  style: Style,
): readonly string[] {
  if (action === "keep") return [];
  const [sign, colour] = MARKS[action];
  const store = kind === "store" ? "" : `  (store ${storeId})`;
  const note = action === "unmanaged" ? "  is not in the file" : "";
  const fields = differences.map(
    ({ field, from, to }) => `    ${field}: ${formatValue(from)} → ${formatValue(to)}`,
  );
  return [style[colour](printable(`${sign} ${kind} ${name}${note}${store}`)), ...fields.map(printable)];
}

function settingLines(settings: readonly SettingDifference[]): readonly string[] {
  if (settings.length === 0) return [];
  const lines = settings.map(({ field, from, to }) => printable(`! ${field}: ${from} → ${to}`));
  return [...lines, "  Settings take effect at the next start of the sandbox."];
}

function formatValue(value: string | number | boolean | null): string {
  return value === null ? "–" : String(value);
}
