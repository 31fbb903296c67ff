import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { HOSTED_FILES, SECRET_BINDINGS, workerdConfig } from "./workerd-config.ts";

const ROOT = join(import.meta.dirname, "../..");
const MAX_START_MS = 20_000;

/** A hosted service in workerd, and what its operator knows. */
export type HostedService = {
  readonly origin: string;
  readonly controlToken: string;
  readonly adminToken: string;
  /** Calls an operation of the control API, and returns its data. Throws if it is refused. */
  readonly control: (path: string, body?: unknown) => Promise<Readonly<Record<string, unknown>>>;
  /** What workerd printed. */
  readonly printed: () => string;
  /** Kills the process as SIGKILL does, and starts it again on the same state and port. */
  readonly killAndRestart: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** A store of a hosted service. */
export type HostedStore = { readonly storeId: string; readonly merchantId: string; readonly apiKey: string };

/** Starts `workerd serve` with the built Worker, in a folder. */
export async function startHosted(
  folder: string,
  { allowTargets = ["127.0.0.1"] }: { readonly allowTargets?: readonly string[] } = {},
): Promise<HostedService> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const [controlToken, adminToken] = ["svc_control_", "svc_admin_"].map(
    (prefix) => prefix + randomBytes(24).toString("hex"),
  ) as [string, string];
  const settings = { port, origin, allowTargets, dataDir: folder, pid: 1, startedAt: 0, version: "0.1.0" };
  mkdirSync(join(folder, HOSTED_FILES.objects));
  copyFileSync(join(ROOT, "dist/hosted-worker.mjs"), join(folder, HOSTED_FILES.worker));
  writeFileSync(
    join(folder, HOSTED_FILES.config),
    workerdConfig({ port, settings, allowAddresses: allowTargets }),
  );
  const env = {
    [SECRET_BINDINGS.CONTROL_TOKEN]: controlToken,
    [SECRET_BINDINGS.ADMIN_TOKEN]: adminToken,
    [SECRET_BINDINGS.MASTER_KEY]: randomBytes(32).toString("hex"),
  };
  let printed = "";
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(workerd(), ["serve", HOSTED_FILES.config], {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => (printed += String(part)));
    await untilReady(origin, child, () => printed);
    return child;
  };
  let child = await start();
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  };
  return {
    origin,
    controlToken,
    adminToken,
    control: (path, body) => callControl({ origin, controlToken }, path, body),
    printed: () => printed,
    killAndRestart: async () => {
      await kill();
      child = await start();
    },
    stop: kill,
  };
}

/** Creates a store of a hosted service. */
export async function createHostedStore({ control }: HostedService, name = "A store"): Promise<HostedStore> {
  const made = await control("/stores", { name });
  return {
    storeId: String(made["store_id"]),
    merchantId: String(made["merchant_id"]),
    apiKey: String(made["api_key"]),
  };
}

async function callControl(
  { origin, controlToken }: Pick<HostedService, "origin" | "controlToken">,
  path: string,
  body: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${origin}/__sandbox${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { Authorization: `Bearer ${controlToken}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { readonly ok: boolean; readonly data: Record<string, unknown> };
  if (!answer.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer.data;
}

/** The program of this platform, without the script around it. */
function workerd(): string {
  const [path] = globSync("node_modules/@cloudflare/workerd-*/bin/workerd*", { cwd: ROOT });
  if (path === undefined) throw new Error("workerd is not installed: type npm ci");
  return join(ROOT, path);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilReady(origin: string, child: ChildProcess, printed: () => string): Promise<void> {
  for (const until = performance.now() + MAX_START_MS; performance.now() < until;) {
    if (child.exitCode !== null) throw new Error(`workerd ended: ${printed()}`);
    const answer = await fetch(`${origin}/healthz`).catch(() => undefined);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`workerd is not ready: ${printed()}`);
}
