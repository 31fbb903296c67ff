import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { part } from "../support/campaign.ts";
import { hasLanguage } from "../support/machine.ts";
import { HURRIED_SHOPS } from "../support/hurried-shops.ts";
import { runHere } from "../support/program.ts";
import { drillHurried, headOf, serveWhole, typeHead, WHOLE_SHOPS } from "../support/whole-shops.ts";
import type { ShownStep } from "../../src/core/readiness/drill-shapes.ts";

type Steps = { readonly steps?: readonly ShownStep[] };
type Report = Steps & { readonly drills?: readonly Steps[] };

const MAX_LINES = 140;
const SHOPS = (["node", "python"] as const).filter((name) => name === "node" || hasLanguage(name));

test("a whole shop is short, and its head judges all of it by one command", () => {
  for (const file of Object.values(WHOLE_SHOPS)) {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n").length;
    expect([file, lines > MAX_LINES]).toEqual([file, false]);
    const runs = headOf(file).filter((line) => line.startsWith("npx checkout checklist run --create"));
    expect([file, runs.length]).toEqual([file, 1]);
    expect(headOf(file).at(-1)).toBe("npx checkout checklist");
  }
});

/** The exit code of a drill, and the expected cause, otherwise the first one. */
async function judged(shop: (typeof HURRIED_SHOPS)[number]) {
  const { code, stdout, stderr } = await drillHurried(shop);
  const report = JSON.parse(stdout === "" ? "{}" : stdout) as Report;
  const steps = report.steps ?? report.drills?.[0]?.steps ?? [];
  const { name, cause: expected = "" } = shop;
  const causes = steps.flatMap(({ passed, cause: one }) => (passed || one === null ? [] : [one]));
  const cause = causes.find((one) => one.startsWith(expected)) ?? causes[0] ?? null;
  return { name, code, cause: cause?.slice(0, expected.length) ?? null, failed: stdout === "" ? stderr : "" };
}

test("shops, each a process of its own: the whole ones get ready by their heads, the hurried ones are told why not", async () => {
  // In `npm test` the head of one language, and a client and a receiver or a whole shop, by the seed.
  const known = HURRIED_SHOPS.filter(({ language }) => SHOPS.includes(language));
  const hurried = part(known, 6);
  const heads = part(SHOPS, SHOPS.length);
  const typed = heads.map(async (name) => {
    const { code, stdout, stderr } = await typeHead(WHOLE_SHOPS[name]);
    const verdict = /^(?:Not r|R)eady.*$/m.exec(stdout)?.[0];
    return { name, verdict, failed: code === 0 ? "" : `exit ${code}: ${stdout}${stderr}` };
  });
  // They mostly wait, so all go side by side.
  const [launched, drills] = await Promise.all([Promise.all(typed), Promise.all(hurried.map(judged))]);
  expect(launched).toEqual(heads.map((name) => ({ name, verdict: "Ready: 6 of 6 items pass", failed: "" })));
  expect(drills).toEqual(
    hurried.map(({ name, cause = null }) => ({ name, code: cause === null ? 0 : 1, cause, failed: "" })),
  );
});

test("in a whole shop a second attempt of an order can be paid, and a late event of the first changes nothing", async () => {
  for (const language of SHOPS) {
    const { cwd, origin, buy } = await serveWhole({ language });
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
    await shows({ status: "cancelled", times: 0 });
    const second = await buy("order-1001");
    expect([language, second === first]).toEqual([language, false]);
    expect([language, await buy("order-1001")]).toEqual([language, second]);
    await type("sandbox", "pay", second.slice(-36));
    await shows({ status: "paid", times: 1 });
    const { events } = JSON.parse(await type("events", "list", "--type", "order.cancelled", "--json")) as {
      readonly events: readonly { readonly event_id: string }[];
    };
    await type("events", "replay", events[0]?.event_id ?? "");
    await type("events", "get", events[0]?.event_id ?? "", "--wait");
    await shows({ status: "paid", times: 1 });
  }
});
