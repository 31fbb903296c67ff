import { Command } from "commander";
import { ITEM_COUNT_WORD } from "../core/readiness/names.ts";
import { LOCATION_OPTIONS, OUTPUT_SWITCHES } from "./hints/again.ts";
import type { CommandName } from "./hints/command-names.ts";
import { exitCodeLines, type ExplainRefusal, type Group, type RegistrationContext } from "./command.ts";
import { TOPIC_SUMMARIES } from "./help/topic-names.ts";
import { isOptionTyped, shownDescription, wordsBeforeSeparator } from "./option-rules.ts";
import { widthOf } from "./printer.ts";
import { EXIT_MEANINGS } from "./problem.ts";
import type { KnownVariables } from "./variables.ts";

const helpAfterCommands = (): string => `
Examples:
  $ checkout sandbox start
  $ checkout orders create --order-id order-1001 --price-id price_coffee
  $ checkout sessions get <id>
  $ checkout listen --forward http://localhost:3000/hooks

Exit codes:
${exitCodeLines(EXIT_MEANINGS)}
The help of a command shows the exit codes with a specific meaning for it.

Topics:
${topicLines()}
checkout help --json prints all commands, options and variables as JSON.

Settings can also come from environment variables. The help of a command shows
the variable of an option in brackets, such as [CHECKOUT_BASE_URL].
The API key comes from CHECKOUT_API_KEY or .checkout/credentials.json, never
from an option.`;

const TOPIC_WIDTH = 11;

const MIN_WIDTH_TO_WRAP = 20;

function topicLines(): string {
  return Object.entries(TOPIC_SUMMARIES)
    .map(([name, summary]) => `  $ checkout help ${name.padEnd(TOPIC_WIDTH)}  ${summary}`)
    .join("\n");
}

const HEADINGS = [
  ["run", "Run:"],
  ["orders", "Orders and payments:"],
  ["webhooks", "Webhooks:"],
  ["test", "Test: faults, clock, snapshots:"],
  ["launch", "Launch:"],
  ["stores", "Stores and keys:"],
  ["look", "Inspect and explain:"],
  ["more", "More:"],
] as const;

type Registrar = (group: Group) => void;

type Loader<Loaded> = (registry: RegistrationContext) => Promise<Loaded>;

type Entry = { readonly summary: string } & (
  | { readonly group: Loader<readonly Registrar[]> }
  | { readonly command: Loader<Registrar> }
);

function typedOf(loaders: Readonly<Record<string, () => Promise<Registrar>>>): Loader<readonly Registrar[]> {
  return ({ world }) => {
    const words = wordsBeforeSeparator(world.argv);
    const typedNames = Object.keys(loaders).filter((name) => words.includes(name));
    const names = typedNames.length === 0 ? Object.keys(loaders) : typedNames;
    return Promise.all(names.flatMap((name) => loaders[name]?.() ?? []));
  };
}

type Entries = Readonly<Record<(typeof HEADINGS)[number][0], Readonly<Partial<Record<CommandName, Entry>>>>>;

/**
 * For a fast start, only the typed group or command is loaded, and in a group that scripts use often, only the typed
 * subcommand.
 */
