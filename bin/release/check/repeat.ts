import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sha256Of } from "../manifests.ts";
import { run } from "./run.ts";

/** Builds in different folders, with different umasks and users, must have equal files. */
const BUILDS = [
  { name: "one", umask: "022", user: "root" },
  { name: "another one 二", umask: "077", user: "nobody" },
] as const;

/** Written by `npm run docs`. */
export const GENERATED_PAGES = ["settings", "errors", "json"].map((name) => `docs/${name}.md`);

/** Runs in a clone: writes the npm package and the list of contents into `out`. */
const MAKE_SCRIPT = `
  import { mkdirSync } from "node:fs";
  import { bundleProgram } from "./bin/build/executable.ts";
  import { readCommit } from "./bin/release/commit.ts";
  import { REPOSITORY } from "./bin/release/owner.ts";
  import { writeContents } from "./bin/release/release.ts";
  import { packTarball } from "./bin/release/tarball.ts";
  packTarball("out", REPOSITORY);
  mkdirSync("scripts");
  await bundleProgram("scripts");
  writeContents("out", readCommit());`;

/**
 * Builds pages, npm package and list of contents in two clones. Throws if a file differs, or if a page differs from the
 * committed page.
 */
export function buildTwice(folder: string): string {
  const builds = BUILDS.map((build) => buildClone(join(folder, build.name), build));
  const names = [...new Set(builds.flatMap((files) => [...files.keys()]))];
  const differentNames = names.filter((name) => new Set(builds.map((files) => files.get(name))).size !== 1);
  if (differentNames.length > 0)
    throw new Error(`two builds made different files: ${differentNames.join(", ")}`);
  return `two folders, users and umasks: the same bytes of ${names.join(", ")}`;
}

/** Returns the hash of each file, by name. */
function buildClone(
  clone: string,
  { umask, user }: Pick<(typeof BUILDS)[number], "umask" | "user">,
): ReadonlyMap<string, string> {
  run("git", ["clone", "--quiet", "--no-hardlinks", ".", clone]);
  run("cp", ["-a", "node_modules", join(clone, "node_modules")]);
  for (const page of GENERATED_PAGES) rmSync(join(clone, page));
  mkdirSync(join(clone, "out"));
  run("chown", ["-R", user, clone]);
  const script = [
    `umask ${umask}`,
    'export HOME="$PWD/home" npm_config_cache="$PWD/home" PATH="$PWD/node_modules/.bin:$PATH"',
    "npm run docs",
    `git diff --exit-code ${GENERATED_PAGES.join(" ")}`,
    "node build.ts",
    `node --input-type=module --eval '${MAKE_SCRIPT}'`,
  ].join(" && ");
  run("setpriv", ["--reuid", user, "--clear-groups", "sh", "-c", script], clone);
  const files = [...readdirSync(join(clone, "out")).map((name) => join("out", name)), ...GENERATED_PAGES];
  return new Map(files.map((name) => [name.replace("out/", ""), sha256Of(join(clone, name))]));
}
