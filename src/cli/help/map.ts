import type { Command, Option } from "commander";
import type { CommandMap, MappedCommand, MappedOption, MappedVariable } from "../../core/help/map.ts";
import type { World } from "../../world.ts";
import {
  defaultTextOf,
  helpDetailsOf,
  isCommonOption,
  isListOption,
  type ExitCodeMeanings,
  type RegistrationContext,
} from "../command.ts";
import { environmentVariableOf } from "../option-rules.ts";
import { createPrinter } from "../printer.ts";
import { EXIT_MEANINGS } from "../problem.ts";
import { createProgram, topLevelNames } from "../program.ts";
import { OTHER_VARIABLES } from "../variables.ts";
import { TOPIC_SUMMARIES } from "./topic-names.ts";
import { SYSTEM_VARIABLES } from "./variables.ts";
import { output } from "../output/output.ts";

export async function printCommandMap(
  { world, version }: { readonly world: World; readonly version: string },
  words: readonly string[],
): Promise<number> {
  const map = await commandMap({ world, version, exit: () => undefined }, words);
  return (await createPrinter(world, { json: true })).result(output("help", map), () => "");
}

export async function commandMap(
  registry: RegistrationContext,
  words: readonly string[] = [],
): Promise<CommandMap> {
  const [firstWord, ...rest] = words;
  const commands: MappedCommand[] = [];
  const programs: Command[] = [];
  for (const name of firstWord === undefined ? topLevelNames() : [firstWord]) {
    // Each group needs its own program, because `createProgram` loads only the group that `argv` names.
    const program = await createProgram({ ...registry, world: { ...registry.world, argv: [name, ...rest] } });
    programs.push(program);
    const groupCommand = program.commands.find((command) => command.name() === name);
    if (groupCommand !== undefined) commands.push(mapCommand(groupCommand, [name], rest));
  }
  const options = programs.flatMap(nestedOptions);
  const commonOptions = uniqueBy(options.filter(isCommonOption), ({ flags }) => flags);
  return {
    program: "checkout",
    version: registry.version,
    summary: programs[0]?.description() ?? "",
    exit_codes: mapExitCodes(EXIT_MEANINGS),
    common_options: commonOptions.map(mapOption),
    variables: mapVariables(options),
    topics: Object.entries(TOPIC_SUMMARIES).map(([name, summary]) => ({ name, summary })),
    commands,
  };
}

function mapCommand(command: Command, path: readonly string[], nextWords: readonly string[]): MappedCommand {
  const { examples, exitCodes: codes = {} } = helpDetailsOf(command);
  const words = path.join(" ");
  const children = command.commands.filter(
    (child) => nextWords[0] === undefined || child.name() === nextWords[0],
  );
  return {
    name: command.name(),
    words,
    summary: command.description(),
    runs: examples.length > 0,
    usage: `checkout ${words} ${command.usage()}`.replace(/ \[command\]$/, ""),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      required: argument.required,
      variadic: argument.variadic,
      choices: argument.argChoices,
    })),
    options: command.options.filter((option) => !isCommonOption(option)).map(mapOption),
    common_options: command.options.flatMap((option) =>
      isCommonOption(option) && option.long ? [option.long] : [],
    ),
    exit_codes: mapExitCodes(codes),
    examples: [...examples],
    commands: children.map((child) => mapCommand(child, [...path, child.name()], nextWords.slice(1))),
  };
}

function mapOption(option: Option): MappedOption {
  const variable = environmentVariableOf(option);
  const [, value = null] = /<([^>]+)>/.exec(option.flags) ?? [];
  return {
    name: option.long ?? option.flags,
    short: option.short ?? null,
    flags: option.flags,
    value,
    type: typeOf(value, option),
    repeatable: isListOption(option),
    choices: option.argChoices,
    default: defaultTextOf(option) ?? null,
    variable: variable ?? null,
    description: option.description,
  };
}

const PLACEHOLDER_TYPES: ReadonlyMap<string, MappedOption["type"]> = new Map([
  ["n", "integer"],
  ["count", "integer"],
  ["port", "integer"],
  ["seconds", "integer"],
  ["p", "number"],
  ["duration", "duration"],
  ["time", "time"],
  ["file", "file"],
  ["folder", "file"],
  ["url", "url"],
  ["origin", "url"],
  ["faults", "json"],
]);

function typeOf(value: string | null, { argChoices, long }: Option): MappedOption["type"] {
  if (value === null) return "boolean";
  if (argChoices !== undefined) return "choice";
  // The `path` of any other option is the path of a URL.
  if (value === "path" && long === "--file") return "file";
  return PLACEHOLDER_TYPES.get(value) ?? "text";
}

function mapExitCodes(codes: ExitCodeMeanings): MappedCommand["exit_codes"] {
  return Object.entries(codes).map(([code, meaning]) => ({
    code: code === "other" ? code : Number(code),
    meaning,
  }));
}

function mapVariables(options: readonly Option[]): MappedVariable[] {
  const optionVariables = options.flatMap((option) => {
    const { variable, name, description } = mapOption(option);
    return variable === null ? [] : [{ name: variable, option: name, description }];
  });
  const otherVariables = [...OTHER_VARIABLES, ...Object.entries(SYSTEM_VARIABLES)];
  return [
    ...uniqueBy(optionVariables, ({ name }) => name),
    ...otherVariables.map(([name, description]) => ({ name, option: null, description })),
  ];
}

function nestedOptions(command: Command): readonly Option[] {
  return [...command.options, ...command.commands.flatMap(nestedOptions)];
}

function uniqueBy<Item>(items: readonly Item[], nameOf: (item: Item) => string): readonly Item[] {
  return [...Map.groupBy(items, nameOf).values()].flatMap((group) => group.slice(0, 1));
}
