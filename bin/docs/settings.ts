import type { RegistrationContext } from "../../src/cli/command.ts";
import { commandMap } from "../../src/cli/help/map.ts";
import { OTHER_VARIABLES, PROGRAM_VARIABLES } from "../../src/cli/variables.ts";
import { settingsIn } from "../../src/core/config/settings.ts";
import { camelCase, snakeCase } from "../../src/core/text.ts";
import type { MappedCommand, MappedOption } from "../../src/core/help/map.ts";
import { code, page, prose, table, wrap } from "./markdown.ts";

type Setting = { readonly variable: string; readonly option: MappedOption };

export async function settingsPage(registry: RegistrationContext): Promise<string> {
  const settingsByVariable = new Map<string, Setting>();
  const map = await commandMap(registry);
  const commands = map.commands.flatMap(withSubcommands);
  for (const option of map.common_options)
    if (option.variable !== null)
      settingsByVariable.set(option.variable, { variable: option.variable, option });
  // Preferred sources of the description of an option that several commands have.
  const typicalCommands = new Set(["orders create", "sandbox start", "listen"]);
  for (const isTypical of [true, false])
    for (const { options } of commands.filter((command) => typicalCommands.has(command.words) === isTypical))
      for (const option of options) {
        const { variable } = option;
        if (variable !== null && !settingsByVariable.has(variable))
          settingsByVariable.set(variable, { variable, option });
      }
  const settings = [...settingsByVariable.values()];
  const settingsLike = (pattern: RegExp): readonly Setting[] =>
    settings.filter(({ variable }) => pattern.test(variable));
  return page("Settings", [
    wrap(
      "An option overrides its variable, the variable overrides `checkout.config.json` and `.checkout/`, and these " +
        "files override the default. Options that apply to a single call, such as `--order-id` or `--json`, have no " +
        "variable. `checkout whoami` shows each setting of a command with its source. In a variable, 1 turns a switch " +
        "on, and 0 turns it off.",
    ),
    "## Every command",
    settingsTable(settingsLike(/^CHECKOUT_(?!SANDBOX_|LISTEN_)/)),
    "## `checkout sandbox start`",
    wrap(
      "The fields are in the section `sandbox` of [`checkout.config.json`](configuration.md). In a variable, commas separate the items of a list.",
    ),
    settingsTable(settingsLike(/^CHECKOUT_SANDBOX_/), { hasField: true }),
    "## `checkout listen`",
    settingsTable(settingsLike(/^CHECKOUT_LISTEN_/)),
    "## Secrets",
    wrap(
      "Secrets have variables and no options, so no process list shows a secret. Each variable `CHECKOUT_SANDBOX_…` " +
        "below also exists with the suffix `_FILE`, and then names a file that contains the secret. " +
        "`CHECKOUT_TARGET_<NAME>_API_KEY` has the API key of a target of `checkout.config.json`.",
    ),
    secretsTable(),
  ]);
}

function withSubcommands(command: MappedCommand): readonly MappedCommand[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

/** `hasField`: adds a column with the field in the section `sandbox` of the configuration. */
function settingsTable(settings: readonly Setting[], { hasField } = { hasField: false }): string {
  return table(
    ["variable", "option", ...(hasField ? ["field"] : []), ""],
    settings.map(({ variable, option }) => [
      code(variable),
      code(option.flags),
      ...(hasField ? [fieldOf(option)] : []),
      prose(option.description),
    ]),
  );
}

function fieldOf({ name }: MappedOption): string {
  const [field] = Object.keys(settingsIn({ [camelCase(name.slice(2).replaceAll("-", "_"))]: true }));
  return field === undefined ? "" : code(snakeCase(field));
}

function secretsTable(): string {
  const secrets = [...OTHER_VARIABLES].filter(
    ([name]) => !PROGRAM_VARIABLES.has(name) && !name.endsWith("_FILE"),
  );
  return table(
    ["variable", ""],
    secrets.map(([name, meaning]) => [code(name), meaning]),
  );
}
