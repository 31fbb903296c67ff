import { spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { begin } from "./program.ts";
import { tempFolder } from "./temp-folder.ts";

/** The careful shops of test/shops/careful, by their language: how each is served, and how it makes a purchase. */
const CAREFUL_COMMANDS = {
  /** Takes its time before and after each booking. */
  node: ["node slow.js", "node slow.js create-order"],
  /** Has a queue. */
  python: ["python3 queued.py", "python3 queued.py create-order"],
  /** Polls. */
  php: ["php polls.php poll & exec php -S 127.0.0.1:$PORT polls.php", "php polls.php create-order"],
} as const satisfies Readonly<Record<string, readonly [serve: string, purchase: string]>>;

/** A language of a careful shop. */
export type CarefulLanguage = keyof typeof CAREFUL_COMMANDS;
/** The languages of the careful shops. */
export const CAREFUL_LANGUAGES = Object.keys(CAREFUL_COMMANDS) as readonly CarefulLanguage[];

const LOOK_MS = 200;

/**
 * Explores a careful shop as a user does, until at least so many schedules were run, and stops the exploration as Ctrl-C
 * does. Returns its exit code, the number of schedules, and the broken ones, which nothing has confirmed yet. `isBusy`:
 * another process uses a core all the while.
 */
export async function exploreCareful(
  language: CarefulLanguage,
  {
    schedules,
    seed,
    isBusy,
  }: { readonly schedules: number; readonly seed: string; readonly isBusy: boolean },
): Promise<readonly [code: number | null, ran: number, broken: string]> {
  const cwd = tempFolder();
  cpSync(join(import.meta.dirname, "../shops/careful"), cwd, { recursive: true });
  if (isBusy) keepBusy();
  const [serve, purchase] = CAREFUL_COMMANDS[language];
  const options = ["--seed", seed, "--budget", "2h", "--serve", serve, "--receiver-path", "/hooks"];
  const view = ["--order-view", "/orders/{order_id}"];
  const running = begin(["explore", ...options, ...view, "--", ...purchase.split(" ")], { cwd });
  while (running.process.exitCode === null && ranSoFar(running.output.stderr) < schedules)
    await sleep(LOOK_MS);
  const code = await running.stop("SIGINT");
  const told = /interrupted after (\d+) schedules; broken so far: (.*)/.exec(running.output.stderr);
  return [code, Number(told?.[1]), told?.[2] ?? running.output.stderr];
}

/** The number of schedules in the last line of the progress. */
function ranSoFar(stderr: string): number {
  return Math.max(
    0,
    ...[...stderr.matchAll(/^explore: (\d+) schedules, \d+ broken/gm)].map(([, ran]) => Number(ran)),
  );
}

/** Uses a core until the test ends. */
function keepBusy(): void {
  const child = spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
}
