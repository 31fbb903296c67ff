import type { Command, Option } from "commander";
import type { Registry } from "../../src/cli/command.ts";
import { commandPaths, createProgram } from "../../src/cli/program.ts";
import { code, page, prose, table, wrapped } from "./markdown.ts";

/** A command with its words. */
export type NamedCommand = { readonly words: string; readonly command: Command };

/** Every group and command of the program, in the order of its help. */
export async function allCommands(registry: Registry): Promise<readonly NamedCommand[]> {
  const found: NamedCommand[] = [];
  for (const path of await commandPaths(registry)) {
    let command = await createProgram({ ...registry, world: { ...registry.world, argv: path.slice(0, 1) } });
    for (const word of path) {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined) throw new Error(`there is no command ${path.join(" ")}`);
      command = next;
    }
    found.push({ words: path.join(" "), command });
  }
  return found;
}

/** The page of all commands, from their help. */
export async function commandsPage(registry: Registry): Promise<string> {
  const commands = await allCommands(registry);
  const common = commonOptions(commands);
  const parts = commands.map(({ words, command }) => partOf({ words, command }, common));
  return page("Commands", [
    wrapped(
      "Every command takes `--help` and prints its result as one line of JSON with `--json`; an error is one line of JSON " +
        "on stderr then. Ids may be shortened to their last 8 characters, and an order_id works in place of an id.",
    ),
    await exitCodes(registry),
    "## Options of every command",
    optionTable(common),
    ...parts,
  ]);
}

function partOf({ words, command }: NamedCommand, common: readonly Option[]): string {
  const isGroup = command.commands.length > 0;
  const level = words.includes(" ") ? "###" : "##";
  const head = `${level} checkout ${words}`;
  const said = wrapped(prose(sentence(command.description())));
  const examples = examplesOf(command);
  if (isGroup && examples.length === 0) return `${head}\n\n${said}`;
  const known = new Set(common.map(({ flags }) => flags));
  const own = command.options.filter(({ flags }) => !known.has(flags));
  const usage = code(`checkout ${words} ${command.usage()}`.replace(/ \[command\]$/, ""));
  const options = own.length === 0 ? [] : [optionTable(own)];
  return [head, said, usage, ...options, `\`\`\`text\n${examples.join("\n")}\n\`\`\``].join("\n\n");
}

/** Options that nearly every command has, which are listed once. */
function commonOptions(commands: readonly NamedCommand[]): readonly Option[] {
  const status = commands.find(({ words }) => words === "orders create")?.command.options ?? [];
  const leaves = commands.filter(({ command }) => examplesOf(command).length > 0);
  return status.filter(
    ({ flags, description }) =>
      leaves.filter(({ command }) =>
        command.options.some((one) => one.flags === flags && one.description === description),
      ).length >
      leaves.length / 2,
  );
}

function optionTable(options: readonly Option[]): string {
  return table(
    ["option", ""],
    options.map(({ flags, description }) => [code(flags), prose(description)]),
  );
}

/** Examples exist only in the help. */
function examplesOf(command: Command): readonly string[] {
  const help = helpOf(command);
  const [, examples = ""] = /\nExamples:\n((?: {2}\$ .*\n?)*)/.exec(help) ?? [];
  return examples.split("\n").flatMap((line) => (line === "" ? [] : [line.slice(2)]));
}

function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({ writeOut: (text) => void (help += text), getOutHelpWidth: () => 200 });
  command.outputHelp();
  return help;
}

async function exitCodes(registry: Registry): Promise<string> {
  const help = helpOf(await createProgram({ ...registry, world: { ...registry.world, argv: [] } }));
  const [, codes = ""] = /\n(Exit codes:\n[\s\S]*?)\n\n/.exec(help) ?? [];
  if (codes === "") throw new Error("the help names no exit codes");
  return `\`\`\`text\n${codes}\n\`\`\``;
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
