import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import type { Machine, TemporaryFile } from "../world.ts";
import { files } from "./files.ts";
import { sea } from "./node.ts";
import { readText } from "./read.ts";

/** Implements `World.machine`. */
export function machine(): Machine {
  const os = process.getBuiltinModule("node:os");
  return {
    nodeVersion: process.versions.node,
    node: { path: process.execPath, isInside: sea().isSea() },
    system: `${os.type()} ${os.release()} ${process.arch}`,
  };
}

/** Implements `World.packageFolder`: the folder above the folder of the program. */
export function packageFolder(): string | undefined {
  const [, program] = process.argv;
  return sea().isSea() || program === undefined ? undefined : join(dirname(realpathSync(program)), "..");
}

/** Implements `World.ownFile`: the built files are in `dist/`. */
export function ownFile(name: string): string | undefined {
  const folder = packageFolder();
  return folder === undefined ? undefined : readText(join(folder, "dist", name));
}

/** The settings folder according to the XDG Base Directory Specification; on Windows, a folder in `APPDATA`. */
export function settingsFolder(): string | undefined {
  const isWindows = process.platform === "win32";
  const named = process.env[isWindows ? "APPDATA" : "XDG_CONFIG_HOME"] ?? "";
  if (isAbsolute(named)) return join(named, "hosted-checkout");
  const home = homeFolder();
  if (home === undefined) return undefined;
  return join(home, isWindows ? join("AppData", "Roaming") : ".config", "hosted-checkout");
}

/** The home folder of this process's user; undefined if the system does not know one. */
function homeFolder(): string | undefined {
  try {
    const home = process.getBuiltinModule("node:os").homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    // The user has no entry in the user database, as in some containers.
    return undefined;
  }
}

/** Implements `World.temporaryFile`. */
export function temporaryFile(name: string, content: string): TemporaryFile {
  const { tmpdir } = process.getBuiltinModule("node:os");
  const folder = mkdtempSync(join(tmpdir(), "checkout-"));
  const path = join(folder, name);
  files.write(path, content);
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
