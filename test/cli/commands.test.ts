import { expect, test } from "vitest";
import { commandPaths } from "../../src/cli/program.ts";
import { ALONE, COMMANDS, words } from "../support/commands.ts";
import { createHarness } from "../support/harness.ts";
import { REAL } from "../support/real.ts";

async function paths(): Promise<readonly string[]> {
  const found = await commandPaths({
    world: { ...REAL, argv: [] },
    version: "0.0.0",
    exit: () => undefined,
  });
  return found.map((path) => path.join(" "));
}

test("every command's help says the same", async () => {
  const harness = createHarness();
  const all = await paths();
  expect(all.length).toBeGreaterThan(80);
  const shown: string[] = [];
  for (const path of ["", ...all]) {
    const { code, stdout, stderr } = await harness.run([...path.split(" ").filter(Boolean), "--help"], {
      columns: 80,
    });
    expect([path, code, stderr]).toEqual([path, 0, ""]);
    shown.push(`$ checkout ${path} --help`, stdout);
  }
  await expect(shown.join("\n")).toMatchFileSnapshot("help.golden.txt");
});

test("every command refuses with the same exit code and words", async () => {
  const rows = [...COMMANDS, ...ALONE];
  const shown: string[] = [];
  const all = await paths();
  for (const path of all) {
    const isGroup = all.some((one) => one.startsWith(`${path} `));
    const row = isGroup ? path : (rows.find((one) => `${one} `.startsWith(`${path} `)) ?? path);
    // In a folder without a sandbox most are refused; two would run on, and what succeeds has no such option.
    const refused =
      (["sandbox start", "mcp"].includes(path) ? undefined : await refusal(row)) ??
      (await refusal(`${path} --unknown`));
    expect([path, refused]).toEqual([path, expect.any(String)]);
    shown.push(`$ checkout ${refused}`);
  }
  await expect(shown.join("\n")).toMatchFileSnapshot("refused.golden.txt");
});

/** What a command line prints and ends with in a folder of its own; undefined where it succeeds. */
async function refusal(line: string): Promise<string | undefined> {
  const harness = createHarness();
  const { code, stdout, stderr } = await harness.run(words(line));
  if (code === 0) return undefined;
  const said = `${stdout}${stderr}exit ${code}\n`.replace(/^no sandbox is running here; trying .*\n/gm, "");
  return `${words(line).join(" ")}\n${said}`.replaceAll(harness.cwd, "FOLDER");
}
