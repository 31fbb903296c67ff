import { printableLiteral } from "../../core/text.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import { shortPath } from "../folder/state-folder.ts";
import { isTyped } from "../option-rules.ts";
import { EXIT, fail, failUsage, type Problem } from "../problem.ts";
import type { ServiceOptions, TargetSettings } from "../settings.ts";
import { loadConfig, type LoadedConfig } from "./load.ts";

/**
 * The options with the service that `--target` names in the configuration (decision 85). A flag wins over a variable:
 * `--base-url` over CHECKOUT_TARGET, and `--target` over CHECKOUT_BASE_URL. Refuses two of the same rank.
 */
export async function withTarget<Options extends ServiceOptions>(
  world: World,
  { name, options }: { readonly name: string; readonly options: Options },
): Promise<Outcome<Options, Problem>> {
  if (options.baseUrl !== undefined) {
    const [isTarget, isAddress] = [isTyped(world, "target"), isTyped(world, "base-url")];
    if (isTarget === isAddress) {
      const [one, other] = isTarget ? ["--target", "--base-url"] : ["CHECKOUT_TARGET", "CHECKOUT_BASE_URL"];
      return failUsage(`${one} and ${other} exclude each other`, "leave one of them out");
    }
    if (isAddress) return accept(options);
  }
  const loaded = await loadConfig(world, options);
  if (!loaded.ok) return loaded;
  const named = await find(world, loaded.value, name);
  return named.ok ? accept({ ...options, namedTarget: named.value }) : named;
}

async function find(
  world: World,
  file: LoadedConfig | undefined,
  name: string,
): Promise<Outcome<TargetSettings, Problem>> {
  const targets = new Map(Object.entries(file?.config.targets ?? {}));
  const target = targets.get(name);
  if (file === undefined) {
    const message = `there is no checkout.config.json here or in a folder above that could name ${printableLiteral(name)}`;
    return failUsage(message, "name the service with --base-url, or make the file");
  }
  const path = shortPath(world, file.path);
  if (target === undefined) {
    const known = targets.size === 0 ? "none" : [...targets.keys()].join(", ");
    return failUsage(`${path} has no target ${printableLiteral(name)}; it has ${known}`, `add it to ${path}`);
  }
  const { missingVariable } = await import("../../core/config/secrets.ts");
  const apiKey = world.env[target.apiKey.env] ?? "";
  const message = missingVariable(target.apiKey.env, world.env);
  if (message !== undefined) {
    const at = {
      path: ["targets", name, "api_key", "env"],
      message,
    };
    const next = `set ${target.apiKey.env} to a key of that service`;
    return fail({ ...file.problem(at), exitCode: EXIT.credential, code: "credential_missing", next });
  }
  return accept({
    source: `target ${name} of ${path}`,
    baseUrl: target.baseUrl,
    apiKey: { value: apiKey, source: target.apiKey.env },
    storeId: target.storeId,
    timeoutMs: target.timeout,
    retries: target.retries,
  });
}
