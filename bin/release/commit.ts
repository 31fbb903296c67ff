import { execFileSync } from "node:child_process";

/** `time` is the only time in a release, so that two builds of a commit have equal bytes. */
export type Commit = { readonly hash: string; readonly time: Date };

/** The checked-out commit. Throws outside a git clone. */
export function readCommit(): Commit {
  const [hash = "", seconds = ""] = execFileSync("git", ["log", "-1", "--format=%H %ct"])
    .toString("utf8")
    .trim()
    .split(" ");
  return { hash, time: new Date(Number(seconds) * 1000) };
}

/** Makes tools use the commit's time instead of the current time. */
export function environmentOf({ time }: Commit): NodeJS.ProcessEnv {
  return { ...process.env, SOURCE_DATE_EPOCH: String(time.getTime() / 1000), TZ: "UTC", LC_ALL: "C" };
}
