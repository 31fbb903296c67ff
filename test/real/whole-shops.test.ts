import { readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { causeName } from "../support/drill-site.ts";
import { eventually } from "../support/eventually.ts";
import { FULL, part } from "../support/campaign.ts";
import { hasLanguage } from "../support/machine.ts";
import { HURRIED_SHOPS } from "../support/hurried-shops.ts";
import { begin, runHere } from "../support/program.ts";
import {
  DESCRIBED_SHOPS,
  describedFolder,
  drillHurriedShop,
  headOf,
  judgeDescribedShop,
  serveWholeShop,
  SHOP_LANGUAGES,
  typeHead,
  WHOLE_SHOPS,
  type ShopLanguage,
} from "../support/whole-shops.ts";
import type { ShownStep } from "../../src/core/readiness/drill-shapes.ts";

type Steps = { readonly steps?: readonly ShownStep[] };
type Report = Steps & { readonly drills?: readonly (Steps & { readonly endpoint_id: string })[] };

const MAX_LINES = 150;
const SHOPS = (["node", "python"] as const).filter((name) => name === "node" || hasLanguage(name));

const isInstalled = (name: ShopLanguage): boolean => name === "node" || hasLanguage(name);

test("a file of a complete shop has at most 150 lines", () => {
  for (const file of Object.values(DESCRIBED_SHOPS).flatMap(filesBeside)) {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n").length;
    expect([file, lines > MAX_LINES]).toEqual([file, false]);
  }
});

/** The files of a shop; storage and JSON have their own files if the language has no library for them. */
function filesBeside(file: string): readonly string[] {
  const names = readdirSync(dirname(file)).filter((name) => name.endsWith(extname(file)));
  return names.map((name) => join(dirname(file), name));
}

test("the top comment of each complete shop has exactly one checklist run command, and ends with npx checkout checklist", () => {
  for (const file of Object.values(WHOLE_SHOPS)) {
    const runs = headOf(file).filter((line) => line.startsWith("npx checkout checklist run --create"));
    expect([file, runs.length]).toEqual([file, 1]);
    expect(headOf(file).at(-1)).toBe("npx checkout checklist");
  }
});

test("the complete shops of the installed languages pass checklist run with their configuration files", async () => {
  // `npm test` runs two histories in each language that no other test uses; a campaign runs all histories in every
  // language.
  const languages = SHOP_LANGUAGES.filter(isInstalled).filter((name) => FULL || !(name in WHOLE_SHOPS));
  const options = FULL ? [] : ["--only", "return_same_moment", "--only", "second_failed"];
  const missing = SHOP_LANGUAGES.filter((name) => !isInstalled(name));
  process.stderr.write(
    `complete shops in ${languages.join(", ")}; missing: ${missing.join(", ") || "none"}\n`,
  );
  const check = async (language: ShopLanguage): Promise<void> => {
    const { code, stdout, stderr } = await judgeDescribedShop(language, ["--json", ...options]);
    const report = JSON.parse(stdout === "" ? "{}" : stdout) as Partial<RunReport>;
    expect([language, code, report.broken, report.not_judged]).toEqual([language, 0, [], []]);
    expect([language, (report.held ?? 0) >= (FULL ? 50 : 3), stderr]).toEqual([language, true, stderr]);
  };
  if (!FULL) await Promise.all(languages.map(check));
  else for (const language of languages) await check(language);
});

test("an interrupted checklist run reports the judged histories, and records no checklist part with histories that did not run", async () => {
  const check = async (options: readonly string[]) => {
    const { cwd, env } = await describedFolder("node");
    const running = begin(["checklist", "run", "--trust-config", ...options], { cwd, env });
    const hasBegun = async (): Promise<void> => {
      const { stdout } = await runHere(["orders", "list", "--json"], { cwd });
      const { checkouts } = JSON.parse(stdout) as { readonly checkouts: readonly unknown[] };
      expect(checkouts.length).toBeGreaterThan(8);
    };
    await eventually("some histories have begun", hasBegun);
    const code = await running.stop("SIGINT");
    const { stdout } = await runHere(["checklist", "--json"], { cwd });
    const { items } = JSON.parse(stdout) as { readonly items: readonly { name: string; status: string }[] };
    const passed = items.filter(({ status }) => status === "pass").map(({ name }) => name);
    return { code, passed, ...running.output };
  };
  const [json, text] = await Promise.all([check(["--json"]), check([])]);
  expect([json.code, text.code]).toEqual([130, 130]);
  const report = JSON.parse(json.stdout) as RunReport & {
    interrupted: boolean;
    not_run: number;
    histories: number;
  };
  expect([report.interrupted, report.broken]).toEqual([true, []]);
  expect(report.held).toBeGreaterThan(0);
  expect(report.held + report.not_run).toBe(report.histories);
  expect(text.stdout).toMatch(new RegExp(`^\\? \\D+\\d+ \\D*\\b${report.histories}\\b`, "m"));
  for (const { passed } of [json, text])
    expect(passed.filter((name) => /idempotency|webhook|return/.test(name))).toEqual([]);
});

type RunReport = {
  readonly held: number;
  readonly broken: readonly unknown[];
  readonly not_judged: readonly unknown[];
};

/** Drills a shop; returns the exit code, and the expected cause if the drill finds it, otherwise the first cause. */
async function judgeHurried(shop: (typeof HURRIED_SHOPS)[number]) {
  const { code, stdout, stderr } = await drillHurriedShop(shop);
  const report = JSON.parse(stdout === "" ? "{}" : stdout) as Report;
  const [receiver] = report.drills ?? [];
  const steps = report.steps ?? receiver?.steps ?? [];
  const causes = steps.flatMap(({ passed, cause }) =>
    passed || cause === null ? [] : [causeName(cause, receiver?.endpoint_id) ?? cause],
  );
  const cause = causes.find((one) => one === shop.cause) ?? causes[0] ?? null;
  return { name: shop.name, code, cause, failed: stdout === "" ? stderr : "" };
}

test("the commands in the top comment of a complete shop make the shop ready, and a drill names the mistake in a shop written in a hurry", async () => {
  // In `npm test` the seed selects one complete shop and one hurried shop.
  const known = HURRIED_SHOPS.filter(({ language }) => SHOPS.includes(language));
  const hurried = part(known, known.length);
  const heads = part(SHOPS, SHOPS.length);
  const typed = heads.map(async (name) => {
    const { code, stdout, stderr } = await typeHead(WHOLE_SHOPS[name]);
    const isReady = stdout.includes(`\n${english(READINESS_SENTENCES.verdict.ready)}: `);
    return { name, isReady, failed: code === 0 ? "" : `exit ${code}: ${stdout}${stderr}` };
  });
  // All run side by side, because they mostly wait.
  const [launched, drills] = await Promise.all([Promise.all(typed), Promise.all(hurried.map(judgeHurried))]);
  expect(launched).toEqual(heads.map((name) => ({ name, isReady: true, failed: "" })));
  expect(drills).toEqual(
    hurried.map(({ name, cause = null }) => ({ name, code: cause === null ? 0 : 1, cause, failed: "" })),
  );
});

test("a second attempt can be paid at a complete shop, and a late event of the first attempt changes nothing", async () => {
  for (const language of SHOPS) {
    const { cwd, origin, buy } = await serveWholeShop({ language });
    const type = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await runHere(args, { cwd });
      expect([args, code, stderr]).toEqual([args, 0, stderr]);
      return stdout;
    };
    const shows = (shown: Readonly<Record<string, unknown>>): Promise<void> =>
      eventually("the shop shows what happened", async () => {
        const answer = await fetch(`${origin}/orders/order-1001`);
        expect([language, await answer.json()]).toEqual([language, shown]);
      });
    const first = await buy("order-1001");
    await type("sandbox", "pay", first.slice(-36), "--outcome", "cancelled");
    await shows({ status: "cancelled", times: 0, amount_minor: null });
    const second = await buy("order-1001");
    expect([language, second === first]).toEqual([language, false]);
    expect([language, await buy("order-1001")]).toEqual([language, second]);
    await type("sandbox", "pay", second.slice(-36));
    await shows({ status: "paid", times: 1, amount_minor: 1999 });
    const { events } = JSON.parse(await type("events", "list", "--type", "order.cancelled", "--json")) as {
      readonly events: readonly { readonly event_id: string }[];
    };
    await type("events", "replay", events[0]?.event_id ?? "");
    await type("events", "get", events[0]?.event_id ?? "", "--wait");
    await shows({ status: "paid", times: 1, amount_minor: 1999 });
  }
});
