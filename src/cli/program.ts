// To add a command: see cli/command.ts. Calls to the sandbox: cli/calling.ts; the service: cli/target/resolve.ts;
// suggestions for mistyped commands: cli/hints/.
import { Command } from "commander";
import { ITEM_COUNT_WORD } from "../core/readiness/names.ts";
import { LOCATION_OPTIONS, SWITCHES } from "./hints/again.ts";
import { exitCodeLines, type Group, type RegistrationContext } from "./command.ts";
import { TOPIC_SUMMARIES } from "./help/topic-names.ts";
import { isTyped, wordsBeforeSeparator } from "./option-rules.ts";
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

/** Below this width, in columns, commander does not wrap. */
const MIN_WIDTH_TO_WRAP = 20;

function topicLines(): string {
  return Object.entries(TOPIC_SUMMARIES)
    .map(([name, summary]) => `  $ checkout help ${name.padEnd(TOPIC_WIDTH)}  ${summary}`)
    .join("\n");
}

const HELP_GROUPS = {
  run: "Run:",
  orders: "Orders and payments:",
  webhooks: "Webhooks:",
  test: "Test: faults, clock, snapshots:",
  launch: "Launch:",
  stores: "Stores and keys:",
  look: "Inspect and explain:",
  more: "More:",
} as const;

type Registrar = (group: Group) => void;
type GroupEntry = {
  readonly group: keyof typeof HELP_GROUPS;
  readonly summary: string;
  readonly load: (words: ReadonlySet<string>, registry: RegistrationContext) => Promise<readonly Registrar[]>;
};

type Loaders = Readonly<Record<string, () => Promise<Registrar>>>;

/** Each command is loaded separately, because scripts run some of them often and startup must be fast. */
const SANDBOX_COMMANDS: Loaders = {
  start: async () => (await import("./sandbox/start.ts")).registerSandboxStart,
  wait: async () => (await import("./sandbox/status.ts")).registerSandboxWait,
  status: async () => (await import("./sandbox/status.ts")).registerSandboxStatus,
  logs: async () => (await import("./sandbox/logs.ts")).registerSandboxLogs,
  stop: async () => (await import("./sandbox/stop.ts")).registerSandboxStop,
  pay: async () => (await import("./sandbox/pay.ts")).registerSandboxPay,
  clock: async () => (await import("./sandbox/clock.ts")).registerSandboxClock,
  reset: async () => (await import("./sandbox/reset.ts")).registerSandboxReset,
};

const ORDERS_COMMANDS: Loaders = {
  create: async () => (await import("./order/create.ts")).registerOrdersCreate,
  get: async () => (await import("./order/orders-get.ts")).registerOrdersGet,
  list: async () => (await import("./order/list.ts")).registerOrdersList,
};

const SESSIONS_COMMANDS: Loaders = {
  create: async () => (await import("./order/create.ts")).registerSessionsCreate,
  get: async () => (await import("./order/sessions-get.ts")).registerSessionsGet,
  list: async () => (await import("./order/list.ts")).registerSessionsList,
};

const SNAPSHOTS_COMMANDS: Loaders = {
  create: async () => (await import("./snapshot/create.ts")).registerSnapshotsCreate,
  list: async () => (await import("./snapshot/list.ts")).registerSnapshotsList,
  restore: async () => (await import("./snapshot/restore.ts")).registerSnapshotsRestore,
  remove: async () => (await import("./snapshot/remove.ts")).registerSnapshotsRemove,
};

/** Loads the typed command of a group; if none is typed, all commands of the group, for its help. */
function loadCommands(words: ReadonlySet<string>, loaders: Loaders): Promise<readonly Registrar[]> {
  const typedNames = Object.keys(loaders).filter((name) => words.has(name));
  const names = typedNames.length === 0 ? Object.keys(loaders) : typedNames;
  return Promise.all(names.flatMap((name) => loaders[name]?.() ?? []));
}

