import { join } from "node:path";
import { build } from "esbuild";
import { WORKER_FILE } from "../../src/core/config/hosted-settings.ts";
import { ALIAS, common } from "./bundle.ts";

/** Its entry: the service is the default export, as the runtimes of Workers ask for. */
const ENTRY = 'export { HostedService as default, StoreObject, IndexObject } from "./src/hosted/worker.ts";';

/** Makes the Worker in a folder: one ES module without Node's file system, processes and SQLite. */
export async function buildWorker(folder: string): Promise<void> {
  await build({
    ...common,
    stdin: { contents: ENTRY, resolveDir: process.cwd(), sourcefile: "worker-entry.ts" },
    outfile: join(folder, WORKER_FILE),
    format: "esm",
    target: "es2024",
    external: ["cloudflare:workers", "node:*"],
    alias: ALIAS,
    conditions: ["workerd", "worker"],
  });
}
