import { join } from "node:path";
import { build, type Plugin } from "rolldown";
import { WORKER_FILE } from "../../src/core/config/hosted-settings.ts";
import { common, oneFile } from "./bundle.ts";

/** The entry of the Worker: the service is the default export, as Worker runtimes require. */
const ENTRY = 'export { HostedService as default, StoreObject, IndexObject } from "./src/hosted/worker.ts";';

/** Makes the Worker of a hosted service in a folder. */
export function buildWorker(folder: string): Promise<void> {
  return bundleWorker(ENTRY, join(folder, WORKER_FILE));
}

/** Bundles a Worker: one ES module, without Node's file system and processes, and without better-sqlite3. */
export async function bundleWorker(entry: string, file: string): Promise<void> {
  const input = join(process.cwd(), "worker-entry.ts");
  const textOfEntry: Plugin = {
    name: "entry",
    resolveId: (id) => (id === input ? id : null),
    load: (id) => (id === input ? entry : null),
  };
  await build({
    ...common,
    input,
    plugins: [textOfEntry, ...common.plugins],
    external: ["cloudflare:workers", /^node:/],
    resolve: { ...common.resolve, conditionNames: ["workerd", "worker", "import", "default"] },
    transform: { ...common.transform, target: "es2024" },
    output: { ...oneFile, file, format: "es" },
  });
}
