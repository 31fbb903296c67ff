import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { sha256Of } from "../manifests.ts";
import { run } from "./run.ts";

/** Where and how the two packages are made: another folder, another umask, another user. */
const WAYS = [
  { name: "one", umask: "022", user: "root" },
  { name: "another one 二", umask: "077", user: "nobody" },
] as const;

/** Makes the npm package and the generated pages from two clones, and throws if one file differs. */
export function buildTwice(folder: string): string {
  const made = WAYS.map(({ name, umask, user }) => {
    const clone = join(folder, name);
    run("git", ["clone", "--quiet", "--no-hardlinks", ".", clone]);
    run("cp", ["-a", "node_modules", join(clone, "node_modules")]);
    const out = join(clone, "out");
    const make = `
      import { packTarball } from "./bin/release/tarball.ts";
      import { REPOSITORY } from "./bin/release/owner.ts";
      packTarball("out", REPOSITORY);`;
    const script = `umask ${umask}; export HOME="$PWD/home" npm_config_cache="$PWD/home"; mkdir -p out home; node build.ts && node --input-type=module --eval '${make}'`;
    mkdirSync(out, { recursive: true });
    run("chown", ["-R", user, clone]);
    run("setpriv", ["--reuid", user, "--clear-groups", "sh", "-c", script], clone);
    const [file = ""] = readdirSync(out);
    return sha256Of(join(out, file));
  });
  if (new Set(made).size !== 1) throw new Error(`two builds made different packages: ${made.join(", ")}`);
  return `two folders, users and umasks: sha256 ${made[0]?.slice(0, 16) ?? ""}…`;
}
