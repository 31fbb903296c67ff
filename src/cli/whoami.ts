import { toIsoOrNull } from "../core/clock.ts";
import { isStoreToken, keyFault, redactKey } from "../core/credential.ts";
import { isLoopback } from "../core/loopback.ts";
import { displayProxy } from "../core/network/proxy.ts";
import { locateConfig } from "../host/config/find.ts";
import { differencesText } from "../core/webhook/dialect-differences.ts";
import { register, type Context, type Group } from "./command.ts";
import { table } from "./table.ts";
import { contextOfNamedTarget, resolveTarget } from "./target/resolve.ts";
import { noteTarget } from "./target/notes.ts";
import { shortPath, stateFolderHint } from "../host/folder/state-folder.ts";
import { callAt } from "./target/call.ts";
import { findSandboxTarget } from "./target/control.ts";
import { readDialect } from "./target/dialect.ts";
import { TOKEN_VARIABLES, type ValueWithSource, type ServiceOptions } from "./target/surroundings.ts";
import { targetOptions } from "./target/options.ts";
import { output } from "./output/output.ts";

export function registerWhoami(group: Group): void {
  register<ServiceOptions>(group, {
    name: "whoami",
    summary: "show the service, store and key that commands use, and the source of each",
    examples: ["checkout whoami", "CHECKOUT_BASE_URL=https://pay.example/v1 checkout whoami"],
    options: targetOptions(),
    run: runWhoami,
  });
}

async function readTokenRights(context: Context): Promise<Record<string, ValueWithSource<string | null>>> {
  const source = TOKEN_VARIABLES.control;
  const target = findSandboxTarget(context);
  if (target === undefined) return { role: { value: null, source } };
  const { role, storeId, expiresAt } = await callAt(context, target, { name: "showAccess", body: undefined });
  return {
    role: { value: role, source },
    role_store_id: { value: storeId, source },
    role_expires_at: { value: toIsoOrNull(expiresAt), source },
  };
}

async function runWhoami(context: Context): Promise<number> {
  const { world, printer } = context;
  const target = resolveTarget(await contextOfNamedTarget(context));
  const { folder, baseUrl, apiKey, storeId, storeName, proxy, timeoutMs, retries } = target;
  const { contradiction, lacksStore } = target;
  if (baseUrl.value !== null) noteTarget(context, baseUrl.value);
  const problem = contradiction ?? lacksStore;
  if (problem !== undefined) printer.trace(`warning: ${problem.message}; ${problem.next}`);
  const hint = baseUrl.value === null ? stateFolderHint(world, folder.value) : "";
  if (hint !== "") printer.trace(`warning: ${shortPath(world, folder.value)} is no state folder${hint}`);
  // Only keys for this machine are checked, because keys of a real service may have another form.
  const isRemote = baseUrl.value !== null && !isLoopback(new URL(baseUrl.value).hostname);
  const fault = apiKey.value === null || isRemote ? undefined : keyFault(apiKey.value);
  if (fault !== undefined) printer.trace(`warning: the API key of ${apiKey.source} ${fault}; correct it`);
  const fields: Record<string, ValueWithSource<string | number | null>> = {
    base_url: baseUrl,
    api_key: { ...apiKey, value: apiKey.value === null ? null : redactKey(apiKey.value) },
    store_id: storeId,
    store_name: storeName,
    proxy: { ...proxy, value: proxy.value === null ? null : displayProxy(proxy.value) },
    dir: folder,
    config: locateConfig(world),
    timeout_ms: timeoutMs,
    retries,
  };
  const dialect = baseUrl.value === null ? undefined : await readDialect(context, baseUrl.value);
  if (dialect !== undefined)
    fields["dialect"] = { value: differencesText(dialect), source: "the store, since it was created" };
  if (isStoreToken(world.env[TOKEN_VARIABLES.control] ?? ""))
    Object.assign(fields, await readTokenRights(context));
  return printer.result(output("settings", fields), () =>
    table(
      ["SETTING", "VALUE", "FROM"],
      Object.entries(fields).map(([name, { value, source }]) => [
        name,
        name === "dir" ? shortPath(world, String(value)) : value,
        shortPath(world, source),
      ]),
      { width: printer.width, keep: ["VALUE"] },
    ),
  );
}
