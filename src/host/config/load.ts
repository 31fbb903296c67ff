import { join } from "node:path";
import type { FieldFault } from "../../core/config/field.ts";
import { CONFIG_FILE } from "../../core/config/file-name.ts";
import type { ConfigFault, ParsedConfig } from "../../core/config/read.ts";
import type { RequestedStore } from "../../core/config/store-fields.ts";
import { accept, type Outcome, type Refusal } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import { shortPath } from "../folder/state-folder.ts";
import { findConfig, type ConfigOptions } from "./find.ts";
import { readNamedText } from "../named-file.ts";
import { usageFailure, type HostFailure } from "../failure.ts";

export type LoadedConfig = ReturnType<typeof createLoadedConfig>;

const MAX_CONFIG_BYTES = 2 * 1024 * 1024;
const MAX_FURTHER_FAULTS = 9;

/** Undefined if there is no configuration. A refusal lists the faults with their positions. */
export async function loadConfig(
  world: Pick<World, "cwd" | "files" | "env">,
  options: ConfigOptions,
): Promise<Outcome<LoadedConfig | undefined, HostFailure>> {
  const config = findConfig(world, options);
  if (!config.ok || config.value === undefined) return config.ok ? accept(undefined) : config;
  const path = config.value;
  const text = readNamedText(world, path, { maxBytes: MAX_CONFIG_BYTES });
  if (!text.ok)
    return usageFailure(
      `${path} ${text.refusal.reason}`,
      `name the file itself, such as ${join(path, CONFIG_FILE)}`,
    );
  return loadConfigText(world, path, text.value);
}

export async function loadConfigText(
  world: Pick<World, "cwd" | "files" | "env">,
  path: string,
  text: string,
): Promise<Outcome<LoadedConfig, HostFailure>> {
  // Loaded only if there is a configuration, because most commands have none.
  const { parseConfig } = await import("../../core/config/read.ts");
  const parsedConfig = parseConfig(text);
  if (!parsedConfig.ok)
    return { ok: false, refusal: faultsFailure(shortPath(world, path), parsedConfig.refusal) };
  return accept(createLoadedConfig(world, path, parsedConfig.value));
}

function createLoadedConfig(
  world: Pick<World, "cwd" | "files" | "env">,
  path: string,
  { config, locate }: ParsedConfig,
) {
  const name = shortPath(world, path);
  const failureOfField = (fault: FieldFault): HostFailure => faultsFailure(name, [locate(fault)]);
  return {
    path,
    config,
    failureOfField,
    stores: async (): Promise<Outcome<readonly RequestedStore[], HostFailure>> => {
      const { resolveStoreSecrets } = await import("../../core/config/secrets.ts");
      const { readCertificates } = await import("../trusted-certificates.ts");
      const result = resolveStoreSecrets(config, {
        env: world.env,
        readCertificates: (file) => readCertificates(world, file, { isKept: true }),
      });
      return result.ok ? result : { ok: false, refusal: faultsFailure(name, result.refusal.map(locate)) };
    },
    failureOf: ({ code, message, path: field }: Refusal): HostFailure => {
      if (field !== undefined) return { ...failureOfField({ path: field, message }), kind: "failed", code };
      return { kind: "failed", code, message, next: `correct ${name}` };
    },
  };
}

function faultsFailure(file: string, faults: readonly ConfigFault[]): HostFailure {
  const [firstFault, ...otherFaults] = faults;
  if (firstFault === undefined) throw new Error("a refusal of a configuration names a fault");
  const furtherFaults = otherFaults
    .slice(0, MAX_FURTHER_FAULTS)
    .map((fault, index) => [`fault_${index + 2}`, faultText(file, fault)] as const);
  return {
    kind: "usage",
    code: "config_invalid",
    message: faultText(file, firstFault),
    next: `correct ${file}; nothing was changed`,
    details: {
      file,
      field: firstFault.field,
      line: firstFault.line,
      column: firstFault.column,
      ...(otherFaults.length === 0 ? {} : { faults: faults.length }),
      ...Object.fromEntries(furtherFaults),
    },
  };
}

function faultText(file: string, { message, line, column }: ConfigFault): string {
  return `${file}:${line}:${column}: ${message}`;
}