/** Groups of commands: `checkout orders …`. Only the typed group is loaded, to keep startup fast. */
const GROUPS = new Map<string, GroupEntry>(
  Object.entries({
    sandbox: {
      group: "run",
      summary: "run and control the sandbox: start, stop, pay, move the clock",
      load: (words) => loadCommands(words, SANDBOX_COMMANDS),
    },
    orders: {
      group: "orders",
      summary: "create, show and list one-time orders",
      load: (words) => loadCommands(words, ORDERS_COMMANDS),
    },
    sessions: {
      group: "orders",
      summary: "create, show and list hosted checkout sessions",
      load: (words) => loadCommands(words, SESSIONS_COMMANDS),
    },
    "return-origins": {
      group: "orders",
      summary: "manage the origins that customers may be sent back to",
      load: async () => [(await import("./order/return-origins.ts")).registerReturnOrigins],
    },
    endpoints: {
      group: "webhooks",
      summary: "manage webhook endpoints and their signing secrets",
      load: async () => [
        (await import("./webhook/endpoints.ts")).registerEndpoints,
        (await import("./webhook/endpoint-secrets.ts")).registerEndpointSecrets,
      ],
    },
    events: {
      group: "webhooks",
      summary: "list, show and replay events, or wait for them",
      load: async () => [(await import("./webhook/events.ts")).registerEvents],
    },
    deliveries: {
      group: "webhooks",
      summary: "list and retry deliveries, with the answers of endpoints",
      load: async () => [(await import("./webhook/deliveries.ts")).registerDeliveries],
    },
    faults: {
      group: "test",
      summary: "inject faults into the API and into deliveries",
      load: async () => [(await import("./fault/faults.ts")).registerFaults],
    },
    requests: {
      group: "look",
      summary: "list and show v1 requests and their answers",
      load: async () => [(await import("./request/requests.ts")).registerRequests],
    },
    checklist: {
      group: "launch",
      summary: `check launch readiness: ${ITEM_COUNT_WORD} items with evidence; exit 0 only if ready without risks`,
      load: async () => [
        (await import("./readiness/checklist.ts")).registerChecklist,
        (await import("./readiness/waive.ts")).registerChecklistWaive,
        (await import("./judge/run.ts")).registerChecklistRun,
        (await import("./judge/webhooks.ts")).registerChecklistWebhooks,
        (await import("./judge/run.ts")).registerChecklistParts,
      ],
    },
    shop: {
      group: "launch",
      summary: "describe your shop once, for checklist run and explore",
      load: async () => [(await import("./judge/shop-commands.ts")).registerShop],
    },
    stores: {
      group: "stores",
      summary: "create, list, show, choose and delete stores",
      load: async () => [
        (await import("./store/stores.ts")).registerStores,
        (await import("./store/show.ts")).registerStoresShow,
        (await import("./store/delete-store.ts")).registerStoresDelete,
      ],
    },
    config: {
      group: "stores",
      summary: "validate, compare, apply and export the configuration file",
      load: async () => [(await import("./config/commands.ts")).registerConfig],
    },
    keys: {
      group: "stores",
      summary: "manage the store's API keys, and generate secrets for a new sandbox",
      load: async () => [(await import("./store/keys.ts")).registerKeys],
    },
    tokens: {
      group: "stores",
      summary: "manage tokens and sign-in links, each with rights on one store",
      load: async () => [(await import("./store/tokens.ts")).registerTokens],
    },
    prices: {
      group: "orders",
      summary: "manage the prices of the catalog",
      load: async () => [(await import("./store/prices.ts")).registerPrices],
    },
    capabilities: {
      group: "stores",
      summary: "list the store's payment methods and currencies",
      load: async () => [(await import("./store/show.ts")).registerCapabilities],
    },
    production: {
      group: "launch",
      summary: "request production access, as the merchant",
      load: async () => [(await import("./readiness/production.ts")).registerProduction],
    },
    admin: {
      group: "launch",
      summary: "act as the administrator: approvals, the production gate, the audit log",
      load: async () => [(await import("./readiness/admin.ts")).registerAdmin],
    },
    webhooks: {
      group: "webhooks",
      summary: "sign and verify webhooks",
      load: async () => [(await import("./webhook/webhooks.ts")).registerWebhooks],
    },
    portal: {
      group: "more",
      summary: "sign out of the portal (to open it: checkout open)",
      load: async () => [(await import("./portal/sign-out.ts")).registerPortalSignOut],
    },
    snapshots: {
      group: "test",
      summary: "create, list, restore and remove snapshots of a store or the whole sandbox",
      load: (words) => loadCommands(words, SNAPSHOTS_COMMANDS),
    },
    hosted: {
      group: "run",
      summary: "run the hosted service on this machine: one Durable Object per store",
      load: async () => [(await import("./hosted/dev.ts")).registerHostedDev],
    },
    idempotency: {
      group: "orders",
      summary: "list, show and forget idempotency keys (not API keys)",
      load: async () => [(await import("./order/idempotency.ts")).registerIdempotency],
    },
    mcp: {
      group: "more",
      summary: "run an MCP server with tools for inspecting the sandbox",
      load: async (_words, registry) => {
        const { registerMcp } = await import("./mcp/commands.ts");
        return [registerMcp((world, exit) => createProgram({ ...registry, world, exit }))];
      },
    },
    completion: {
      group: "more",
      summary: "set up completion of commands, options and values in bash, zsh, fish and PowerShell",
      load: async () => [(await import("./completion/commands.ts")).registerCompletion],
    },
  } satisfies Readonly<Record<string, GroupEntry>>),
);

