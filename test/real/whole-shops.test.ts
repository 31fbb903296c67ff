import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { hasLanguage } from "../support/machine.ts";
import { headOf, typeHead, WHOLE_SHOPS } from "../support/whole-shops.ts";

const MAX_LINES = 120;
const SHOPS = (["node", "python"] as const).filter((name) => name === "node" || hasLanguage(name));

test("a whole shop is short, and its head drills all of it", () => {
  for (const file of Object.values(WHOLE_SHOPS)) {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n").length;
    expect([file, lines > MAX_LINES]).toEqual([file, false]);
    const drills = headOf(file).flatMap((line) => /checklist run (\S+)/.exec(line)?.[1] ?? []);
    expect([file, drills]).toEqual([file, ["idempotency", "webhooks", "duplicates", "browser-return"]]);
    expect(headOf(file).at(-1)).toBe("npx checkout checklist");
  }
});

test("the commands in the heads of the whole shops, as they stand there, get each from nothing to ready", async () => {
  const typed = SHOPS.map(async (name) => {
    const { code, stdout, stderr } = await typeHead(WHOLE_SHOPS[name]);
    const verdict = /^(?:Not r|R)eady.*$/m.exec(stdout)?.[0];
    return { name, verdict, failed: code === 0 ? "" : `exit ${code}: ${stdout}${stderr}` };
  });
  expect(await Promise.all(typed)).toEqual(
    SHOPS.map((name) => ({ name, verdict: "Ready: 6 of 6 items pass", failed: "" })),
  );
});
