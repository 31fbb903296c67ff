import type { CommandMap, MappedCommand, MappedOption } from "../../src/core/help/map.ts";
import { code, page, prose, table, wrap } from "./markdown.ts";

/** The page of all commands, made from the map that `checkout help --json` prints. */
export function commandsPage(map: CommandMap): string {
  return page("Commands", [
    wrap(
      "Every command takes `--help` and prints its result as one line of JSON with `--json`; an error is then one line of " +
        "JSON on stderr. Ids may be shortened to their last 8 characters, and an order_id works in place of an id. " +
        "`checkout help --json` prints this page as JSON, of the form of `hosted-checkout/help.schema.json`.",
    ),
    exitCodes(map.exit_codes),
    "## Options of every command",
    optionTable(map.common_options),
    ...map.commands.flatMap(partsOf),
  ]);
}

/** The parts of the page for a command or group and for its subcommands. */
function partsOf(command: MappedCommand): readonly string[] {
  return [partOf(command), ...command.commands.flatMap(partsOf)];
}

function partOf({
  words,
  summary,
  runs,
  usage,
  options,
  exit_codes: codes,
  examples,
}: MappedCommand): string {
  const level = words.includes(" ") ? "###" : "##";
  const head = `${level} checkout ${words}`;
  const summaryText = wrap(prose(sentence(summary)));
  if (!runs) return `${head}\n\n${summaryText}`;
  const rows = options.length === 0 ? [] : [optionTable(options)];
  const lines = [
    ...examples.map((line) => `$ ${line}`),
    ...(codes.length === 0 ? [] : [`\nExit codes:\n${linesOf(codes)}`]),
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
  return `\`\`\`text\nExit codes:\n${linesOf(codes)}\n\`\`\``;
}

function linesOf(codes: MappedCommand["exit_codes"]): string {
  const codeRows = codes.map(({ code: exitCode, meaning }) => [String(exitCode), meaning] as const);
  const width = Math.max(...codeRows.map(([exitCode]) => exitCode.length));
  return codeRows.map(([exitCode, meaning]) => `  ${exitCode.padEnd(width)}  ${meaning}`).join("\n");
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
