import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { repositoryFields } from "./owner.ts";
import { inTemporaryFolder } from "./temporary.ts";

/** The output of `npm pack --json`. */
type Listing = readonly { readonly filename: string; readonly files: readonly { readonly path: string }[] }[];

/**
 * Returns the file name. Packs a copy with fixed file modes, because npm would pack the clone's modes, which depend on
 * the umask.
 */
export function packTarball(folder: string, repository: string): string {
  const pack = (cwd: string, ...options: readonly string[]): Listing =>
    JSON.parse(
      execFileSync("npm", ["pack", "--json", "--ignore-scripts", ...options], {
        cwd,
        maxBuffer: 64 * 1024 * 1024,
      }).toString(),
    ) as Listing;
  return inTemporaryFolder((copy) => {
    for (const { path } of pack(".", "--dry-run")[0]?.files ?? []) {
      mkdirSync(join(copy, dirname(path)), { recursive: true });
      copyFileSync(path, join(copy, path));
      chmodSync(join(copy, path), path === "bin/checkout.cjs" ? 0o755 : 0o644);
    }
    const description = JSON.parse(readFileSync("package.json", "utf8")) as Readonly<Record<string, unknown>>;
    const fullDescription = { ...description, ...repositoryFields(repository) };
    writeFileSync(join(copy, "package.json"), `${JSON.stringify(fullDescription, null, 2)}\n`);
    const [packedTarball] = pack(copy, "--pack-destination", resolve(folder));
    if (packedTarball === undefined) throw new Error("npm pack made no package");
    return packedTarball.filename;
  });
}
