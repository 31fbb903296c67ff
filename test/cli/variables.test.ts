import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { environmentVariableOf, shownDescription } from "../../src/cli/option-rules.ts";
import { createProgram } from "../../src/cli/program.ts";
import { OTHER_VARIABLES, PROGRAM_VARIABLES } from "../../src/cli/variables.ts";
import { REAL } from "../support/real.ts";
import { createHarness } from "../support/harness.ts";

/** The variables of all options. Only settings may have a variable, because a variable applies to every run. */
const SETTINGS = [
  ...["BASE_URL", "DIR", "RETRIES", "STORE_ID", "TARGET", "TIMEOUT"].map((name) => `CHECKOUT_${name}`),
  ...[
    "ALLOW_HOST",
    "ALLOW_TARGET",
    "CA",
    "EVENTS",
    "EXIT_ON_DISCONNECT",
    "FORWARD",
    "HEADER",
    "HEADER_NAMES",
    "INSECURE",
    "PORT",
    "ROUTE",
    "TIMEOUT",
  ].map((name) => `CHECKOUT_LISTEN_${name}`),
  ...[
    "ADOPT",
    "ALLOW_CONTROL_HOST",
    "ALLOW_HOST",
    "ALLOW_TARGET",
    "CA",
    "CHECKOUT_LIFETIME",
    "CONFIG",
    "DELIVERIES_IN_FLIGHT",
    "DELIVERY_SCHEDULE",
    "DELIVERY_TIMEOUT",
    "EPHEMERAL",
    "KEPT_REQUESTS",
    "LIKE",
    "LISTEN",
    "LOG_FORMAT",
    "PORT",
    "PORTAL_URL",
    "PUBLIC_URL",
    "QUIET",
    "RATE_LIMIT",
    "TRUST_FOLDER",
  ].map((name) => `CHECKOUT_SANDBOX_${name}`),
];

test("exactly the expected options can be set by a variable, and each option's description names its variable", async () => {
  const names = (await treeOf([])).commands.map((command) => command.name());
  const variables = new Set<string>();
  for (const name of names) {
    const typed = (await treeOf([name])).commands.find((command) => command.name() === name);
    for (const option of typed === undefined ? [] : optionsBelow(typed)) {
      const variable = environmentVariableOf(option);
      if (variable === undefined) continue;
      variables.add(variable);
      expect(shownDescription(option)).toContain(`[${variable}]`);
    }
  }
  expect([...variables].toSorted()).toEqual(SETTINGS.toSorted());
});

test("docs/settings.md lists exactly the variables that exist", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/settings.md"), "utf8");
  const named = Array.from(page.matchAll(/^\| `(CHECKOUT_[A-Z_]+)`/gm), ([, name = ""]) => name);
  // The page describes all _FILE variables in one row, and leaves out variables that this program sets itself.
  const secrets = [...OTHER_VARIABLES.keys()].filter(
    (name) => !name.endsWith("_FILE") && !PROGRAM_VARIABLES.has(name),
  );
  expect(named.toSorted()).toEqual([...SETTINGS, ...secrets].toSorted());
});

test("options of a single command line, such as --order-id and --dry-run, are not read from variables", async () => {
  const harness = createHarness();
  await harness.start([], { env: { CHECKOUT_PORT: "none", CHECKOUT_JSON: "1" } });
  const env = { CHECKOUT_ORDER_ID: "other", CHECKOUT_DRY_RUN: "1", CHECKOUT_IDEMPOTENCY_KEY: "short" };
  const typed = "orders create --order-id order-1 --price-id price_coffee --json".split(" ");
  const made = await harness.run(typed, { env });
  expect([made.code, JSON.parse(made.stdout)]).toMatchObject([0, { data: { order_id: "order-1" } }]);
});

function treeOf(argv: readonly string[]): Promise<Command> {
  return createProgram({ world: { ...REAL, argv }, version: "0.0.0", exit: () => undefined });
}

function optionsBelow(command: Command): Command["options"][number][] {
  return [...command.options, ...command.commands.flatMap(optionsBelow)];
}
