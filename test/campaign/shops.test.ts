import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { FULL, SEED, seededRandom } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import type { Result } from "../support/program.ts";
import { launchSteps } from "../support/launch-steps.ts";
import { sideBySide } from "../support/side-by-side.ts";
import { HAS_PYTHON, serveShop, type ShopStack, type ServedShop } from "../support/shops.ts";
import { englishOf, factOf, FACT_TABLES } from "../../src/core/readiness/drills/said.ts";
import type { ItemName } from "../../src/core/readiness/names.ts";
import { BREAKAGES, type Breakage } from "../shops/breakages.ts";

/** The verdict and the open items of the final checklist, and the causes that the drills named. */
type Launch = {
  readonly code: number | null;
  readonly verdict: string;
  readonly open: readonly { readonly name: string; readonly status: string; readonly reason: string }[];
  readonly causes: readonly string[];
};

type JudgedFailure = { readonly cause: string | null };
type RunReport = {
  readonly broken: readonly JudgedFailure[];
  readonly items: readonly { readonly failures: readonly JudgedFailure[] }[];
};
type Report = {
  readonly verdict: string;
  readonly items: readonly { readonly name: string; readonly status: string; readonly reason: string }[];
};

const MAKES: readonly ShopStack[] = HAS_PYTHON ? ["express", "python"] : ["express"];
/** Four shops are launched in parallel, because each mostly waits. */
const WORKERS = ["one", "two", "three", "four"];

const STEPS: readonly (readonly string[])[] = launchSteps();
/** The refusal of a drill whose shop created no order: the item stays open. */
const NO_ORDER = '"code":"no_order_created"';
const READY: Launch = { code: 0, verdict: "ready", open: [], causes: [] };

/** The part of a checklist run that judges each item, for items that one part judges alone. */
const PARTS: Partial<Record<ItemName, string>> = {
  idempotency_replay: "idempotency",
  return_origins: "browser-return",
};

/** Types the commands of docs/launch.md for a new shop; with `part`, runs only that part of the checklist. */
async function launch(shop: ServedShop, part?: string): Promise<Launch> {
  const causes: string[] = [];
  const type = async (step: readonly string[]): Promise<Result> => {
    const run = part === undefined || step[1] !== "run" ? step : ["checklist", "run", part, ...step.slice(2)];
    const words = run.map((word) =>
      word.replaceAll("http://localhost:3000", shop.origin).replace("node create-order.js", shop.createOrder),
    );
    const finished = await shop.type([...words, "--json"]);
    if (finished.stderr.includes(NO_ORDER)) return finished;
    // A failed drill or checklist prints its result.
    if (finished.code !== 0 && finished.stdout === "")
      throw new Error(`${words.join(" ")}: ${finished.stderr}`);
    if (step[1] === "run") causes.push(...causesIn(finished.stdout));
    return finished;
  };
  const before = await type(["checklist"]);
  expect([before.code, before.stdout]).toEqual([3, expect.stringContaining('"verdict":"not_ready"')]);
  for (const step of STEPS.slice(0, -1)) await type(step);
  const { code, stdout } = await type(STEPS.at(-1) ?? []);
  const { verdict, items } = JSON.parse(stdout) as Report;
  return { code, verdict, open: items.filter(({ status }) => status !== "pass"), causes };
}

/** Buys an order twice in the shop, as by mistake, and pays it; returns the shop's view of the order. */
async function buy({ origin, type }: ServedShop): Promise<unknown> {
  const order = { method: "POST", redirect: "manual", body: '{"order_id":"order-1"}' } as const;
  const bought = (): Promise<Response> =>
    fetch(`${origin}/buy`, { ...order, headers: { "Content-Type": "application/json" } });
  const [first, again] = [await bought(), await bought()];
  const pages = [first, again].map(({ status, headers }) => `${status} ${headers.get("location")}`);
  expect(new Set(pages).size).toBe(1);
  const paid = await type(["sandbox", "pay", pages[0]?.split("/").at(-1) ?? "", "--outcome", "succeeded"]);
  expect([paid.code, paid.stderr]).toEqual([0, ""]);
  return eventually("the shop has heard of the payment", async () => {
    const shown = (await (await fetch(`${origin}/orders/order-1`)).json()) as { readonly times: number };
    expect(shown.times).toBeGreaterThan(0);
    return shown;
  });
}

