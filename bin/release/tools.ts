import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The Debian package of each program that a release, or its check, needs in addition to Node, npm and git. */
const PACKAGES = {
  "aarch64-linux-gnu-strip": "binutils-aarch64-linux-gnu",
  chroot: "coreutils",
  codesign: "a Mac",
  "dpkg-deb": "dpkg",
  ip: "iproute2",
  lintian: "lintian",
  mmdebstrap: "mmdebstrap",
  nsenter: "util-linux",
  "qemu-aarch64-static": "qemu-user-static",
  runc: "runc",
  setpriv: "util-linux",
  tar: "tar",
  umoci: "umoci",
  unshare: "util-linux",
  "x86_64-linux-gnu-strip": "binutils-x86-64-linux-gnu",
  xz: "xz-utils",
} as const;

/** A program that a release, or its check, needs. */
export type Tool = keyof typeof PACKAGES;

/** The programs that `npm run release` needs on a system. */
export function toolsToRelease(platform: NodeJS.Platform): readonly Tool[] {
  if (platform === "darwin") return ["codesign", "xz"];
  return [
    "aarch64-linux-gnu-strip",
    "dpkg-deb",
    "mmdebstrap",
    "tar",
    "umoci",
    "x86_64-linux-gnu-strip",
    "xz",
  ];
}

/** The programs that `npm run release:check` needs. */
export function toolsToCheck(): readonly Tool[] {
  const checkTools = [
    "chroot",
    "ip",
    "lintian",
    "nsenter",
    "qemu-aarch64-static",
    "runc",
    "setpriv",
    "unshare",
  ] as const;
  return [...toolsToRelease("linux"), ...checkTools];
}

/** Throws if one of these programs is missing; the error names all missing programs and their packages. */
export function requireTools(tools: readonly Tool[]): void {
  const missingTools = tools.filter((tool) => !isInstalled(tool));
  if (missingTools.length === 0) return;
  const packages = [...new Set(missingTools.map((tool) => PACKAGES[tool]))].join(" ");
  throw new Error(`${missingTools.join(", ")} cannot be found; on Debian: apt-get install ${packages}`);
}

/** Whether a program is in the PATH. */
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
