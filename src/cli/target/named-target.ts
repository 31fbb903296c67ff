import { dirname } from "node:path";
import type { NamedTarget } from "../../core/config/schema.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { shortPath } from "../../host/folder/state-folder.ts";
import { isTyped } from "../option-rules.ts";
import { EXIT, unwrap, Refused, refuseUsage } from "../problem.ts";
import { confirm } from "../prompts.ts";
import { isAllowed, storePermission, type AllowedVariable } from "../config/allowed.ts";
import { loadConfig, type LoadedConfig } from "../../host/config/load.ts";
import type { ValueWithSource } from "./surroundings.ts";
import type { TargetSettings } from "./service.ts";

/**
 * The service that `--target` names in the configuration (decision 85). A flag overrides a variable: `--base-url`
 * overrides CHECKOUT_TARGET (then the result is undefined), and `--target` overrides CHECKOUT_BASE_URL. Refuses two
 * flags, and two variables.
 */
export async function findNamedTarget(context: Context, name: string): Promise<TargetSettings | undefined> {
  const { world, around } = context;
  const { options } = around;
  if (options.baseUrl !== undefined) {
    const [isTarget, isAddress] = [isTyped(world, "target"), isTyped(world, "base-url")];
    if (isTarget === isAddress) {
      const [one, other] = isTarget ? ["--target", "--base-url"] : ["CHECKOUT_TARGET", "CHECKOUT_BASE_URL"];
      throw refuseUsage(`${one} and ${other} exclude each other`, "leave one of them out");
    }
    if (isAddress) return undefined;
  }
  const loaded = unwrap(await loadConfig(world, options));
  const named = targetIn(world, loaded, name);
  const { file, target } = named;
  const apiKey = await keyOf(context, named);
  return {
    source: `target ${name} of ${shortPath(world, file.path)}`,
    baseUrl: target.baseUrl,
    apiKey,
    storeId: target.storeId,
    timeoutMs: target.timeout,
    retries: target.retries,
  };
}

/** A target in a configuration file. */
type FoundTarget = { readonly file: LoadedConfig; readonly name: string; readonly target: NamedTarget };

function targetIn(world: World, file: LoadedConfig | undefined, name: string): FoundTarget {
  if (file === undefined) {
    const message = `there is no checkout.config.json here or in a parent folder to define the target ${printableLiteral(name)}`;
    throw refuseUsage(message, "name the service with --base-url, or create the file");
  }
  const targets = new Map(Object.entries(file.config.targets ?? {}));
  const target = targets.get(name);
  if (target !== undefined) return { file, name, target };
  const path = shortPath(world, file.path);
  const known = targets.size === 0 ? "none" : [...targets.keys()].join(", ");
  throw refuseUsage(`${path} has no target ${printableLiteral(name)}; it has ${known}`, `add it to ${path}`);
}

/**
 * The API key of a target and the variable that contains it: the target's own variable, otherwise the variable that the
 * file names, if the user has allowed its use. Other variables are not read.
 */
async function keyOf(context: Context, found: FoundTarget): Promise<ValueWithSource<string>> {
  const { env } = context.world;
  const { file, name, target } = found;
  const { missingVariableReason, targetVariable, valueOfVariable } =
    await import("../../core/config/secrets.ts");
  const own = targetVariable(name);
  const variable = valueOfVariable(own, env) === "" ? target.apiKey.env : own;
  const path = ["targets", name, "api_key", "env"];
  const message = missingVariableReason(variable, env);
  if (message !== undefined) {
    const next = `set ${own} to a key of that service`;
    const problem = file.problem({ path, message });
    throw new Refused({ ...problem, exitCode: EXIT.credential, code: "credential_missing", next });
  }
  const key: ValueWithSource<string> = { value: valueOfVariable(variable, env), source: variable };
  if (variable === own) return key;
  const use = useOf(context.world, found);
  if (isAllowed(context.world, use, own)) return key;
  await askWhetherToSend(context, { ...found, use, own });
  storePermission(context, use);
  return key;
}

/**
 * The use of a target's variable: the real folder of the file, and the origin of the service that receives the value.
 */
function useOf({ files }: World, { file, target }: FoundTarget): AllowedVariable {
  const folder = dirname(files.realPath(file.path));
  return { name: target.apiKey.env, folder, origin: new URL(target.baseUrl).origin };
}

/**
 * Asks for consent at a terminal, unless `--allow-env` gives it. Refuses without a terminal, and if the answer is no.
 */
async function askWhetherToSend(
  { world, around }: Context,
  { file, name, use, own }: FoundTarget & { readonly use: AllowedVariable; readonly own: string },
): Promise<void> {
  const { allowEnv = [] } = around.options;
  if (allowEnv.includes(use.name)) return;
  const where = `${printable(use.folder)}, target ${name}`;
  if (world.isInteractive()) {
    const question = `Send the variable ${use.name} as the API key to ${use.origin} (${where})?`;
    return confirm(world, question, "; nothing was sent");
  }
  const message = `there is no permission to send the variable ${use.name} to ${use.origin} from ${printable(use.folder)}`;
  const problem = file.problem({ path: ["targets", name, "api_key", "env"], message });
  const next = `add --allow-env ${use.name}, or put the key into ${own}, which needs no permission; nothing was sent`;
  throw new Refused({ ...problem, exitCode: EXIT.usage, code: "variable_not_allowed", next });
}