/** The distinct causes in the output of a run. */
function causesIn(stdout: string): string[] {
  const { broken, items } = JSON.parse(stdout) as RunReport;
  const failed = [...broken, ...items.flatMap(({ failures }) => failures)];
  return [...new Set(failed.map(({ cause }) => cause ?? "no cause"))];
}

/** The error if a correct shop did not become ready or did not sell. */
async function launchFaults(make: ShopStack): Promise<string[]> {
  const shop = await serveShop(make);
  const found = { launched: await launch(shop), sold: await buy(shop) };
  const expected = { launched: READY, sold: { order_id: "order-1", status: "paid", times: 1 } };
  return isDeepStrictEqual(found, expected) ? [] : [`${make}: ${JSON.stringify(found)}`];
}

/** Differences between the expected and the reported breakage. One breakage may break several histories. */
async function breakageFaults({ make, name, item, causes, undrilled = [] }: Breakage): Promise<string[]> {
  const launched = await launch(await serveShop(make, name), FULL ? undefined : PARTS[item]);
  const open = launched.open.map((one) => `${one.name} ${one.status}`);
  const got = {
    code: launched.code,
    verdict: launched.verdict,
    open: [...undrilled, `${item} fail`].filter((one) => !open.includes(one)),
    causes: causes.filter(
      (known) => !launched.causes.some((cause) => cause.includes(englishOf(factOf(known)))),
    ),
  };
  const expected = { code: 3, verdict: "not_ready", open: [], causes: [] };
  return isDeepStrictEqual(got, expected)
    ? []
    : [
        `${make} ${name}: not named: ${JSON.stringify(got)}; named: ${JSON.stringify([open, launched.causes])}`,
      ];
}

/** In a campaign all breakages; in `npm test` a breakage, chosen by the seed, that a part of the run detects. */
function chooseBreakages(rows: readonly Breakage[]): Breakage[] {
  const own = rows.filter(
    ({ make, item, undrilled }) =>
      MAKES.includes(make) && (FULL || (item in PARTS && undrilled === undefined)),
  );
  return FULL ? own : own.slice(Math.floor(seededRandom(SEED)() * own.length)).slice(0, 1);
}

test("the commands of docs/launch.md make a correct shop ready, and name the cause in a broken shop", async ({
  annotate,
}) => {
  if (!HAS_PYTHON) await annotate("python3 is not installed: only the shop with Express was launched");
  // In `npm test`, test/real/whole-shops.test.ts launches a correct shop.
  const right = FULL ? MAKES : [];
  const broken = chooseBreakages(BREAKAGES);
  const launches = [
    ...right.map((make) => () => launchFaults(make)),
    ...broken.map((row) => () => breakageFaults(row)),
  ];
  const faults: string[] = [];
  await sideBySide(launches, WORKERS, async (begin) => void faults.push(...(await begin())));
  expect(faults, `seed ${SEED}`).toEqual([]);
  const names = broken.map(({ make, name }) => `${make} ${name}`).join(", ");
  await annotate(
    `seed ${SEED}: ready: ${right.join(" and ") || "none launched"}; caught with their causes: ${names}`,
  );
});

test("every cause that these tests expect of a broken shop is a cause that the checklist can report", () => {
  const facts = new Set<string>(FACT_TABLES.flatMap((table) => Object.keys(table)));
  expect(BREAKAGES.flatMap(({ causes }) => causes).filter((cause) => !facts.has(cause))).toEqual([]);
});
