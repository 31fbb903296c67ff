import { join } from "node:path";
import { build } from "rolldown";
import { WORKER_FILE } from "../../src/host/folder/files.ts";
import { baseOptions, singleFileOptions } from "./bundle.ts";

export function buildWorker(folder: string): Promise<void> {
  return bundleWorker("src/hosted/worker.ts", "HostedService", join(folder, WORKER_FILE));
}

export async function bundleWorker(input: string, service: string, file: string): Promise<void> {
  // Worker runtimes require that the service is the default export.
  const footer = `export { ${service} as default };`;
  await build({
    ...baseOptions,
    input,
    external: ["cloudflare:workers", /^node:/],
    resolve: { ...baseOptions.resolve, conditionNames: ["workerd", "worker", "import", "default"] },
    transform: { ...baseOptions.transform, target: "es2024" },
    output: { ...singleFileOptions, file, format: "es", footer },
  });
}
