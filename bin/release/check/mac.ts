import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bundleProgram } from "../../build/executable.ts";
import { crossBuild } from "../executables.ts";
import { PLATFORMS } from "../platforms.ts";

/** The first four bytes of a 64-bit Mach-O file. */
const MAGIC = 0xfe_ed_fa_cf;
/** By the CPU type in the Mach-O header. */
const PROCESSORS: Readonly<Record<number, string>> = {
  0x0100_0007: "darwin-x64",
  0x0100_000c: "darwin-arm64",
};
/** The Mach-O segment in which Node finds the program. */
const SEGMENT = "NODE_SEA";

/**
 * Builds the macOS executables only to check them. Throws unless each is a Mach-O file with the program and the addon.
 */
export async function describeMac(folder: string): Promise<string> {
  const trialFolder = join(folder, "mac");
  mkdirSync(trialFolder);
  await bundleProgram(trialFolder);
  const descriptions: string[] = [];
  for (const platform of PLATFORMS.filter(({ name }) => name.startsWith("darwin-"))) {
    const bytes = readFileSync(crossBuild(trialFolder, platform));
    if (bytes.readUInt32LE(0) !== MAGIC) throw new Error(`the file of ${platform.name} is no Mach-O file`);
    if (PROCESSORS[bytes.readUInt32LE(4)] !== platform.name)
      throw new Error(`${platform.name} is for another processor`);
    if (!bytes.includes(SEGMENT)) throw new Error(`the file of ${platform.name} has no segment ${SEGMENT}`);
    const addon = readFileSync(join("node_modules/better-sqlite3/prebuilds", `${platform.addon}.node`));
    if (!bytes.includes(addon)) throw new Error(`the file of ${platform.name} lacks its SQLite addon`);
    descriptions.push(`${platform.name} ${(bytes.length / 1e6).toFixed(0)} MB`);
  }
  return `${descriptions.join(", ")}: Mach-O, program and addon inside; not released, because only a Mac can sign them`;
}
