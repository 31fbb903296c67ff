import { join } from "node:path";
import { build } from "esbuild";
import { WORKER_FILE } from "../../src/core/config/hosted-settings.ts";
import { ALIAS, common } from "./bundle.ts";

/** The entry of the Worker: the service is the default export, as Worker runtimes require. */
const ENTRY = 'export { HostedService as default, StoreObject, IndexObject } from "./src/hosted/worker.ts";';

/** Makes the Worker of a hosted service in a folder. */
export function buildWorker(folder: string): Promise<void> {
  return bundleWorker(ENTRY, join(folder, WORKER_FILE));
}

/** Bundles a Worker: one ES module, without Node's file system and processes, and without better-sqlite3. */
export async function bundleWorker(entry: string, outfile: string): Promise<void> {
  await build({
    ...common,
    stdin: { contents: entry, resolveDir: process.cwd(), sourcefile: "worker-entry.ts" },
    outfile,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:workers", "node:*"],
    alias: ALIAS,
    conditions: ["workerd", "worker"],
  });
}
