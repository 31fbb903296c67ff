import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Debian packages by the name of the program. */
type Tools = Readonly<Record<string, string>>;

const RELEASE_TOOLS: Tools = {
  "aarch64-linux-gnu-strip": "binutils-aarch64-linux-gnu",
  "dpkg-deb": "dpkg",
  mmdebstrap: "mmdebstrap",
  tar: "tar",
  umoci: "umoci",
  "x86_64-linux-gnu-strip": "binutils-x86-64-linux-gnu",
  xz: "xz-utils",
};

export function toolsToRelease(platform: NodeJS.Platform): Tools {
  return platform === "darwin" ? { codesign: "a Mac", xz: "xz-utils" } : RELEASE_TOOLS;
}

export const CHECK_TOOLS: Tools = {
  ...RELEASE_TOOLS,
  chroot: "coreutils",
  ip: "iproute2",
  lintian: "lintian",
  nsenter: "util-linux",
  "qemu-aarch64-static": "qemu-user-static",
  runc: "runc",
  setpriv: "util-linux",
  unshare: "util-linux",
};

/** The error names all missing programs and their Debian packages. */
export function requireTools(tools: Tools): void {
  const missingTools = Object.entries(tools).filter(([tool]) => !isInstalled(tool));
  if (missingTools.length === 0) return;
  const names = missingTools.map(([tool]) => tool).join(", ");
  const packages = [...new Set(missingTools.map(([, debianPackage]) => debianPackage))].join(" ");
  throw new Error(`${names} cannot be found; on Debian: apt-get install ${packages}`);
}

export function isInstalled(tool: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, tool), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
