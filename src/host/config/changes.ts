import type { PlannedChange } from "../../core/config/plan.ts";
import {
  settingsIn,
  type SandboxSettings,
  type SettingName,
  type SettingOptions,
} from "../../core/config/settings.ts";
import { printable } from "../../core/text.ts";
import type { ChangeEntry } from "../../core/config/shapes.ts";

export function summarizeChanges(changes: readonly Pick<ChangeEntry, "action">[]): string {
  const words = { add: "added", change: "changed", remove: "removed" } as const;
  return (["add", "change", "remove"] as const)
    .map((action) => [changes.filter((change) => change.action === action).length, words[action]] as const)
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
}

const EXPOSING_SETTINGS = {
  listen: (value) => `the sandbox listens on ${value}`,
  allowHosts: (value) => `v1 and the pages answer as ${value}`,
  allowControlHosts: (value) => `the control API answers as ${value}`,
  allowTargets: (value) => `events may be sent to ${value}`,
  publicUrl: (value) => `payers reach the pages at ${value}`,
  portalUrl: (value) => `browsers reach the portal at ${value}`,
} satisfies { readonly [Name in SettingName]?: (value: string) => string };

export function exposureLines(
  settings: SandboxSettings,
  options: SettingOptions,
  changes: readonly PlannedChange[],
): readonly string[] {
  const values = settingsIn(options);
  const settingLines = (
    Object.entries(EXPOSING_SETTINGS) as [keyof typeof EXPOSING_SETTINGS, (value: string) => string][]
  ).flatMap(([name, describe]) =>
    values[name] === undefined ? [settings[name] ?? []].flat().map(describe) : [],
  );
  const endpointLines = changes.flatMap(({ kind, action, name }) =>
    kind === "endpoint" && action === "add" ? [`events are sent to ${name}`] : [],
  );
  return [...settingLines, ...endpointLines].map(printable);
}
