import { expect, test } from "vitest";
import { commandMap } from "../../src/cli/help/map.ts";
import { commandPaths } from "../../src/cli/program.ts";
import type { MappedCommand } from "../../src/core/help/map.ts";
import { OTHER_COMMANDS, COMMANDS, argsOf } from "../support/commands.ts";
import { createHarness } from "../support/harness.ts";
import { REAL } from "../support/real.ts";
import { NO_SANDBOX } from "../../src/cli/problem.ts";

const REGISTRY = { world: { ...REAL, argv: [] }, version: "0.0.0", exit: () => undefined };

async function paths(): Promise<readonly string[]> {
  return (await commandPaths(REGISTRY)).map((path) => path.join(" "));
}

/** A command's `--help` in a terminal of 80 columns. */
async function helpOf(path: string): Promise<string> {
  const typed = [...path.split(" ").filter(Boolean), "--help"];
  const { code, stdout, stderr } = await createHarness().run(typed, { columns: 80 });
  expect([path, code, stderr]).toEqual([path, 0, ""]);
  return stdout;
}

function mappedCommands(commands: readonly MappedCommand[]): readonly MappedCommand[] {
  return commands.flatMap((one) => [one, ...mappedCommands(one.commands)]);
}

/** Commands whose whole help is in the golden file: the program, a group, and commands with all parts of a help. */
const SHOWN = [
  "",
  "sandbox",
  "sandbox start",
  "orders create",
  "faults add",
  "listen",
  "exec",
  "webhooks verify",
];

test("the help of eight commands matches its golden file", async () => {
  const shown: string[] = [];
  for (const path of SHOWN) shown.push(`$ checkout ${path} --help`, await helpOf(path));
  await expect(shown.join("\n")).toMatchFileSnapshot("help.golden.txt");
});

test("the help of every command has every entry of the command map, in at most 80 columns", async () => {
  const map = await commandMap(REGISTRY);
  const commands = mappedCommands(map.commands);
  expect(commands.length).toBeGreaterThan(80);
  for (const {
    words: path,
    usage,
    summary,
    options,
    common_options,
    examples,
    exit_codes,
    ...one
  } of commands) {
    const common = map.common_options.filter(({ name }) => common_options.includes(name));
    const help = await helpOf(path);
    const said = [
      `Usage: ${usage}`,
      summary,
      ...[...options, ...common].map(({ flags, description, variable }) =>
        [flags, description, ...(variable === null ? [] : [`[${variable}]`])].join(" "),
      ),
      ...one.commands.map((below) => below.summary),
      ...examples.map((line) => `$ ${line}`),
      ...exit_codes.map(({ code, meaning }) => `${code} ${meaning}`),
    ];
    const plain = help.replaceAll(/\s+/g, " ");
    expect([path, said.filter((text) => !plain.includes(text.replaceAll(/\s+/g, " ")))]).toEqual([path, []]);
    const wrapped = help.split("\nExamples:")[0] ?? "";
    expect([path, wrapped.split("\n").filter((line) => line.length > 80)]).toEqual([path, []]);
  }
});

test("one refusal of each command matches the golden file", async () => {
  const rows = [...COMMANDS, ...OTHER_COMMANDS];
  const shown: string[] = [];
  const all = await paths();
  for (const path of all) {
    const isGroup = all.some((one) => one.startsWith(`${path} `));
    const row = isGroup ? path : (rows.find((one) => `${one} `.startsWith(`${path} `)) ?? path);
    // Without a sandbox most commands are refused; `sandbox start` and `mcp` would keep running.
    const refused =
      (["sandbox start", "mcp"].includes(path) ? undefined : await refusal(row)) ??
      (await refusal(`${path} --unknown`));
    expect([path, refused]).toEqual([path, expect.any(String)]);
    shown.push(`$ checkout ${refused}`);
  }
  await expect(shown.join("\n")).toMatchFileSnapshot("refused.golden.txt");
});

/** Runs a command line in a new folder; returns its output and exit code, or undefined if it succeeds. */
async function refusal(line: string): Promise<string | undefined> {
  const harness = createHarness();
  const { code, stdout, stderr } = await harness.run(argsOf(line));
  if (code === 0) return undefined;
  // A group prints its help, which another test compares with the map.
  const talk = stderr
    .replace(/^Usage: [^]*?(?=^✗)/m, "its help\n")
    .replace(new RegExp(`^${NO_SANDBOX}; .*\\n`, "gm"), "");
  const said = `${stdout}${talk}exit ${code}\n`;
  return `${argsOf(line).join(" ")}\n${said}`.replaceAll(harness.cwd, "FOLDER");
}
