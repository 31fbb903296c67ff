import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeRelease, makeRelease, RELEASE_FOLDER, UNPACKED_FOLDER, VERSION } from "../release.ts";
import { tryCompose } from "./compose.ts";
import { walkJourneys } from "./journeys.ts";
import { describeMac } from "./mac.ts";
import { buildTwice } from "./repeat.ts";
import { run } from "./run.ts";
import { tryShops } from "./shops.ts";
import { lintTarball, tryOtherUser, tryTarball } from "./tarball.ts";
import { makeDebian, tryDebianPackage, tryExecutable, tryImage } from "./debian.ts";
import { tryEmulated } from "./emulated.ts";

/** `detail`: what the check observed. `failure`: why the check failed. */
export type Row = { readonly name: string; readonly detail: string; readonly failure?: string };

/** Ends early if the release or the Debian system could not be made, because later checks need them. */
export async function checkRelease(tell: (step: string) => void): Promise<readonly Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "checkout-release-"));
  // Some checks run as another user.
  chmodSync(folder, 0o755);
  const rows: Row[] = [];
  const check = async (name: string, attempt: () => Promise<string> | string): Promise<boolean> => {
    tell(name);
    try {
      rows.push({ name, detail: await attempt() });
      return true;
    } catch (error) {
      rows.push({ name, detail: "", failure: error instanceof Error ? error.message : String(error) });
      return false;
    }
  };
  try {
    const isMade = await check("release", async () => {
      await makeRelease(tell);
      return `${describeRelease().length} files`;
    });
    if (!isMade) return rows;
    await check("sums", () => run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], RELEASE_FOLDER) || "ok");
    await check("files for macOS", () => describeMac(folder));
    await check("npm package, contents, pages: made twice", () => buildTwice(folder));
    const tarball = join(RELEASE_FOLDER, `hosted-checkout-${VERSION}.tgz`);
    await check("npm package: publint, attw", () => lintTarball(tarball));
    await check("npm package: Node and package managers", () => tryTarball(folder, tarball));
    await check("npm package: another user", () => tryOtherUser(folder, tarball));
    await check("npm package: the whole shops in five languages", () => tryShops(folder, tarball));
    const executable = join(UNPACKED_FOLDER, "checkout-linux-x64");
    await check("every form: every journey", () => walkJourneys({ tarball, executable }));
    const debian = join(folder, "debian");
    if (!(await check("a Debian without Node", () => makeDebian(debian)))) return rows;
    await check("executable: up to a shop that is ready", () => tryExecutable(debian, executable));
    const deb = join(RELEASE_FOLDER, `hosted-checkout_${VERSION}_amd64.deb`);
    await check("Debian package: lintian", () => lint(deb));
    await check("Debian package: up to a shop that is ready", () => tryDebianPackage(debian, deb));
    await check("image: up to a shop that is ready", () => tryImage(debian, { folder, executable }));
    await check("image and a shop: two containers", () => tryCompose(folder, executable));
    await check("executable of arm64, emulated", () => tryEmulated(folder));
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Throws if lintian reports an error; warnings are only counted. */
function lint(deb: string): string {
  const warnings = run("lintian", ["--allow-root", "--fail-on", "error", "--no-tag-display-limit", deb]);
  return warnings === "" ? "nothing" : `${warnings.split("\n").length} warnings`;
}
