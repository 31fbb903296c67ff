import type { CommandMap, MappedCommand, MappedOption } from "../../src/core/help/map.ts";
import { exitCodeLines } from "../../src/cli/command.ts";
import { code, page, prose, table, wrap } from "./markdown.ts";

/** `map`: the output of `checkout help --json`. */
export function commandsPage(map: CommandMap): string {
  return page("Commands", [
    wrap(
      "Every command takes `--help` and prints its result as one line of JSON with `--json`; an error is then one line of " +
        "JSON on stderr. Ids may be shortened to their last 8 characters, and an order_id works in place of an id. " +
        "`checkout help --json` prints this page as JSON, of the form of `hosted-checkout/help.schema.json`.",
    ),
    `\`\`\`text\n${exitCodes(map.exit_codes)}\n\`\`\``,
    "## Options of every command",
    optionTable(map.common_options),
    ...map.commands.flatMap(partsOf),
  ]);
}

function partsOf(command: MappedCommand): readonly string[] {
  return [partOf(command), ...command.commands.flatMap(partsOf)];
}

function partOf(command: MappedCommand): string {
  const { words, summary, runs, usage, options, exit_codes: codes, examples } = command;
  const level = words.includes(" ") ? "###" : "##";
  const head = `${level} checkout ${words}`;
  const summaryText = wrap(prose(sentence(summary)));
  if (!runs) return `${head}\n\n${summaryText}`;
  const rows = options.length === 0 ? [] : [optionTable(options)];
  const lines = [
    ...examples.map((line) => `$ ${line}`),
    ...(codes.length === 0 ? [] : [`\n${exitCodes(codes)}`]),
  ];
  return [head, summaryText, code(usage), ...rows, `\`\`\`text\n${lines.join("\n")}\n\`\`\``].join("\n\n");
}

function optionTable(options: readonly MappedOption[]): string {
  return table(
    ["option", ""],
    options.map(({ flags, description, variable }) => [
      code(flags),
      prose(description) + (variable === null ? "" : ` [${variable}]`),
    ]),
  );
}

function exitCodes(codes: MappedCommand["exit_codes"]): string {
  return `Exit codes:\n${exitCodeLines(Object.fromEntries(codes.map(({ code: exitCode, meaning }) => [exitCode, meaning])))}`;
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
