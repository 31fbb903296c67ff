import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { PROGRAM, type Result, type RunOptions } from "./program.ts";

/** Whether this machine has strace, which can make the system calls of a program fail. */
export const HAS_STRACE = spawnSync("strace", ["-V"]).status === 0;

/** The system calls that change or flush files and folders, open them, or read databases. */
const CALLS = [
  "fsync",
  "fdatasync",
  "write",
  "pwrite64",
  "pread64",
  "ftruncate",
  "openat",
  "mkdir",
  "rename",
  "link",
  "unlink",
  "rmdir",
] as const;

/** Errors with which each call fails on real disks. */
const ERRORS: Readonly<Record<(typeof CALLS)[number], readonly string[]>> = {
  fsync: ["EIO", "ENOSPC"],
  fdatasync: ["EIO", "ENOSPC"],
  write: ["EIO", "ENOSPC"],
  pwrite64: ["EIO", "ENOSPC"],
  pread64: ["EIO"],
  ftruncate: ["EIO", "ENOSPC"],
  openat: ["EIO", "ENOSPC", "EMFILE", "EACCES"],
  mkdir: ["EIO", "ENOSPC"],
  rename: ["EIO", "ENOSPC"],
  link: ["EIO", "ENOSPC"],
  unlink: ["EIO"],
  rmdir: ["EIO"],
};

/** One system call that fails: the n-th of its name in a thread; with `lasting`, all later ones too. */
export type Fault = {
  readonly call: string;
  readonly error: string;
  readonly nth: number;
  readonly lasting: boolean;
};

/** A program under strace, which is not its parent: the signals and the exit code are the program's own. */
type Traced = {
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** Settles when the program has printed its first line, or has ended. */
  readonly firstLine: Promise<void>;
  readonly ended: Promise<Result>;
  readonly kill: (signal: "SIGTERM") => void;
};

/** Runs the real binary, or another Node program, under strace with the given arguments for strace. */
export function runTraced(
  args: readonly string[],
  {
    cwd,
    env,
    strace,
    program = PROGRAM,
  }: RunOptions & { readonly strace: readonly string[]; readonly program?: string },
): Traced {
  const clean = Object.entries(process.env).filter(([name]) => !/^(CHECKOUT_|CI$|VITEST)/.test(name));
  // With `--seccomp-bpf`, strace stops the program only at the traced calls.
  const child = spawn(
    "strace",
    ["-D", "-f", "--seccomp-bpf", ...strace, process.execPath, program, ...args],
    {
      cwd,
      env: { ...Object.fromEntries(clean), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const ended = (once(child, "close") as Promise<[number | null]>).then(([code]) => ({ code, ...output }));
  onTestFinished(() => void child.kill("SIGKILL"));
  const printed = async (): Promise<void> => {
    while (!output.stdout.includes("\n"))
      await Promise.race([once(child.stdout, "data"), once(child, "close")]);
  };
  return {
    output,
    firstLine: Promise.race([printed(), ended.then(() => undefined)]),
    ended,
    kill: (signal) => void child.kill(signal),
  };
}

/** The arguments with which strace writes the calls of a run into a file. */
export function noteArgs(log: string): readonly string[] {
  return ["-y", "-s", "300", "-o", log, "-e", `trace=${CALLS.join(",")}`, "-e", "signal=none"];
}

/** The arguments with which strace makes one call fail, and later calls too if the fault lasts. */
export function injectArgs({ call, error, nth, lasting }: Fault): readonly string[] {
  const when = `${nth}${lasting ? "+" : ""}`;
  return ["-o", "/dev/null", ...failArgs(call, `${error}:when=${when}`)];
}

/**
 * The arguments with which strace makes a call fail with an error: every time, or as a `:when=` after the error states.
 */
export function failArgs(call: string, error: string): readonly string[] {
  return ["-e", `trace=${call}`, "-e", `inject=${call}:error=${error}`];
}

/** The faults to inject into the calls that a logged run made on files of a folder. */
export function faultsOf(log: string, folder: string): readonly Fault[] {
  const counts = new Map<string, number>();
  return readFileSync(log, "utf8")
    .split("\n")
    .flatMap((line): readonly Fault[] => {
      const [, thread = "", call = ""] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
      const known = CALLS.find((name) => name === call);
      if (known === undefined) return [];
      const nth = (counts.get(`${thread} ${call}`) ?? 0) + 1;
      counts.set(`${thread} ${call}`, nth);
      if (!line.includes(folder)) return [];
      // If every later opening or write failed, Node's own files and pipes would fail too.
      const lengths = known === "openat" || known === "write" ? [false] : [false, true];
      return ERRORS[known].flatMap((error) => lengths.map((lasting) => ({ call, error, nth, lasting })));
    });
}
