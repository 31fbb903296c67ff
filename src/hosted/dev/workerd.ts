import { basename, dirname, join } from "node:path";
import type { FirstStore } from "../shared/settings.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { quote } from "../../core/shell/quote.ts";
import type { World } from "../../world.ts";
import { stateFile } from "../../host/folder/files.ts";
import { SECRET_BINDINGS, WORKERD_VERSION } from "./workerd-config.ts";

export type ServiceSecrets = {
  readonly controlToken: string;
  readonly adminToken: string;
  readonly masterKey: Uint8Array;
  readonly firstStore: FirstStore | undefined;
};

type ProgramWorld = Pick<World, "files" | "cwd" | "packageFolder">;

/** The longest time that Node's timers allow, because only the user ends a service. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const KEPT_OUTPUT_BYTES = 4096;
/** workerd's control message when a socket is open. */
const LISTENING_MESSAGE = '{"event":"listen"';
/** The beginning of workerd's message on stderr when a socket could not be opened. */
const SOCKET_FAILURE = 'Socket "http":';

export function runWorkerd(
  world: ProgramWorld & Pick<World, "run">,
  { folder, signal, ...secrets }: ServiceSecrets & { readonly folder: string; readonly signal: AbortSignal },
) {
  const { files } = world;
  const logFile = stateFile(folder, "log");
  const logSize = files.size(logFile) ?? 0;
  const [config, log] = [stateFile(folder, "workerdConfig"), logFile].map((path) => quote(path));
  // npx runs in the state folder, which other users cannot enter, and without install scripts.
  const npx = `npx --yes --ignore-scripts --prefix ${quote(folder)} workerd@${WORKERD_VERSION}`;
  const program = findWorkerd(world) ?? npx;
  const listening = Promise.withResolvers<"listening">();
  let output = "";
  const result = world.run({
    commandLine: `${program} serve ${config} --control-fd=1 2>> ${log}`,
    onOutput: (text) => {
      output = (output + text).slice(-KEPT_OUTPUT_BYTES);
      if (output.includes(LISTENING_MESSAGE)) listening.resolve("listening");
    },
    env: {
      [SECRET_BINDINGS.CONTROL_TOKEN]: secrets.controlToken,
      [SECRET_BINDINGS.ADMIN_TOKEN]: secrets.adminToken,
      [SECRET_BINDINGS.MASTER_KEY]: Buffer.from(secrets.masterKey).toString("hex"),
      [SECRET_BINDINGS.FIRST_STORE]: JSON.stringify(secrets.firstStore ?? null),
    },
    timeoutMs: NO_TIMEOUT_MS,
    maxOutputBytes: KEPT_OUTPUT_BYTES,
    signal,
  });
  const isPortTaken = (): boolean =>
    Buffer.from(files.readFrom(logFile, logSize)?.bytes ?? []).includes(SOCKET_FAILURE);
  return { listening: listening.promise, result, isPortTaken };
}

function findWorkerd(world: ProgramWorld): string | undefined {
  const { files } = world;
  const folder = world.packageFolder();
  const folders = folder === undefined ? [] : [join(folder, "node_modules"), dirname(folder)];
  const ownModules = folders
    .filter((candidate) => basename(candidate) === "node_modules")
    .find((candidate) => workerdIn(files, candidate));
  const projectFolder = findProjectFolder(world);
  const isTrusted = projectFolder !== undefined && untrustedReason(files, projectFolder) === undefined;
  const modulesFolder = ownModules ?? (isTrusted ? join(projectFolder, "node_modules") : undefined);
  return modulesFolder && workerdIn(files, modulesFolder);
}

export function projectTrustFault(world: ProgramWorld): string | undefined {
  const projectFolder = findProjectFolder(world);
  if (projectFolder === undefined || findWorkerd(world) !== undefined) return undefined;
  const isInstalled = workerdIn(world.files, join(projectFolder, "node_modules")) !== undefined;
  return isInstalled ? untrustedReason(world.files, projectFolder) : undefined;
}

function findProjectFolder({ files, cwd }: ProgramWorld): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (files.exists(join(folder, "package.json"))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

function workerdIn(files: World["files"], modulesFolder: string): string | undefined {
  const packageJson = parseJson(files.read(join(modulesFolder, "workerd/package.json")) ?? "");
  if (!isRecord(packageJson) || packageJson["version"] !== WORKERD_VERSION) return undefined;
  const platformsFolder = join(modulesFolder, "@cloudflare");
  const names = files.exists(platformsFolder) ? files.list(platformsFolder) : [];
  const packageName = names.find((name) => name.startsWith("workerd-"));
  return packageName && quote(join(platformsFolder, packageName, "bin/workerd"));
}

function untrustedReason(files: World["files"], projectFolder: string): string | undefined {
  const modulesFolder = join(projectFolder, "node_modules");
  const platformsFolder = join(modulesFolder, "@cloudflare");
  const packageNames = files.exists(platformsFolder) ? files.list(platformsFolder) : [];
  const paths = [projectFolder, modulesFolder, join(modulesFolder, "workerd"), platformsFolder];
  const programs = packageNames.flatMap((name) =>
    ["", "bin", "bin/workerd"].map((path) => join(platformsFolder, name, path)),
  );
  for (const path of [...paths, ...programs]) {
    const facts = files.stat(path);
    if (facts === undefined) continue;
    if (facts.kind === "link") return `${path} is a symbolic link`;
    if (!facts.isOwn) return `${path} belongs to another user`;
    if (facts.writableBy === "others") return `${path} can be written by other users`;
  }
  return undefined;
}