const ENTRIES: Entries = {
  run: {
    sandbox: {
      summary: "run and control the sandbox: start, stop, pay, move the clock",
      group: typedOf({
        start: async () => (await import("./sandbox/start.ts")).registerSandboxStart,
        wait: async () => (await import("./sandbox/status.ts")).registerSandboxWait,
        status: async () => (await import("./sandbox/status.ts")).registerSandboxStatus,
        logs: async () => (await import("./sandbox/logs.ts")).registerSandboxLogs,
        stop: async () => (await import("./sandbox/stop.ts")).registerSandboxStop,
        pay: async () => (await import("./sandbox/pay.ts")).registerSandboxPay,
        clock: async () => (await import("./sandbox/clock.ts")).registerSandboxClock,
        reset: async () => (await import("./sandbox/reset.ts")).registerSandboxReset,
      }),
    },
    hosted: {
      summary: "run the hosted service on this machine: one Durable Object per store",
      group: async () => [(await import("./hosted/dev.ts")).registerHostedDev],
    },
    env: {
      summary: "print the running sandbox's variables for a shell, a .env file or CI",
      command: async () => (await import("./sandbox/env.ts")).registerEnv,
    },
    exec: {
      summary: "run a command with its own fresh sandbox: checkout exec -- npm test",
      command: async () => (await import("./sandbox/exec.ts")).registerExec,
    },
  },
  orders: {
    orders: {
      summary: "create, show and list one-time orders",
      group: typedOf({
        create: async () => (await import("./order/create.ts")).registerOrdersCreate,
        get: async () => (await import("./order/orders-get.ts")).registerOrdersGet,
        list: async () => (await import("./order/list.ts")).registerOrdersList,
      }),
    },
    sessions: {
      summary: "create, show and list hosted checkout sessions",
      group: typedOf({
        create: async () => (await import("./order/create.ts")).registerSessionsCreate,
        get: async () => (await import("./order/sessions-get.ts")).registerSessionsGet,
        list: async () => (await import("./order/list.ts")).registerSessionsList,
      }),
    },
    "return-origins": {
      summary: "manage the origins that customers may be sent back to",
      group: async () => [(await import("./order/return-origins.ts")).registerReturnOrigins],
    },
    prices: {
      summary: "manage the prices of the catalog",
      group: async () => [(await import("./store/prices.ts")).registerPrices],
    },
    idempotency: {
      summary: "list, show and forget idempotency keys (not API keys)",
      group: async () => [(await import("./order/idempotency.ts")).registerIdempotency],
    },
  },
  webhooks: {
    endpoints: {
      summary: "manage webhook endpoints and their signing secrets",
      group: async () => [
        (await import("./webhook/endpoints.ts")).registerEndpoints,
        (await import("./webhook/endpoint-secrets.ts")).registerEndpointSecrets,
      ],
    },
    events: {
      summary: "list, show and replay events, or wait for them",
      group: async () => [(await import("./webhook/events.ts")).registerEvents],
    },
    deliveries: {
      summary: "list and retry deliveries, with the answers of endpoints",
      group: async () => [(await import("./webhook/deliveries.ts")).registerDeliveries],
    },
    webhooks: {
      summary: "sign and verify webhooks",
      group: async () => [(await import("./webhook/webhooks.ts")).registerWebhooks],
    },
    listen: {
      summary: "receive events, verify them and forward them to your application",
      command: async () => (await import("./listen/listen.ts")).registerListen,
    },
    trigger: {
      summary: "cause an event on a real order or session",
      command: async () => (await import("./webhook/trigger.ts")).registerTrigger,
    },
  },
  test: {
    faults: {
      summary: "inject faults into the API and into deliveries",
      group: async () => [(await import("./fault/faults.ts")).registerFaults],
    },
    snapshots: {
      summary: "create, list, restore and remove snapshots of a store or the whole sandbox",
      group: typedOf({
        create: async () => (await import("./snapshot/create.ts")).registerSnapshotsCreate,
        list: async () => (await import("./snapshot/list.ts")).registerSnapshotsList,
        restore: async () => (await import("./snapshot/restore.ts")).registerSnapshotsRestore,
        remove: async () => (await import("./snapshot/list.ts")).registerSnapshotsRemove,
      }),
    },
    explore: {
      summary: "run a purchase command under every fault, and find the faults that break it",
      command: async () => (await import("./explore/explore.ts")).registerExplore,
    },
  },
  launch: {
    checklist: {
      summary: `check launch readiness: ${ITEM_COUNT_WORD} items with evidence; exit 0 only if ready without risks`,
      group: async () => [
        (await import("./readiness/checklist.ts")).registerChecklist,
        (await import("./readiness/waive.ts")).registerChecklistWaive,
        (await import("./judge/run.ts")).registerChecklistRun,
        (await import("./judge/webhooks.ts")).registerChecklistWebhooks,
        (await import("./judge/run.ts")).registerChecklistParts,
      ],
    },
    shop: {
      summary: "describe your shop once, for checklist run and explore",
      group: async () => [(await import("./judge/shop-commands.ts")).registerShop],
    },
    production: {
      summary: "request production access, as the merchant",
      group: async () => [(await import("./readiness/production.ts")).registerProduction],
    },
    admin: {
      summary: "act as the administrator: approvals, the production gate, the audit log",
      group: async () => [(await import("./readiness/admin.ts")).registerAdmin],
    },
    calibrate: {
      summary: "compare a service with the sandbox's assumptions, and record the result",
      command: async () => (await import("./calibration/calibrate.ts")).registerCalibrate,
    },
  },
  stores: {
    stores: {
      summary: "create, list, show, choose and delete stores",
      group: async () => [
        (await import("./store/stores.ts")).registerStores,
        (await import("./store/show.ts")).registerStoresShow,
        (await import("./store/delete-store.ts")).registerStoresDelete,
      ],
    },
    config: {
      summary: "validate, compare, apply and export the configuration file",
      group: async () => [(await import("./config/commands.ts")).registerConfig],
    },
    keys: {
      summary: "manage the store's API keys, and generate secrets for a new sandbox",
      group: async () => [(await import("./store/keys.ts")).registerKeys],
    },
    tokens: {
      summary: "manage tokens and sign-in links, each with rights on one store",
      group: async () => [(await import("./store/tokens.ts")).registerTokens],
    },
    capabilities: {
      summary: "list the store's payment methods and currencies",
      group: async () => [(await import("./store/show.ts")).registerCapabilities],
    },
  },
  look: {
    requests: {
      summary: "list and show v1 requests and their answers",
      group: async () => [(await import("./request/requests.ts")).registerRequests],
    },
    open: {
      summary: "open the portal in your browser, signed in",
      command: async () => (await import("./portal/open.ts")).registerOpen,
    },
    explain: {
      summary: "explain what happened to a request, an order, an event or a delivery, and why",
      command: async () => (await import("./request/explain.ts")).registerExplain,
    },
    assumptions: {
      summary: "list the sandbox's assumptions, and which of them your integration relied on",
      command: async () => (await import("./readiness/assumptions.ts")).registerAssumptions,
    },
    whoami: {
      summary: "show the service, store and key that commands use, and the source of each",
      command: async () => (await import("./whoami.ts")).registerWhoami,
    },
    doctor: {
      summary: "check everything that checkout depends on, and suggest fixes; changes nothing",
      command: async (registry) =>
        (await import("./doctor/doctor.ts")).registerDoctor(() => listKnownVariables(registry)),
    },
  },
  more: {
    portal: {
      summary: "sign out of the portal (to open it: checkout open)",
      group: async () => [(await import("./portal/sign-out.ts")).registerPortalSignOut],
    },
    mcp: {
      summary: "run an MCP server with tools for inspecting the sandbox",
      group: async (registry) => {
        const { registerMcp } = await import("./mcp/commands.ts");
        return [registerMcp((world, exit) => createProgram({ ...registry, world, exit }))];
      },
    },
    completion: {
      summary: "set up completion of commands, options and values in bash, zsh, fish and PowerShell",
      group: async () => [(await import("./completion/commands.ts")).registerCompletion],
    },
  },
};

