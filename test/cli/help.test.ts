import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Command, Option } from "commander";
import { expect, test } from "vitest";
import { commandMap } from "../../src/cli/help/map.ts";
import { formatMarkdown } from "../../src/cli/help/markdown.ts";
import { TOPIC_SUMMARIES } from "../../src/cli/help/topic-names.ts";
import { createPrinter } from "../../src/cli/printer.ts";
import { commandPaths, createProgram } from "../../src/cli/program.ts";
import { commandMapSchema, type CommandMap, type MappedCommand } from "../../src/core/help/map.ts";
import { createHarness } from "../support/harness.ts";
import { REAL } from "../support/real.ts";
import { DEFAULT_PORT } from "../../src/core/config/settings.ts";

const SRC = join(import.meta.dirname, "../../src");
const REGISTRY = { world: { ...REAL, argv: [] }, version: "0.0.0", exit: () => undefined };
const whole = commandMap(REGISTRY);

test("help --json prints the whole command map, valid against its schema", async () => {
  const harness = createHarness();
  const validate = new Ajv2020({ strict: true }).compile(commandMapSchema());
  for (const typed of ["help --json", "--help --json", "--json help"]) {
    const { code, stdout, stderr } = await harness.run(typed.split(" "));
    expect([code, stderr, stdout.split("\n").length]).toEqual([0, "", 2]);
    const map = JSON.parse(stdout) as CommandMap;
    expect([validate(map), validate.errors]).toEqual([true, null]);
    expect(map.commands).toEqual((await whole).commands);
  }
});

test("the command map has every command with its arguments, and each option of the command once", async () => {
  const { commands, common_options: common } = await whole;
  const mapped = new Map(all(commands).map((one) => [one.words, one]));
  const paths = await commandPaths(REGISTRY);
  expect([...mapped.keys()].toSorted()).toEqual(paths.map((path) => path.join(" ")).toSorted());
  for (const path of paths) {
    const command = await commandAt(path);
    const one = mapped.get(path.join(" "));
    const names = [...(one?.options ?? []).map(({ name }) => name), ...(one?.common_options ?? [])];
    expect([path, names.toSorted()]).toEqual([path, command.options.map(nameOf).toSorted()]);
    expect(new Set(names).size).toBe(names.length);
    expect(one?.arguments.map(({ name }) => name)).toEqual(
      command.registeredArguments.map((argument) => argument.name()),
    );
  }
  for (const name of new Set(all(commands).flatMap((one) => one.common_options)))
    expect(common.filter((option) => option.name === name)).toHaveLength(1);
});

test("the description of every option except --type names all choices, and every command runs or has subcommands", async () => {
  const options = all((await whole).commands).flatMap((one) => one.options);
  const withChoices = options.filter(({ choices }) => choices !== undefined);
  expect(withChoices.length).toBeGreaterThan(15);
  for (const { name, choices = [], description } of withChoices.filter((one) => one.name !== "--type"))
    expect([name, choices.filter((choice) => !description.includes(choice))]).toEqual([name, []]);
  for (const { words, runs, commands } of all((await whole).commands))
    expect([words, runs || commands.length > 0]).toEqual([words, true]);
});

test("the command map has the type, default, choices and variable of an option", async () => {
  const of = async (words: string, name: string) => {
    const map = await whole;
    const command = all(map.commands).find((one) => one.words === words);
    return [...(command?.options ?? []), ...map.common_options].find((one) => one.name === name);
  };
  expect(await of("sandbox pay", "--outcome")).toMatchObject({
    type: "choice",
    default: "succeeded",
    choices: ["succeeded", "declined", "failed", "cancelled", "expired", "pending"],
  });
  expect(await of("sandbox start", "--port")).toMatchObject({
    type: "integer",
    default: expect.stringContaining(String(DEFAULT_PORT)) as string,
    variable: "CHECKOUT_SANDBOX_PORT",
    repeatable: false,
  });
  expect(await of("sandbox start", "--allow-target")).toMatchObject({
    default: expect.any(String) as string,
    repeatable: true,
  });
  expect(await of("orders create", "--json")).toMatchObject({ type: "boolean", value: null, default: null });
  expect(await of("requests list", "--follow")).toMatchObject({ short: "-f", flags: "-f, --follow" });
});

