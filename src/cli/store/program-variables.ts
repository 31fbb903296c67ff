import { dirname } from "node:path";
import type { World } from "../../world.ts";

/**
 * Variables of another service, which the program must not inherit. It does inherit CHECKOUT_DIR, the user's folder
 * (decision 76).
 */
const FOREIGN_VARIABLES = [
  "CHECKOUT_BASE_URL",
  "CHECKOUT_API_KEY",
  "CHECKOUT_STORE_ID",
  "CHECKOUT_SIGNING_SECRET",
  "CHECKOUT_CONTROL_TOKEN",
  "CHECKOUT_ADMIN_TOKEN",
  "CHECKOUT_TARGET",
  "CHECKOUT_EXEC_FOLDER",
  "CHECKOUT_EXEC_URL",
] as const;

type EnvChanges = Readonly<Record<string, string | undefined>>;

export function programVariables({ env }: Pick<World, "env">): EnvChanges {
  return {
    ...Object.fromEntries(FOREIGN_VARIABLES.map((name) => [name, undefined])),
    ...noProxyVariables(env),
  };
}

const LOCAL_HOSTS = ["127.0.0.1", "localhost", "::1"];
const PROXY_VARIABLE = /^(?:https?|all)_proxy$/i;

function noProxyVariables(env: World["env"]): EnvChanges {
  if (!Object.entries(env).some(([name, value]) => PROXY_VARIABLE.test(name) && value !== "")) return {};
  const noProxyHosts = [env["no_proxy"] ?? "", env["NO_PROXY"] ?? ""].flatMap((text) => text.split(","));
  const hosts = new Set([...noProxyHosts.map((host) => host.trim()).filter(Boolean), ...LOCAL_HOSTS]);
  const value = hosts.has("*") ? "*" : [...hosts].join(",");
  return { NO_PROXY: value, no_proxy: value };
}

/**
 * Reserves a temporary folder for the journal, because the working directory may be read-only. The first create makes
 * the folder, so that an `exec` killed earlier leaves none.
 */
export function reserveJournalFolder(
  { temporaryPath, files }: Pick<World, "temporaryPath" | "files">,
  baseUrl: string,
): { readonly variables: EnvChanges } & Disposable {
  const { path, remove } = temporaryPath();
  const variables = { CHECKOUT_EXEC_FOLDER: path, CHECKOUT_EXEC_URL: baseUrl };
  return { variables: files.exists(dirname(path)) ? variables : {}, [Symbol.dispose]: remove };
}
