import { keyFault, redactKey } from "../core/credential.ts";
import { isLoopback } from "../core/loopback.ts";
import { displayProxy } from "../core/network/proxy.ts";
import { locateConfig } from "../host/config/find.ts";
import { register, type Context, type Group } from "./command.ts";
import { table } from "./table.ts";
import { atNamedTarget } from "./target/connect.ts";
import { noteTarget } from "./target/notes.ts";
import { shortPath, stateFolderHint } from "../host/folder/state-folder.ts";
import type { ValueWithSource, ServiceOptions } from "./target/surroundings.ts";
import { resolveTarget } from "./target/resolve.ts";
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

/** Shows every setting with its source; sends no request. */
async function runWhoami(context: Context): Promise<number> {
  const { world, printer } = context;
  const resolved = resolveTarget(await atNamedTarget(context));
  const { folder, baseUrl, apiKey, storeId, storeName, proxy, timeoutMs, retries } = resolved;
  const { contradiction, lacksStore } = resolved;
  if (baseUrl.value !== null) noteTarget(context, { url: baseUrl.value });
  const wrong = contradiction ?? lacksStore;
  if (wrong !== undefined) printer.trace(`warning: ${wrong.message}; ${wrong.next}`);
  const within = baseUrl.value === null ? stateFolderHint(world, folder.value) : "";
  if (within !== "") printer.trace(`warning: ${shortPath(world, folder.value)} is no state folder${within}`);
  // Keys of a real service may differ in form from a sandbox's keys.
  const isElsewhere = baseUrl.value !== null && !isLoopback(new URL(baseUrl.value).hostname);
  const fault = apiKey.value === null || isElsewhere ? undefined : keyFault(apiKey.value);
  if (fault !== undefined) printer.trace(`warning: the API key of ${apiKey.source} ${fault}; correct it`);
  const shown: Record<string, ValueWithSource<string | number | null>> = {
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
  return printer.result(output("settings", shown), () =>
    table(
      ["SETTING", "VALUE", "FROM"],
      Object.entries(shown).map(([name, { value, source }]) => [
        name,
        name === "dir" ? shortPath(world, String(value)) : value,
        shortPath(world, source),
      ]),
      { width: printer.width, keep: ["VALUE"] },
    ),
  );
}
