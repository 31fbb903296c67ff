import type { PlannedChange } from "../../core/config/plan.ts";
import { DEFAULT_PORT, settingOptionsOf } from "../../core/config/settings.ts";
import { parseTarget } from "../../core/webhook/target.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import { shortPath } from "../folder/state-folder.ts";
import type { ConfigOptions } from "./find.ts";
import { loadConfig, type LoadedConfig } from "./load.ts";
import { summarizeChanges, exposureLines } from "./changes.ts";
import type { HostFailure } from "../failure.ts";
import type { ServeOptions } from "../options.ts";
import type { MessageOutput } from "../hosting.ts";
import { atPath } from "../../core/config/field.ts";

type LoadedContext = { readonly world: Pick<World, "cwd">; readonly printer: MessageOutput };

/**
 * Order of precedence: flag, variable, configuration, default. Refuses invalid endpoint addresses before anything is
 * created.
 */
export async function settingsWithConfig<Options extends ServeOptions & ConfigOptions>(
  context: LoadedContext & { readonly world: Pick<World, "cwd" | "files" | "env"> },
  options: Options,
): Promise<Outcome<Options, HostFailure>> {
  const config = await loadConfig(context.world, options);
  if (!config.ok) return config;
  return config.value === undefined
    ? accept(options)
    : settingsWithLoadedConfig(context, options, config.value);
}

export async function settingsWithLoadedConfig<Options extends ServeOptions>(
  { world, printer }: LoadedContext,
  options: Options,
  loadedConfig: LoadedConfig,
): Promise<Outcome<Options, HostFailure>> {
  const { path, config, stores, failureOf } = loadedConfig;
  const result = await stores();
  if (!result.ok) return result;
  const { dialect } = config;
  const settings = { ...settingOptionsOf(config.sandbox ?? {}), ...(dialect && { dialect }), ...options };
  const targetsCheck = checkEndpointTargets(loadedConfig, settings);
  if (!targetsCheck.ok) return targetsCheck;
  const noteChanges = (changes: readonly PlannedChange[]): void => {
    const text = summarizeChanges(changes);
    const lines = exposureLines(config.sandbox ?? {}, options, changes);
    for (const line of [text, ...lines].filter(Boolean)) printer.info(`${shortPath(world, path)}: ${line}`);
  };
  const isExposed = exposureLines(config.sandbox ?? {}, options, []).length > 0;
  if (result.value.length === 0 && !isExposed) return accept(settings);
  return accept({ ...settings, setup: { stores: result.value, failureOf, onApplied: noteChanges } });
}

function checkEndpointTargets(
  { config, failureOfField }: LoadedConfig,
  { allowTarget: allowedHosts = [], port: ownPort = DEFAULT_PORT }: ServeOptions,
): Outcome<void, HostFailure> {
  for (const [storeIndex, { endpoints = [] }] of (config.stores ?? []).entries()) {
    for (const [endpointIndex, { url }] of endpoints.entries()) {
      const target = parseTarget(url, { allowedHosts, ownPort });
      const path = ["stores", storeIndex, "endpoints", endpointIndex, "url"];
      if (!target.ok) return { ok: false, refusal: failureOfField(atPath(path, target).refusal) };
    }
  }
  return accept(undefined);
}