export async function createProgram(registry: RegistrationContext): Promise<Command> {
  const { version, world } = registry;
  const { argv, stdout, stderr } = world;
  const program = new Command("checkout")
    .description("The Hosted Checkout and Orders Service v1 on your own machine.")
    .version(version, "-v, --version", "print the version")
    .exitOverride()
    // Options after a command belong to that command, even if a parent command has an option of the same name.
    .enablePositionalOptions()
    .configureHelp({ minWidthToWrap: MIN_WIDTH_TO_WRAP, optionDescription: shownDescription })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      // With --json, stderr must contain only the JSON error, so commander's help for a group is omitted.
      writeErr: (text) => void (isOptionTyped(world, "json") || stderr.write(text)),
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
      outputError: () => undefined,
    })
    .addHelpText("after", helpAfterCommands);
  const words = new Set(wordsBeforeSeparator(argv));
  for (const [key, heading] of HEADINGS) {
    program.commandsGroup(heading);
    for (const [name, entry] of Object.entries(ENTRIES[key])) {
      const isTypedName = words.has(name);
      const command =
        isTypedName && "command" in entry ? program : program.command(name).description(entry.summary);
      if (!isTypedName) continue;
      const registrars = "command" in entry ? [await entry.command(registry)] : await entry.group(registry);
      for (const registrar of registrars) registrar({ ...registry, command, explainRefusal });
    }
  }
  program.helpCommand("help [command]", "display help for command");
  return program;
}

