import { execFileSync } from "node:child_process";

/** The commit that is released: its hash, and its time, which is the only time in a release. */
export type Commit = { readonly hash: string; readonly time: Date };

/** The checked-out commit. Throws outside a clone. */
export function readCommit(): Commit {
  const [hash = "", seconds = ""] = execFileSync("git", ["log", "-1", "--format=%H %ct"])
    .toString("utf8")
    .trim()
    .split(" ");
  return { hash, time: new Date(Number(seconds) * 1000) };
}

/** The environment in which tools use the time of the commit as the current time. */
export function environmentOf({ time }: Commit): NodeJS.ProcessEnv {
  return { ...process.env, SOURCE_DATE_EPOCH: String(time.getTime() / 1000), TZ: "UTC", LC_ALL: "C" };
}
