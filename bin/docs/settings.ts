import type { Option } from "commander";
import type { Registry } from "../../src/cli/command.ts";
import { environmentVariableOf } from "../../src/cli/option-rules.ts";
import { OTHER_VARIABLES } from "../../src/cli/variables.ts";
import { settingsIn } from "../../src/core/config/settings.ts";
import { snakeCase } from "../../src/core/text.ts";
import { allCommands } from "./commands.ts";
import { code, page, prose, table, wrapped } from "./markdown.ts";

/** The meaning of variables without an option. */
const OTHERS: Readonly<Record<string, string>> = {
  CHECKOUT_API_KEY: "the API key of the client (default: `.checkout/credentials.json`); it has no option",
  CHECKOUT_SIGNING_SECRET: "the signing secret to verify webhooks with",
  CHECKOUT_CONTROL_TOKEN: "the control token of the sandbox that `CHECKOUT_BASE_URL` names",
  CHECKOUT_ADMIN_TOKEN: "the admin token (default: `.checkout/admin.json`)",
  CHECKOUT_SANDBOX_API_KEY: "the API key of the first store of a new sandbox",
  CHECKOUT_SANDBOX_SIGNING_SECRET: "the signing secret of that store",
  CHECKOUT_SANDBOX_CONTROL_TOKEN: "the control token of a sandbox",
  CHECKOUT_SANDBOX_ADMIN_TOKEN: "the admin token of a sandbox",
};
/** Variables that the program sets for programs that it starts. */
const SET_BY_US: ReadonlySet<string> = new Set(["CHECKOUT_ORDER_ID", "CHECKOUT_DETACHED_LOG"]);

type Setting = { readonly variable: string; readonly option: Option };

/** The page of all settings, with their options, variables and configuration fields. */
export async function settingsPage(registry: Registry): Promise<string> {
  const found = new Map<string, Setting>();
  const commands = await allCommands(registry);
  // If several commands share an option, the description comes from one of these.
  const typical = new Set(["orders create", "sandbox start", "listen"]);
  for (const isTypical of [true, false])
    for (const { command } of commands.filter((one) => typical.has(one.words) === isTypical))
      for (const option of command.options) {
        const variable = environmentVariableOf(option);
        if (variable !== undefined && !found.has(variable)) found.set(variable, { variable, option });
      }
  const settings = [...found.values()];
  const of = (pattern: RegExp): readonly Setting[] =>
    settings.filter(({ variable }) => pattern.test(variable));
  return page("Settings", [
    wrapped(
      "An option wins over its variable, the variable over `checkout.config.json` and `.checkout/`, and those over the " +
        "default. Options that say what one call means, such as `--order-id` or `--json`, have no variable. " +
        "`checkout whoami` shows each setting of a client with its source. A switch is set by 1 and unset by 0.",
    ),
    "## Every command",
    rows(of(/^CHECKOUT_(?!SANDBOX_|LISTEN_)/)),
    "## `checkout sandbox start`",
    wrapped(
      "The field is that of `sandbox` in [`checkout.config.json`](configuration.md). A list has commas in a variable.",
    ),
    sandboxRows(of(/^CHECKOUT_SANDBOX_/)),
    "## `checkout listen`",
    rows(of(/^CHECKOUT_LISTEN_/)),
    "## Secrets",
    wrapped(
      "Secrets have a variable and no option, so that they are in no process list. Each variable of the sandbox may end " +
        "with `_FILE` instead and then names a file with the secret.",
    ),
    secretRows(),
  ]);
}

function rows(settings: readonly Setting[]): string {
  return table(
    ["variable", "option", ""],
    settings.map(({ variable, option }) => [code(variable), code(option.flags), meaningOf(option)]),
  );
}

function sandboxRows(settings: readonly Setting[]): string {
  return table(
    ["variable", "option", "field", ""],
    settings.map(({ variable, option }) => [
      code(variable),
      code(option.flags),
      fieldOf(option),
      meaningOf(option),
    ]),
  );
}

function fieldOf(option: Option): string {
  const [field] = Object.keys(settingsIn({ [option.attributeName()]: true }));
  return field === undefined ? "" : code(snakeCase(field));
}

function meaningOf({ description }: Option): string {
  return prose(description.replace(/ \[CHECKOUT_\w+\]$/, ""));
}

function secretRows(): string {
  const names = [...OTHER_VARIABLES.keys()].filter((name) => !SET_BY_US.has(name) && !name.endsWith("_FILE"));
  return table(
    ["variable", ""],
    names.map((name) => {
      const meaning = OTHERS[name];
      if (meaning === undefined) throw new Error(`bin/docs/settings.ts does not say what ${name} holds`);
      return [code(name), meaning];
    }),
  );
}