const explainRefusal: ExplainRefusal = async (...refusal) => {
  const { explainOtherKind } = await import("./target/other-kind.ts");
  return explainOtherKind(...refusal);
};

/** Moves common options behind the words of the command, and replaces `help` among these words with `--help`. */
function arrangeArguments(program: Command, argv: readonly string[]): readonly string[] {
  const [words, commonWords]: [string[], string[]] = [[], []];
  let group = program;
  let at = 0;
  let isHelp = false;
  while (at < argv.length && (group === program || group.commands.length > 0)) {
    const word = argv[at] ?? "";
    const nextCommand = group.commands.find((command) => command.name() === word);
    const length = COMMON_LENGTHS.get(word) ?? Number(/^--(dir|store)=/.test(word));
    if (HELP_FLAGS.has(word)) isHelp = true;
    else if (length > 0) commonWords.push(...argv.slice(at, at + length));
    else if (nextCommand === undefined) break;
    else words.push((group = nextCommand).name());
    at += Math.max(1, length);
  }
  const restWords = argv.slice(at);
  const isUnknown = group.commands.length > 0 && restWords[0]?.startsWith("-") === false;
  if (isUnknown) return [...words, ...restWords.filter((word) => !HELP_FLAGS.has(word))];
  if (restWords[0] === "help" && group.registeredArguments.length === 0) isHelp = true;
  const hasCommonOptions = group.options.some(({ long }) => long === "--json");
  return [...words, ...(isHelp ? ["--help"] : []), ...(hasCommonOptions ? commonWords : []), ...restWords];
}

const HELP_FLAGS: ReadonlySet<string> = new Set(["help", "--help", "-h"]);
const COMMON_LENGTHS: ReadonlyMap<string, number> = new Map([
  ...LOCATION_OPTIONS,
  ...[...OUTPUT_SWITCHES].map((name) => [name, 1] as const),
]);

export type TypedLine = Pick<RegistrationContext, "world"> & {
  readonly program: Command;
  readonly argv: readonly string[];
  /** Ends before the first unknown word, so that a hint never repeats a typing error. */
  readonly words: readonly string[];
  readonly command: Command;
};

export async function readTypedLine(registry: RegistrationContext): Promise<TypedLine> {
  const program = await createProgram(registry);
  const argv = arrangeArguments(program, registry.world.argv);
  const words: string[] = [];
  let command = program;
  for (const word of argv.filter((argument) => !argument.startsWith("-"))) {
    const next = command.commands.find((child) => child.name() === word);
    if (next === undefined) break;
    command = next;
    words.push(word);
  }
  return { world: registry.world, program, argv, words, command };
}

export function topLevelNames(): readonly string[] {
  return Object.values(ENTRIES).flatMap((entries) => Object.keys(entries));
}

export async function commandPaths(registry: RegistrationContext): Promise<readonly (readonly string[])[]> {
  const paths: (readonly string[])[] = [];
  for (const name of topLevelNames()) {
    const program = await createProgram({ ...registry, world: { ...registry.world, argv: [name] } });
    const entry = program.commands.find((command) => command.name() === name);
    if (entry !== undefined) paths.push(...nestedPaths(entry, [name]));
  }
  return paths;
}

function nestedPaths(command: Command, path: readonly string[]): readonly (readonly string[])[] {
  return [path, ...command.commands.flatMap((child) => nestedPaths(child, [...path, child.name()]))];
}

export async function listKnownVariables(registry: RegistrationContext): Promise<KnownVariables> {
  const { OTHER_VARIABLES, nestedVariables } = await import("./variables.ts");
  const knownVariables = new Map<string, (text: string) => string | undefined>(
    [...OTHER_VARIABLES.keys()].map((name) => [name, () => undefined]),
  );
  for (const name of topLevelNames()) {
    const program = await createProgram({ ...registry, world: { ...registry.world, argv: [name] } });
    for (const [variable, refusalOf] of nestedVariables(program)) knownVariables.set(variable, refusalOf);
  }
  return knownVariables;
}
