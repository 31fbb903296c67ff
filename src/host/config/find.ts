import { dirname, join, resolve } from "node:path";
import { CONFIG_FILE } from "../../core/config/file-name.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import { stateFailure, usageFailure, type HostFailure } from "../failure.ts";

export type ConfigOptions = { readonly config?: string; readonly trustFolder?: boolean };

export function findNearestConfig({ cwd, files }: Pick<World, "cwd" | "files">): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, CONFIG_FILE);
    if (files.exists(candidate)) return candidate;
    if (dirname(folder) === folder) return undefined;
  }
}

export const CONFIG_VARIABLE = "CHECKOUT_SANDBOX_CONFIG";

export function locateConfig(world: Pick<World, "cwd" | "files" | "env">): {
  readonly value: string | null;
  readonly source: string;
} {
  const namedPath = world.env[CONFIG_VARIABLE] ?? "";
  if (namedPath !== "") return { value: resolve(world.cwd, namedPath), source: CONFIG_VARIABLE };
  const value = findNearestConfig(world) ?? null;
  if (value === null) return { value, source: "not found" };
  return {
    value,
    source: dirname(value) === world.cwd ? "found in this folder" : "found in a parent folder",
  };
}

/**
 * Refuses another user's file unless it was named or trusted, because a configuration determines where keys and events
 * are sent.
 */
export function findConfig(
  world: Pick<World, "cwd" | "files" | "env">,
  { config, trustFolder }: ConfigOptions,
): Outcome<string | undefined, HostFailure> {
  const location = locateConfig(world);
  const isNamed = config !== undefined || location.source === CONFIG_VARIABLE;
  const path = config === undefined ? (location.value ?? undefined) : resolve(world.cwd, config);
  if (isNamed && path !== undefined) {
    if (world.files.exists(path)) return accept(path);
    const variableText = config === undefined ? ` (${CONFIG_VARIABLE})` : "";
    return usageFailure(
      `there is no file ${path}${variableText}`,
      "correct the path, or leave the option out to search for a configuration",
    );
  }
  if (path === undefined || trustFolder === true || isOwn(world, path)) return accept(path);
  return stateFailure({
    code: "config_refused",
    message: `${path} belongs to another user, but a configuration determines where keys and events are sent`,
    next: `name it (--config, --file, or ${CONFIG_VARIABLE}), or --trust-folder`,
  });
}

function isOwn({ files }: Pick<World, "files">, path: string): boolean {
  const fileFacts = files.stat(path);
  return fileFacts === undefined || fileFacts.isOwn;
}
