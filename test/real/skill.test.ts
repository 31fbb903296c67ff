import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { FULL } from "../support/campaign.ts";
import { writeProject } from "../support/kit-projects.ts";
import { hasLanguage } from "../support/machine.ts";
import { heldPort } from "../support/ports.ts";
import { PROGRAM, run } from "../support/program.ts";
import { headOf, WHOLE_SHOPS } from "../support/whole-shops.ts";

const ROOT = join(import.meta.dirname, "../..");
const SKILL = readFileSync(join(ROOT, "skills/checkout/SKILL.md"), "utf8");
const MAX_LINES = 150;
const BLOCKS = Array.from(SKILL.matchAll(/^```sh\n([\s\S]*?)^```/gm), ([, block = ""]) => block);

/** Index of the recipe with the drills, which take minutes; the complete shops' top comments have the same drills. */
const DRILL_RECIPE_INDEX = 4;

/** The end of each recipe's output. */
const ENDS: readonly RegExp[] = [
  /"status": ?"paid", ?"times": ?1/,
  /refused with exit code 5[\s\S]* 409 /,
  /not valid, exit code 1(?:[\s\S]*\b204\b){2}/,
  /pass 1\b/,
  new RegExp(`^${english(READINESS_SENTENCES.verdict.ready)}: 6 `, "m"),
  /lose_answer[\s\S]*reorder/,
];

test("the skill has six recipes in at most 150 lines, and valid front matter", () => {
  expect(SKILL.trimEnd().split("\n").length).toBeLessThanOrEqual(MAX_LINES);
  expect(SKILL).toMatch(/^---\nname: checkout\ndescription: >-\n(?: {2}.*\n)+---\n/);
  expect(SKILL.match(/^## \d\. /gm)).toHaveLength(6);
  expect(BLOCKS).toHaveLength(6);
});

test("docs/llms.txt lists exactly the existing pages", () => {
  const text = readFileSync(join(ROOT, "docs/llms.txt"), "utf8");
  const named = Array.from(text.matchAll(/\]\(([^)]+)\)/g), ([, path = ""]) => path);
  expect(named.filter((path) => !existsSync(join(ROOT, "docs", path)))).toEqual([]);
  const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
  expect(pages.filter((name) => !named.includes(name))).toEqual([]);
});

test("the skill has the same drill commands as the top comment of the Node shop", () => {
  const drills = (lines: readonly string[]) => lines.filter((line) => line.includes("checklist run"));
  const typed = (BLOCKS[DRILL_RECIPE_INDEX] ?? "").replaceAll(/\\\n\s*/g, "").split("\n");
  const inProject = typed.map((line) => line.replace("npx --no -- checkout", "npx checkout"));
  expect(drills(inProject)).toEqual(drills(headOf(WHOLE_SHOPS.node)));
});

const SHOPS = FULL && hasLanguage("python") ? (["node", "python"] as const) : (["node"] as const);

test.for(SHOPS)(
  "the shell blocks of the skill run in order in an empty folder, with the shop in %s",
  async (language) => {
    const { code, parts, stderr } = await typeBlocks(language);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const ends = ENDS.filter((_, at) => FULL || at !== DRILL_RECIPE_INDEX);
    expect(parts).toHaveLength(ends.length + 1);
    for (const [at, end] of ends.entries()) expect(parts[at]).toMatch(end);
  },
);

/** Types the blocks, in `npm test` without the drills, into one shell; returns the output of each block. */
async function typeBlocks(language: "node" | "python") {
  const cwd = writeProject({}, ["express"]);
  const port = await heldPort();
  const bin = join(cwd, "bin");
  mkdirSync(bin);
  const npx = `#!/bin/sh\nshift 3\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`;
  writeFileSync(join(bin, "npx"), npx, { mode: 0o755 });
  onTestFinished(async () => void (await run(["sandbox", "stop"], { cwd })));
  const env = {
    PATH: `${bin}:${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`,
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "",
    PORT: `${port}`,
    CHECKOUT_SANDBOX_PORT: "0",
  };
  const blocks = BLOCKS.filter((_, at) => FULL || at !== DRILL_RECIPE_INDEX);
  const typed = blocks
    .map((block) => block.replaceAll("http://localhost:3000", `http://localhost:${port}`))
    .map((block) =>
      language === "node"
        ? block
        : block
            .replaceAll("node shop.js", "python3 shop.py")
            .replace("shops/node/shop.js", "shops/python/shop.py"),
    )
    .map((block) => `${block}echo END-OF-BLOCK`);
  // In a separate process group, so that the shop ends with the test.
  const shell = spawn("sh", ["-e", "-c", ["trap 'kill $!' EXIT", ...typed].join("\n")], {
    cwd,
    env,
    detached: true,
    stdio: "pipe",
  });
  onTestFinished(() => {
    if (shell.exitCode === null) process.kill(-(shell.pid ?? 0), "SIGKILL");
  });
  const output = { stdout: "", stderr: "" };
  shell.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  shell.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const [code] = (await once(shell, "close")) as [number | null];
  return { code, parts: output.stdout.split("END-OF-BLOCK\n"), stderr: output.stderr };
}
