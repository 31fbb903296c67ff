import type { NamedTarget } from "../../core/config/schema.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import { printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { shortPath } from "../../host/folder/state-folder.ts";
import { isTyped } from "../option-rules.ts";
import { missingCredential, unwrap, Refused, refuseUsage } from "../problem.ts";
import { loadConfig, type LoadedConfig } from "../../host/config/load.ts";
import { withSource, type Surroundings, type ValueWithSource } from "./surroundings.ts";
import { faultOfField } from "../../core/config/field.ts";

/**
 * The surroundings with the service that `--target` names in the configuration (decision 85); its address, API key and
 * store belong together, and no others are used for it. A flag overrides a variable: `--base-url` overrides
 * CHECKOUT_TARGET, and `--target` overrides CHECKOUT_BASE_URL. Refuses two flags, and two variables.
 */
export async function withNamedTarget({ world, around }: Context, name: string): Promise<Surroundings> {
  const { options } = around;
  if (options.baseUrl !== undefined) {
    const [isTarget, isAddress] = [isTyped(world, "target"), isTyped(world, "base-url")];
    if (isTarget === isAddress) {
      const [one, other] = isTarget ? ["--target", "--base-url"] : ["CHECKOUT_TARGET", "CHECKOUT_BASE_URL"];
      throw refuseUsage(`${one} and ${other} exclude each other`, "leave one of them out");
    }
    if (isAddress) return around;
  }
  const loaded = unwrap(await loadConfig(world, options));
  const named = targetIn(world, loaded, name);
  const { file, target } = named;
  const source = `target ${name} of ${shortPath(world, file.path)}`;
  const address = { value: parseBaseUrl(target.baseUrl) ?? target.baseUrl, source };
  return {
    ...around,
    address: () => address,
    apiKey: await keyOf(world, named),
    // The key is not tied to this store: `--store` may name another one.
    storeId: around.storeFlag === undefined ? withSource(target.storeId, source) : undefined,
    target: { ...target, name, source },
  };
}

type FoundTarget = { readonly file: LoadedConfig; readonly name: string; readonly target: NamedTarget };

function targetIn(world: World, file: LoadedConfig | undefined, name: string): FoundTarget {
  if (file === undefined) {
    const message = `there is no checkout.config.json here or in a parent folder to define the target ${printableLiteral(name)}`;
    throw refuseUsage(message, "name the service with --base-url, or create the file");
  }
  const { targets = {} } = file.config;
  const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
  if (target !== undefined) return { file, name, target };
  const path = shortPath(world, file.path);
  const known = Object.keys(targets).join(", ") || "none";
  throw refuseUsage(`${path} has no target ${printableLiteral(name)}; it has ${known}`, `add it to ${path}`);
}

/** The API key of a target, in the target's own variable. Other variables are not read. */
async function keyOf({ env }: World, { file, name, target }: FoundTarget): Promise<ValueWithSource<string>> {
  const { missingVariableReason, targetVariable, unreadVariables, valueOfVariable } =
    await import("../../core/config/secrets.ts");
  const variable = targetVariable(name);
  const missing = missingVariableReason(variable, env);
  if (missing === undefined) return { value: valueOfVariable(variable, env), source: variable };
  const [unread] = unreadVariables({ targets: { [name]: target } });
  const problem = file.problem(unread ?? faultOfField(["targets", name], missing));
  const next = `set ${variable} to a key of that service`;
  throw new Refused({ ...problem, ...missingCredential(problem.message, next) });
}
