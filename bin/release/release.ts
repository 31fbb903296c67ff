// platforms.ts lists the executables, executables.ts builds one, and describeRelease() writes sums and manifests.
// check.ts builds and tests a release.
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import packageJson from "../../package.json" with { type: "json" };
import { bundledPackages } from "../build/bundle.ts";
import { bundleProgram, licensesFile } from "../build/executable.ts";
import { compress } from "./archives.ts";
import { readCommit, type Commit } from "./commit.ts";
import { packDebian } from "./debian.ts";
import { crossBuild } from "./executables.ts";
import { packImage, type ImageInput } from "./image.ts";
import { manifestsOf, sha256Of, sumsOf, type ReleasedFile } from "./manifests.ts";
import { REPOSITORY } from "./owner.ts";
import { NODE_VERSION, releasedHere } from "./platforms.ts";
import { packagesIn, sbomOf } from "./sbom.ts";
import { packTarball } from "./tarball.ts";
import { requireTools, toolsToRelease } from "./tools.ts";

/** Contains the files to publish. */
export const RELEASE_FOLDER = "dist/release";
/** Contains the uncompressed executables and the container image. */
export const UNPACKED_FOLDER = "dist/release-unpacked";
/** An OCI image layout. */
export const IMAGE_LAYOUT = join(UNPACKED_FOLDER, "image");

const { name: program, version } = packageJson;

export const VERSION: string = version;

/**
 * On Linux, builds the npm package, executables for Linux and Windows, Debian packages, the container image and the
 * list of contents; on a Mac, executables for macOS.
 */
export async function makeRelease(tell: (step: string) => void): Promise<void> {
  if (process.versions.node !== NODE_VERSION)
    throw new Error(
      `a release is made with Node ${NODE_VERSION}, and this is ${process.versions.node}: run npm ci`,
    );
  requireTools(toolsToRelease(process.platform));
  const commit = readCommit();
  for (const folder of [RELEASE_FOLDER, UNPACKED_FOLDER]) rmSync(folder, { recursive: true, force: true });
  for (const folder of [RELEASE_FOLDER, UNPACKED_FOLDER]) mkdirSync(folder, { recursive: true });
  await bundleProgram(UNPACKED_FOLDER);
  const images: ImageInput[] = [];
  for (const platform of releasedHere(process.platform)) {
    tell(`executable of ${platform.name}`);
    const executable = crossBuild(UNPACKED_FOLDER, platform);
    compress(executable, { target: join(RELEASE_FOLDER, `checkout-${version}-${platform.name}`), commit });
    const { architecture } = platform;
    if (architecture === undefined) continue;
    tell(`Debian package of ${architecture}`);
    const licenses = licensesFile(UNPACKED_FOLDER);
    packDebian(RELEASE_FOLDER, { version, architecture, executable, licenses, commit });
    images.push({ architecture, executable });
  }
  if (process.platform === "darwin") return;
  tell("container image");
  packImage(IMAGE_LAYOUT, images, commit);
  tell("npm package, list of contents");
  packTarball(RELEASE_FOLDER, REPOSITORY);
  writeContents(RELEASE_FOLDER, commit);
}

/**
 * Writes the list of contents (SBOM) of all executables. Call after `bundleProgram`, which finds the bundled packages.
 */
export function writeContents(folder: string, commit: Commit): void {
  const packages = packagesIn([...bundledPackages, "node_modules/better-sqlite3"]);
  const programs = [
    { name: "node", version: NODE_VERSION, license: "MIT" },
    { name: "sqlite", version: sqliteVersion() },
  ];
  const contents = sbomOf({ name: program, version }, { packages, programs, commit });
  writeFileSync(join(folder, `checkout-${version}.cdx.json`), contents);
}

/** Writes `SHA256SUMS` and the manifests of package managers for the files in the folder, and returns these files. */
export function describeRelease(folder = RELEASE_FOLDER): readonly ReleasedFile[] {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== SUMS)
    .map((entry) => entry.name)
    .toSorted();
  const files = names.map((name) => ({ name, sha256: sha256Of(join(folder, name)) }));
  writeFileSync(join(folder, SUMS), sumsOf(files));
  for (const [path, text] of manifestsOf({ version, files, repository: REPOSITORY })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    chmodSync(join(folder, path), 0o644);
  }
  return files;
}

const SUMS = "SHA256SUMS";

function sqliteVersion(): string {
  const database = new Database(":memory:");
  const versionText = database.prepare("SELECT sqlite_version()").pluck().get();
  database.close();
  return String(versionText);
}
