import { spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { run } from "./program.ts";
import { tempFolder } from "./temp-folder.ts";

/**
 * The careful shops of test/shops/careful, by language: the command that serves each, and the command of a purchase.
 */
const CAREFUL_COMMANDS = {
  /** Waits before and after each booking. */
  node: ["node slow.js", "node slow.js create-order"],
  /** Has a queue. */
  python: ["python3 queued.py", "python3 queued.py create-order"],
  /** Polls. Needs PHP's pdo_sqlite. */
  php: ["php polls.php poll & exec php -S 127.0.0.1:$PORT polls.php", "php polls.php create-order"],
} as const satisfies Readonly<Record<string, readonly [serve: string, purchase: string]>>;

type CarefulLanguage = keyof typeof CAREFUL_COMMANDS;
export const CAREFUL_LANGUAGES = Object.keys(CAREFUL_COMMANDS) as readonly CarefulLanguage[];

/** The budget of one exploration, which tries single faults and then pairs by its seed. */
const BUDGET = "10m";

type Result = { readonly schedules: number; readonly broken: readonly { readonly invariant: string }[] };

/**
 * Explores a careful shop as a user does, with one seed after the other, until at least this many schedules were run.
 * Returns their number and the invariants that were found broken and confirmed. `isBusy`: another process keeps a core
 * busy.
 */
export async function exploreCarefulShop(
  language: CarefulLanguage,
  {
    schedules,
    seed,
    isBusy,
  }: { readonly schedules: number; readonly seed: number; readonly isBusy: boolean },
): Promise<{ readonly ran: number; readonly broken: readonly string[] }> {
  const cwd = tempFolder();
  cpSync(join(import.meta.dirname, "../shops/careful"), cwd, { recursive: true });
  if (isBusy) keepBusy();
  const [serve, purchase] = CAREFUL_COMMANDS[language];
  const options = ["--json", "--budget", BUDGET, "--serve", serve, "--receiver-path", "/hooks"];
  const view = ["--order-view", "/orders/{order_id}"];
  const broken: string[] = [];
  let ran = 0;
  for (let nth = 0; ran < schedules; nth += 1) {
    const line = ["explore", "--seed", String(seed + nth), ...options, ...view, "--", ...purchase.split(" ")];
    const { stdout, stderr } = await run(line, { cwd });
    if (stdout === "") throw new Error(stderr);
    const result = JSON.parse(stdout) as Result;
    ran += result.schedules;
    broken.push(...result.broken.map(({ invariant }) => `${invariant}, seed ${seed + nth}`));
  }
  return { ran, broken };
}

/** Uses a core until the test ends. */
function keepBusy(): void {
  const child = spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
}
