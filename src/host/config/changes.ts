import type { PlannedChange } from "../../core/config/plan.ts";
import type { SandboxSettings } from "../../core/config/schema.ts";
import { printable } from "../../core/text.ts";
import type { ChangeEntry } from "../../core/config/shapes.ts";

/** The changes in one line; empty if there are none. */
export function summarizeChanges(changes: readonly Pick<ChangeEntry, "action">[]): string {
  const words = { add: "added", change: "changed", remove: "removed" } as const;
  return (["add", "change", "remove"] as const)
    .map((action) => [changes.filter((change) => change.action === action).length, words[action]] as const)
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
}

/** Settings that open a sandbox to others, or let it send elsewhere: the options, and the effect of each value. */
const EXPOSING_SETTINGS = {
  listen: { option: "listen", text: (value: string) => `the sandbox listens on ${value}` },
  allowHosts: { option: "allowHost", text: (value: string) => `v1 and the pages answer as ${value}` },
  allowControlHosts: {
    option: "allowControlHost",
    text: (value: string) => `the control API answers as ${value}`,
  },
  allowTargets: { option: "allowTarget", text: (value: string) => `events may be sent to ${value}` },
  publicUrl: { option: "publicUrl", text: (value: string) => `payers reach the pages at ${value}` },
  portalUrl: { option: "portalUrl", text: (value: string) => `browsers reach the portal at ${value}` },
} as const satisfies { readonly [Field in keyof SandboxSettings]?: object };

/**
 * One line for each way in which a configuration exposes the sandbox: exposing settings that no option overrides, and
 * new endpoints.
 */
export function exposureLines(
  settings: SandboxSettings,
  options: object,
  changes: readonly PlannedChange[],
): readonly string[] {
  const opened = Object.entries(EXPOSING_SETTINGS).flatMap(([field, { option, text }]) => {
    if (option in options && Reflect.get(options, option) !== undefined) return [];
    return [settings[field as keyof typeof EXPOSING_SETTINGS] ?? []].flat().map(text);
  });
  const endpoints = changes.flatMap(({ kind, action, name }) =>
    kind === "endpoint" && action === "add" ? [`events are sent to ${name}`] : [],
  );
  return [...opened, ...endpoints].map(printable);
}
