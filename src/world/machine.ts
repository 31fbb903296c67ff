import { mkdtempSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import type { Machine, TemporaryFile } from "../world.ts";
import { discardFile, files } from "./files.ts";
import { crypto, sea } from "./node.ts";
import { readText } from "./read.ts";

export function machine(): Machine {
  const os = process.getBuiltinModule("node:os");
  return {
    nodeVersion: process.versions.node,
    node: { path: process.execPath, isEmbedded: sea().isSea() },
    system: `${os.type()} ${os.release()} ${process.arch}`,
  };
}

export function packageFolder(): string | undefined {
  const [, program] = process.argv;
  return sea().isSea() || program === undefined ? undefined : join(dirname(realpathSync(program)), "..");
}

export function readDistFile(name: string): string | undefined {
  const folder = packageFolder();
  return folder === undefined ? undefined : readText(join(folder, "dist", name));
}

export function settingsFolder(): string | undefined {
  const isWindows = process.platform === "win32";
  const configHome = process.env[isWindows ? "APPDATA" : "XDG_CONFIG_HOME"] ?? "";
  if (isAbsolute(configHome)) return join(configHome, "hosted-checkout");
  const home = homeFolder();
  if (home === undefined) return undefined;
  return join(home, isWindows ? join("AppData", "Roaming") : ".config", "hosted-checkout");
}

function homeFolder(): string | undefined {
  try {
    const home = process.getBuiltinModule("node:os").homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}

export function temporaryFile(name: string, content: string): TemporaryFile {
  const { tmpdir } = process.getBuiltinModule("node:os");
  const folder = mkdtempSync(join(tmpdir(), "checkout-"));
  const path = join(folder, name);
  files.write(path, content);
  return { path, remove: () => void discardFile(folder) };
}

export function temporaryPath(): TemporaryFile {
  const path = join(process.getBuiltinModule("node:os").tmpdir(), `checkout-${crypto().randomUUID()}`);
  return { path, remove: () => void discardFile(path) };
}

const SOURCE_POSITION = /(\/?[^()\s][^()]*\.js):(\d+):(\d+)/;

/** Shows positions of the source files in stack traces. A source map is read only when a trace is shown. */
export function enableSourceMaps(): void {
  Error.prepareStackTrace = (error, sites) =>
    [String(error), ...sites.map(String).map((site) => `    at ${toSource(site)}`)].join("\n");
}

function toSource(site: string): string {
  return site.replace(SOURCE_POSITION, (position, file: string, line: string, column: string) => {
    const map = mapAt(`${file}.map`);
    const origin = map?.findOrigin(Number(line), Number(column));
    if (origin === undefined || !("fileName" in origin)) return position;
    return `${origin.fileName.replace(/^(?:\.\.\/)+/, "")}:${origin.lineNumber}:${origin.columnNumber}`;
  });
}

/** Cached, because a map has megabytes and each line of a trace needs one. */
const maps = new Map<string, ReturnType<typeof readMap>>();

function mapAt(path: string): ReturnType<typeof readMap> {
  if (!maps.has(path)) maps.set(path, readMap(path));
  return maps.get(path);
}

function readMap(path: string) {
  const folder = `${process.execPath}/`;
  try {
    const asset = path.startsWith(folder) ? sea().getAsset(path.slice(folder.length), "utf8") : undefined;
    const text = asset ?? (isAbsolute(path) ? readText(path) : undefined);
    if (text === undefined) return undefined;
    const { SourceMap } = process.getBuiltinModule("node:module");
    return new SourceMap(JSON.parse(text));
  } catch {
    return undefined;
  }
}
