import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { IMAGE_USER_ID } from "../image.ts";
import { run } from "./run.ts";

const TESTS = ["run", "--config", "vitest.campaign.config.ts", "test/real/journeys.test.ts"] as const;

type ReleasedFiles = { readonly tarball: string; readonly executable: string };

export function walkJourneys({ tarball, executable }: ReleasedFiles): string {
  const releaseVariables = [
    `RELEASED_TARBALL=${resolve(tarball)}`,
    `RELEASED_EXECUTABLE=${resolve(executable)}`,
  ];
  run("env", ["CAMPAIGN=full", ...releaseVariables, "node_modules/.bin/vitest", ...TESTS]);
  return "sources, npm package, executable: every journey, every link of the portal, all drills";
}

/** Uses the program that is installed in `root`, as an unprivileged user. */
export function walkJourneysIn(root: string, name: string): string {
  const folder = mkdtempSync(join(resolve(root), "journeys-"));
  chownSync(folder, IMAGE_USER_ID, IMAGE_USER_ID);
  const workFolder = `/${basename(folder)}`;
  const user = [`--setuid=${IMAGE_USER_ID}`, `--setgid=${IMAGE_USER_ID}`];
  const form = {
    name,
    folder,
    command: [
      "/usr/bin/unshare",
      `--root=${resolve(root)}`,
      `--wd=${workFolder}`,
      ...user,
      "/usr/bin/checkout",
    ],
    shell: existsSync(join(root, "bin/sh")) ? "/usr/bin/checkout" : null,
    variables: { PATH: "/usr/bin:/bin", HOME: workFolder, TMPDIR: workFolder },
  };
  for (const mountPoint of ["proc", "dev"]) mkdirSync(join(root, mountPoint), { recursive: true });
  const script = `mount -t proc proc '${root}/proc' && mount --bind /dev '${root}/dev' && exec "$@"`;
  const walk = ["env", `FORM_IN_ROOT=${JSON.stringify(form)}`, "node_modules/.bin/vitest", ...TESTS];
  try {
    run("unshare", ["--mount", "sh", "-c", script, "sh", ...walk, "--testNamePattern", "every journey"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return `every journey, as user ${IMAGE_USER_ID}`;
}
