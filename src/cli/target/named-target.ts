import {
  missingVariableReason,
  targetVariable,
  unreadVariableFaults,
  valueOfVariable,
} from "../../core/config/secrets.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import { printableLiteral } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { shortPath } from "../../host/folder/state-folder.ts";
import { isOptionTyped } from "../option-rules.ts";
import { missingCredential, unwrap, Refused, refuseUsage } from "../problem.ts";
import { loadConfig } from "../../host/config/load.ts";
import { withSource, type Surroundings } from "./surroundings.ts";
import { faultOfField } from "../../core/config/field.ts";

/**
 * Uses the target's address, API key and store together; only `--store` overrides one of them (decision 85). A flag
 * overrides a variable; refuses both flags, or both variables.
 */
export async function surroundingsOfNamedTarget(
  { world, around }: Context,
  name: string,
): Promise<Surroundings> {
  const { options } = around;
  if (options.baseUrl !== undefined) {
    const [hasTarget, hasAddress] = [isOptionTyped(world, "target"), isOptionTyped(world, "base-url")];
    if (hasTarget === hasAddress) {
      const [flag, other] = hasTarget ? ["--target", "--base-url"] : ["CHECKOUT_TARGET", "CHECKOUT_BASE_URL"];
      throw refuseUsage(`${flag} and ${other} exclude each other`, "leave one of them out");
    }
    if (hasAddress) return around;
  }
  const loadedConfig = unwrap(await loadConfig(world, options));
  if (loadedConfig === undefined) {
    const message = `there is no checkout.config.json here or in a parent folder to define the target ${printableLiteral(name)}`;
    throw refuseUsage(message, "name the service with --base-url, or create the file");
  }
  const path = shortPath(world, loadedConfig.path);
  const { targets = {} } = loadedConfig.config;
  const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
  if (target === undefined) {
    const knownNames = Object.keys(targets).join(", ") || "none";
    const message = `${path} has no target ${printableLiteral(name)}; it has ${knownNames}`;
    throw refuseUsage(message, `add it to ${path}`);
  }
  const variable = targetVariable(name);
  const missingReason = missingVariableReason(variable, world.env);
  if (missingReason !== undefined) {
    const [unreadVariable] = unreadVariableFaults({ targets: { [name]: target } });
    const problem = loadedConfig.failureOfField(
      unreadVariable ?? faultOfField(["targets", name], missingReason),
    );
    const next = `set ${variable} to a key of that service`;
    throw new Refused({ ...problem, ...missingCredential(problem.message, next) });
  }
  const source = `target ${name} of ${path}`;
  const address = { value: parseBaseUrl(target.baseUrl) ?? target.baseUrl, source };
  return {
    ...around,
    address: () => address,
    apiKey: { value: valueOfVariable(variable, world.env), source: variable },
    storeId: around.storeFlag === undefined ? withSource(target.storeId, source) : undefined,
    target: { ...target, name, source },
  };
}
