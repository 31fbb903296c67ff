import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FULL, report, SEED, seededRandom } from "../support/campaign.ts";
import { run, startSandbox } from "../support/program.ts";
import { HAS_PYTHON } from "../support/shops.ts";
import { sideBySide } from "../support/side-by-side.ts";
import { tempFolder } from "../support/temp-folder.ts";
import {
  KINDS,
  RIGHT_UNSEEN,
  UNSEEN_MISTAKES,
  type UnseenMistake,
  type UnseenShop,
} from "../shops/unseen.ts";

type RunReport = {
  readonly broken: readonly { readonly history: string; readonly got: string }[];
  readonly not_judged: readonly unknown[];
};
type Judged = { readonly code: number | null; readonly histories: readonly string[]; readonly text: string };

const ROOT = join(import.meta.dirname, "../..");
/** Four shops are judged in parallel, because each mostly waits. */
const WORKERS = ["one", "two", "three", "four"];
/** 102 runs of about two minutes, four at a time. */
const TIMEOUT_MS = 10_800_000;

const STATUS_VIEW = { order_view: "/orders/{order_id}", paid_when: '"status": ?"paid"' };
/** A view with the field "paid", which a run expects by default. */
const PAID_VIEW = { order_view: "/order/{order_id}" };
const PROGRAMS: Readonly<Record<UnseenShop, { readonly file: string; readonly view: object }>> = {
  inbox: { file: "inbox.py", view: STATUS_VIEW },
  journal: { file: "journal.mjs", view: STATUS_VIEW },
  poller: { file: "poller.py", view: STATUS_VIEW },
  gateway: { file: "gateway.mjs", view: STATUS_VIEW },
  notifications: { file: "notifications.py", view: STATUS_VIEW },
  coffee: { file: "coffee.mjs", view: PAID_VIEW },
  tickets: { file: "tickets.py", view: PAID_VIEW },
  courses: { file: "courses.mjs", view: PAID_VIEW },
};

/** How a shop creates an order: with a form, or with a command that prints its own order number. */
function creationOf(shop: UnseenShop, mistake: string, command: string): object {
  if (mistake === "own_order_numbers")
    return { create: `${command} create-order`, order_id_of: String.raw`order number (\S+)` };
  if (shop === "courses") return { create: `${command} create`, order_id_of: '"order":"(E-[0-9]+)"' };
  const method = mistake === "keeps_the_key_of_another_method" ? { payment_method: "alipay_plus" } : {};
  return { create: { post: "/buy", form: { order_id: "{order_id}", ...method } } };
}

/** Judges a shop in a folder of its own, with a sandbox of its own. */
async function judge(shop: UnseenShop, mistake: string, options: readonly string[] = []): Promise<Judged> {
  const cwd = tempFolder();
  const { file, view } = PROGRAMS[shop];
  const command = `${file.endsWith(".py") ? "python3" : `"${process.execPath}"`} ${file}`;
  copyFileSync(join(ROOT, "test/shops/unseen", file), join(cwd, file));
  const description = {
    serve: command,
    ...creationOf(shop, mistake, command),
    ...view,
    return_url: "/thanks",
    // After a kill, this shop books a payment 12 s late.
    ...(mistake === "claims_jobs" ? { settle: "15s" } : {}),
  };
  writeFileSync(join(cwd, "checkout.config.json"), JSON.stringify({ shop: description }));
  const sandbox = await startSandbox({ cwd });
  const line = ["checklist", "run", "--trust-config", "--json", ...options];
  const { code, stdout, stderr } = await run(line, { cwd, env: { MISTAKE: mistake } });
  await sandbox.stop("SIGTERM");
  if (stdout === "") return { code, histories: [], text: stderr };
  const { broken, not_judged: notJudged } = JSON.parse(stdout) as RunReport;
  return {
    code,
    histories: broken.map(({ history }) => history),
    text: JSON.stringify({ broken, notJudged }),
  };
}

/** The table of docs/launch.md: how many mistakes of each kind a run finds. */
function tableOf(isFound: (mistake: UnseenMistake) => boolean): string {
  const count = (mistakes: readonly UnseenMistake[]): string =>
    `${mistakes.filter(isFound).length} of ${mistakes.length}`;
  const rows = Object.entries(KINDS).map(
    ([kind, words]) => `| ${words} | ${count(UNSEEN_MISTAKES.filter((one) => one.kind === kind))} |`,
  );
  const all = `| all | ${count(UNSEEN_MISTAKES)} |`;
  return ["| mistakes | found |", "|---|---|", ...rows, all].join("\n");
}

/** The table that docs/launch.md has. */
function tableOfPage(): string {
  const page = readFileSync(join(ROOT, "docs/launch.md"), "utf8");
  return /^\| mistakes \|[^]*?(?=\n\n)/m.exec(page)?.[0] ?? "none";
}

test("docs/launch.md states how many mistakes of the unseen shops a run finds", () => {
  expect(tableOfPage()).toBe(tableOf(({ missedBecause }) => missedBecause === undefined));
});

/** In a campaign all mistakes; in `npm test` one, chosen by the seed, with the history that finds it. */
function chooseMistakes(rows: readonly UnseenMistake[]): readonly UnseenMistake[] {
  if (FULL) return rows;
  const quick = rows.filter(({ only }) => only !== undefined);
  return quick.slice(Math.floor(seededRandom(SEED)() * quick.length)).slice(0, 1);
}

test(
  "a run finds the mistakes of unseen shops that docs/launch.md counts, and none in the right shops",
  async ({ annotate }) => {
    if (!HAS_PYTHON) await annotate("python3 is not installed: only the shops with Node were judged");
    const isRunnable = ({ shop }: { readonly shop: UnseenShop }): boolean =>
      HAS_PYTHON || PROGRAMS[shop].file.endsWith(".mjs");
    const faults: string[] = [];
    const found = new Set<UnseenMistake>();
    const judgeRight = async ({ shop, variant }: (typeof RIGHT_UNSEEN)[number]): Promise<void> => {
      const { code, text } = await judge(shop, variant);
      if (code !== 0) faults.push(`${shop} ${variant} is right, and its run ended with ${code}: ${text}`);
    };
    const judgeMistake = async (row: UnseenMistake): Promise<void> => {
      const { shop, mistake, only, breaksPlain = false, missedBecause } = row;
      const { code, histories, text } = await judge(shop, mistake, FULL ? [] : ["--only", only ?? ""]);
      if (code === 1) found.add(row);
      if (histories[0] === "plain_purchase" && !breaksPlain)
        faults.push(`${shop} ${mistake}: the shop is broken by something else: ${text}`);
      if (code !== (missedBecause === undefined ? 1 : 0))
        faults.push(`${shop} ${mistake}: the run ended with ${code}: ${text}`);
      await annotate(`seed ${SEED}: ${shop} ${mistake}: exit ${code}, ${histories.join(" ")}`);
    };
    const right = FULL ? RIGHT_UNSEEN.filter(isRunnable) : [];
    const broken = chooseMistakes(UNSEEN_MISTAKES.filter(isRunnable));
    const runs = [
      ...right.map((row) => () => judgeRight(row)),
      ...broken.map((row) => () => judgeMistake(row)),
    ];
    await sideBySide(runs, WORKERS, async (begin) => {
      const before = faults.length;
      await begin();
      report(faults.slice(before));
    });
    const table = tableOf((row) => found.has(row));
    expect(faults, `seed ${SEED}; the table of docs/launch.md:\n${table}`).toEqual([]);
    if (FULL && HAS_PYTHON) expect(tableOfPage()).toBe(table);
  },
  TIMEOUT_MS,
);
