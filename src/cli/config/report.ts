import { printable } from "../../core/text.ts";
import { summarizeChanges } from "../../host/config/changes.ts";
import type { Style } from "../printer.ts";
import type { ChangeEntry } from "../../core/config/shapes.ts";

export type SettingDifference = { readonly field: string; readonly from: string; readonly to: string };

const SIGNS = { add: "+", change: "~", remove: "-", unmanaged: "?" } as const;

/** A plan, one line for each change; unchanged items are only counted. */
export function planText(changes: readonly ChangeEntry[], style: Style): string {
  const shownChanges = changes.filter(({ action }) => action !== "keep");
  const keptCount = changes.length - shownChanges.length;
  const lines = shownChanges.flatMap((change) => changeLines(change, style));
  const summary = summarizeChanges(changes);
  return [...lines, `${summary === "" ? "nothing to change" : summary}; ${keptCount} unchanged`].join("\n");
}

function changeLines(
  { action, kind, name, storeId, differences }: ChangeEntry,
  style: Style,
): readonly string[] {
  if (action === "keep") return [];
  const colour = { add: style.green, change: style.cyan, remove: style.red, unmanaged: style.dim }[action];
  const store = kind === "store" ? "" : `  (store ${storeId})`;
  const note = action === "unmanaged" ? "  is not in the file" : "";
  const fields = differences.map(
    ({ field, from, to }) => `    ${field}: ${formatValue(from)} → ${formatValue(to)}`,
  );
  return [colour(printable(`${SIGNS[action]} ${kind} ${name}${note}${store}`)), ...fields.map(printable)];
}

/** The settings that differ, which take effect only after a restart; empty if there are none. */
export function settingsText(settings: readonly SettingDifference[]): string {
  if (settings.length === 0) return "";
  const lines = settings.map(({ field, from, to }) => printable(`! ${field}: ${from} → ${to}`));
  return [...lines, "  Settings take effect at the next start of the sandbox."].join("\n");
}

function formatValue(value: string | number | boolean | null): string {
  return value === null ? "–" : String(value);
}