const COMMANDS = new Map<string, GroupEntry>(
  Object.entries({
    env: {
      group: "run",
      summary: "print the running sandbox's variables for a shell, a .env file or CI",
      load: async () => [(await import("./sandbox/env.ts")).registerEnv],
    },
    listen: {
      group: "webhooks",
      summary: "receive events, verify them and forward them to your application",
      load: async () => [(await import("./listen/listen.ts")).registerListen],
    },
    exec: {
      group: "run",
      summary: "run a command with its own fresh sandbox: checkout exec -- npm test",
      load: async () => [(await import("./sandbox/exec.ts")).registerExec],
    },
    explore: {
      group: "test",
      summary: "run a purchase command under every fault, and find the faults that break it",
      load: async () => [(await import("./explore/explore.ts")).registerExplore],
    },
    open: {
      group: "look",
      summary: "open the portal in your browser, signed in",
      load: async () => [(await import("./portal/open.ts")).registerOpen],
    },
    trigger: {
      group: "webhooks",
      summary: "cause an event on a real order or session",
      load: async () => [(await import("./webhook/trigger.ts")).registerTrigger],
    },
    explain: {
      group: "look",
      summary: "explain what happened to a request, an order, an event or a delivery, and why",
      load: async () => [(await import("./request/explain.ts")).registerExplain],
    },
    assumptions: {
      group: "look",
      summary: "list the sandbox's assumptions, and which of them your integration relied on",
      load: async () => [(await import("./readiness/assumptions.ts")).registerAssumptions],
    },
    calibrate: {
      group: "launch",
      summary: "compare a service with the sandbox's assumptions, and record the result",
      load: async () => [(await import("./calibration/calibrate.ts")).registerCalibrate],
    },
    whoami: {
      group: "look",
      summary: "show the service, store and key that commands use, and the source of each",
      load: async () => [(await import("./whoami.ts")).registerWhoami],
    },
    doctor: {
      group: "look",
      summary: "check everything that checkout depends on, and suggest fixes; changes nothing",
      load: async (_words, registry) => {
        const { registerDoctor } = await import("./doctor/doctor.ts");
        return [registerDoctor(() => listKnownVariables(registry))];
      },
    },
  } satisfies Readonly<Record<string, GroupEntry>>),
);

/** The whole command tree; only the typed groups contain their commands. */
export async function createProgram(registry: RegistrationContext): Promise<Command> {
  const { version, world } = registry;
  const { argv, stdout, stderr } = world;
  const program = new Command("checkout")
    .description("The Hosted Checkout and Orders Service v1 on your own machine.")
    .version(version, "-v, --version", "print the version")
    .exitOverride()
    // Options after a command belong to that command, even if a parent command has an option of the same name.
    .enablePositionalOptions()
    // The description of an option names its choices.
    .configureHelp({ minWidthToWrap: MIN_WIDTH_TO_WRAP, optionDescription: ({ description }) => description })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      // With --json, stderr has only the line of the problem: no help of a group.
      writeErr: (text) => void (isTyped(world, "json") || stderr.write(text)),
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
      // cli/main.ts catches the error and prints it.
      outputError: () => undefined,
    })
    .addHelpText("after", helpAfterCommands);
  const words = new Set(wordsBeforeSeparator(argv));
  for (const name of topLevelNames()) {
    const groupEntry = GROUPS.get(name);
    const entry = groupEntry ?? COMMANDS.get(name);
    if (entry === undefined) continue;
    program.commandsGroup(HELP_GROUPS[entry.group]);
    const isNameTyped = words.has(name);
    const shownCommand = groupEntry !== undefined || !isNameTyped ? program.command(name) : undefined;
    shownCommand?.description(entry.summary);
    if (isNameTyped)
      for (const registrar of await entry.load(words, registry))
        registrar({ ...registry, command: shownCommand ?? program });
  }
  program.commandsGroup(HELP_GROUPS.more).helpCommand("help [command]", "display help for command");
  return program;
}

/** Moves common options after the words of the command. `help` before or between these words becomes `--help`. */
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
  // An unknown word is an error, even with `help`.
  if (isUnknown) return [...words, ...restWords.filter((word) => !HELP_FLAGS.has(word))];
  // `orders create help` asks for help, because `create` takes no argument.
  if (restWords[0] === "help" && group.registeredArguments.length === 0) isHelp = true;
  const hasCommonOptions = group.options.some(({ long }) => long === "--json");
  return [...words, ...(isHelp ? ["--help"] : []), ...(hasCommonOptions ? commonWords : []), ...restWords];
}

const HELP_FLAGS: ReadonlySet<string> = new Set(["help", "--help", "-h"]);
/** Options of every command, or of every command about a store, and the number of words that each takes. */
const COMMON_LENGTHS: ReadonlyMap<string, number> = new Map([
  ...LOCATION_OPTIONS,
  ...[...SWITCHES].map((name) => [name, 1] as const),
]);

/** A command line, the program's commands, and the typed words that name a command. */
export type TypedLine = Pick<RegistrationContext, "world"> & {
  readonly program: Command;
  /** The words in commander's order. */
  readonly argv: readonly string[];
  /** The typed groups and command, up to the first unknown word, so that a hint never repeats a typing error. */
  readonly words: readonly string[];
  readonly command: Command;
};

/** The command line of a world. Runs nothing. */
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

/** The names of the groups and of the commands without a group, in the order of the help. */
export function topLevelNames(): readonly string[] {
  const entries = [...GROUPS, ...COMMANDS];
  return Object.keys(HELP_GROUPS).flatMap((helpGroup) =>
    entries.filter(([, { group }]) => group === helpGroup).map(([name]) => name),
  );
}

/** The words of every group and command. Loads each group alone, as `listKnownVariables` does. */
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

/** Loads each group alone, because the typed words decide which commands a group has. */
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
