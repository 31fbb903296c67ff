import * as z from "zod/mini";

const OPTION_TYPES = [
  "boolean",
  "choice",
  "duration",
  "file",
  "integer",
  "json",
  "number",
  "text",
  "time",
  "url",
] as const;

const exitCode = z.strictObject({ code: z.union([z.int(), z.literal("other")]), meaning: z.string() });

const option = z.strictObject({
  name: z.string(),
  short: z.nullable(z.string()),
  flags: z.string(),
  value: z.nullable(z.string()),
  type: z.enum(OPTION_TYPES),
  repeatable: z.boolean(),
  choices: z.optional(z.array(z.string())),
  default: z.nullable(z.string()),
  variable: z.nullable(z.string()),
  description: z.string(),
});

const argument = z.strictObject({
  name: z.string(),
  required: z.boolean(),
  variadic: z.boolean(),
  choices: z.optional(z.array(z.string())),
});

const command = z.strictObject({
  name: z.string(),
  words: z.string(),
  summary: z.string(),
  runs: z.boolean(),
  usage: z.string(),
  arguments: z.array(argument),
  options: z.array(option),
  common_options: z.array(z.string()),
  exit_codes: z.array(exitCode),
  examples: z.array(z.string()),
  get commands() {
    return z.array(command);
  },
});

const variable = z.strictObject({
  name: z.string(),
  option: z.nullable(z.string()),
  description: z.string(),
});

export const commandMap = z.strictObject({
  program: z.literal("checkout"),
  version: z.string(),
  summary: z.string(),
  exit_codes: z.array(exitCode),
  common_options: z.array(option),
  variables: z.array(variable),
  topics: z.array(z.strictObject({ name: z.string(), summary: z.string() })),
  commands: z.array(command),
});

export type CommandMap = z.infer<typeof commandMap>;
/** `runs` is false for a group that does nothing without a subcommand. */
export type MappedCommand = z.infer<typeof command>;
/** `value` is the placeholder of the option's value, null for a switch; `default` is prose, not a value. */
export type MappedOption = z.infer<typeof option>;
export type MappedVariable = z.infer<typeof variable>;

/** The help of an option. `default` and `note` are prose, shown in brackets after `text`. */
export type OptionHelp = string | { readonly text: string; readonly default: string; readonly note?: string };

export function commandMapSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(commandMap);
}