test("the map of one command has only that command and its group, and the whole command map has every variable that src reads", async () => {
  const harness = createHarness();
  const { stdout } = await harness.run("help orders create --json".split(" "));
  const part = JSON.parse(stdout) as CommandMap;
  expect(all(part.commands).map(({ words }) => words)).toEqual(["orders", "orders create"]);
  const after = await harness.run("orders create --json --help".split(" "));
  expect(after.stdout).toBe(stdout);

  const names = new Set((await whole).variables.map(({ name }) => name));
  const text = readdirSync(SRC, { recursive: true, encoding: "utf8" })
    // A Worker's environment holds bindings, not variables.
    .filter((name) => name.endsWith(".ts") && !name.startsWith("hosted/"))
    .map((name) => readFileSync(join(SRC, name), "utf8"))
    .join("\n");
  const read = [
    ...Array.from(text.matchAll(/\benv(?:\.|\[")([A-Z][A-Z_]+|npm_\w+)/g), ([, name = ""]) => name),
    ...Array.from(text.matchAll(/["'`](CHECKOUT_[A-Z_]+[A-Z])["'`]/g), ([, name = ""]) => name),
    ...Array.from(text.matchAll(/(?<=process\.env\[[^\]]*)"([A-Z_]+)"/g), ([, name = ""]) => name),
    ...Array.from(text.matchAll(/findProxyVariable\(env, "(\w+)"/g), ([, name = ""]) => name),
  ];
  expect(read).toContain("XDG_CONFIG_HOME");
  // CHECKOUT_SANDBOX and CHECKOUT_LISTEN are prefixes of variable names, and CHECKOUT_END is a delimiter.
  const others = new Set(["CHECKOUT_SANDBOX", "CHECKOUT_LISTEN", "CHECKOUT_END"]);
  expect([...new Set(read)].filter((name) => !names.has(name) && !others.has(name))).toEqual([]);
});

test("exec passes --help --json to its program", async () => {
  const harness = createHarness();
  const { stdout } = await harness.run("exec -- program --help --json".split(" "));
  expect(stdout).not.toContain('"program":"checkout"');
});

test("each help topic prints its page or section, and a command group with a topic's name keeps its own help", async () => {
  const harness = createHarness();
  const shown: string[] = [];
  for (const topic of Object.keys(TOPIC_SUMMARIES)) {
    const { code, stdout, stderr } = await harness.run(["help", topic], { columns: 80 });
    expect([topic, code, stderr]).toEqual([topic, 0, ""]);
    expect(stdout.split("\n").filter((line) => line.startsWith("|") || line.startsWith("#"))).toEqual([]);
    if (topic === "ci") expect(stdout.split("\n").length).toBeLessThanOrEqual(80);
    const json = await harness.run(["help", topic, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ topic, markdown: expect.stringMatching(/^##? /) });
    shown.push(`$ checkout help ${topic}`, stdout.slice(0, stdout.indexOf("\n", 700)));
  }
  await expect(shown.join("\n")).toMatchFileSnapshot("help-topics.golden.txt");
  const group = await harness.run(["webhooks", "--help"]);
  expect(group.stdout).toContain("Usage: checkout webhooks");
  const nested = await harness.run(["help", "webhooks", "sign"]);
  expect(nested.stdout).toContain("Usage: checkout webhooks sign");
});

test("Markdown in a terminal has wrapped paragraphs, unchanged code, tables as lists, and links as text", async () => {
  const page = [
    "# Title",
    "A **strong** [link](docs/x.md) and",
    "[another](https://example.com/a) in a paragraph of more than forty columns.",
    "```sh",
    "checkout   sandbox start",
    "",
    "# no heading",
    "```",
    "| a | b |",
    "|---|---|",
    String.raw`| x \| y | what it means |`,
    "",
    "| a | b | c |",
    "|---|---|---|",
    "| x | | z |",
    "",
    "* an item that is",
    "  continued",
    "* another",
  ].join("\n");
  const printer = await createPrinter({ ...REAL, env: { NO_COLOR: "1" }, argv: [] }, { json: false });
  expect(formatMarkdown(page, { style: printer.style, width: 40 })).toBe(
    [
      "Title",
      "",
      "A strong link and another",
      "(https://example.com/a) in a paragraph",
      "of more than forty columns.",
      "",
      "  checkout   sandbox start",
      "  ",
      "  # no heading",
      "",
      "  x | y: what it means",
      "",
      "  x",
      "    c: z",
      "",
      "* an item that is continued",
      "* another",
    ].join("\n"),
  );
});

function all(commands: readonly MappedCommand[]): readonly MappedCommand[] {
  return commands.flatMap((one) => [one, ...all(one.commands)]);
}

async function commandAt(path: readonly string[]): Promise<Command> {
  let command = await createProgram({ ...REGISTRY, world: { ...REAL, argv: path.slice(0, 1) } });
  for (const word of path) command = command.commands.find((one) => one.name() === word) ?? command;
  return command;
}

function nameOf({ long, flags }: Option): string {
  return long ?? flags;
}
