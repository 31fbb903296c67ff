import { Command } from "commander";
import { ITEM_COUNT } from "../core/readiness/names.ts";
import type { Group, Registry } from "./command.ts";
import { isTyped, ownWords } from "./option-rules.ts";
import { widthOf } from "./printer.ts";
import type { KnownVariables } from "./variables.ts";

const GUIDE = `
Examples:
  $ checkout sandbox start
  $ checkout orders create --order-id order-1001 --price-id price_coffee
  $ checkout sessions get <id>
  $ checkout listen --forward http://localhost:3000/hooks

Exit codes:
  0 done            4 credential or permission    7 unreachable, timeout, 5xx
  1 failed          5 conflict                  130 interrupted
  2 usage           6 rate limited
  3 not ready, or with risks; unknown
exec ends with the code of the command that it runs.

A setting can come from a variable, which the help of its command names:
--base-url from CHECKOUT_BASE_URL, for example.
The API key comes from CHECKOUT_API_KEY or .checkout/credentials.json, never
from an option.`;

/** Narrower than this, commander would not wrap at all. */
const MIN_WIDTH_TO_WRAP = 20;

type Registrar = (group: Group) => void;
type Entry = {
  readonly summary: string;
  /** Loads its commands; `typed` are the words of the command line. */
  readonly load: (typed: ReadonlySet<string>, registry: Registry) => Promise<readonly Registrar[]>;
};

type Loaders = Readonly<Record<string, () => Promise<Registrar>>>;

/** The commands of the sandbox, each loaded alone: scripts run some of them often, and a start is to be fast. */
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

/** The command of a group that is typed; all of them where none is, for the help. */
function loadTyped(typed: ReadonlySet<string>, loaders: Loaders): Promise<readonly Registrar[]> {
  const named = Object.keys(loaders).filter((name) => typed.has(name));
  const names = named.length === 0 ? Object.keys(loaders) : named;
  return Promise.all(names.flatMap((name) => loaders[name]?.() ?? []));
}

/** Groups of commands: `checkout orders …`. Only the one that is typed is loaded, so that no command waits for another. */
const GROUPS: Readonly<Record<string, Entry>> = {
  sandbox: {
    summary: "the service on this machine",
    load: (typed) => loadTyped(typed, SANDBOX_COMMANDS),
  },
  orders: {
    summary: "one-time orders",
    load: (typed) => loadTyped(typed, ORDERS_COMMANDS),
  },
  sessions: {
    summary: "hosted checkout sessions",
    load: (typed) => loadTyped(typed, SESSIONS_COMMANDS),
  },
  "return-origins": {
    summary: "origins that customers may be sent back to",
    load: async () => [(await import("./order/return-origins.ts")).registerReturnOrigins],
  },
  endpoints: {
    summary: "endpoints that events are delivered to, and their signing secrets",
    load: async () => [
      (await import("./webhook/endpoints.ts")).registerEndpoints,
      (await import("./webhook/endpoint-secrets.ts")).registerEndpointSecrets,
    ],
  },
  events: {
    summary: "events: list them, wait for them, deliver them again",
    load: async () => [(await import("./webhook/events.ts")).registerEvents],
  },
  deliveries: {
    summary: "deliveries to endpoints, with the answers",
    load: async () => [(await import("./webhook/deliveries.ts")).registerDeliveries],
  },
  faults: {
    summary: "faults on demand: of the API and of deliveries",
    load: async () => [(await import("./fault/faults.ts")).registerFaults],
  },
  requests: {
    summary: "the log of v1 requests and their answers",
    load: async () => [(await import("./request/requests.ts")).registerRequests],
  },
  checklist: {
    summary: `check launch readiness: ${ITEM_COUNT} items with their evidence; exit 0 only when ready`,
    load: async () => [
      (await import("./readiness/checklist.ts")).registerChecklist,
      (await import("./readiness/waive.ts")).registerChecklistWaive,
      (await import("./readiness/drill-webhooks.ts")).registerChecklistWebhooks,
      (await import("./readiness/drill-duplicates.ts")).registerChecklistDuplicates,
      (await import("./readiness/drill-browser-return.ts")).registerChecklistBrowserReturn,
      (await import("./readiness/drill-idempotency.ts")).registerChecklistIdempotency,
    ],
  },
  stores: {
    summary: "the stores of the sandbox: make, list, show, choose and delete them",
    load: async () => [
      (await import("./store/stores.ts")).registerStores,
      (await import("./store/show.ts")).registerStoresShow,
      (await import("./store/delete-store.ts")).registerStoresDelete,
    ],
  },
  config: {
    summary: "the configuration of the sandbox, as a file",
    load: async () => [(await import("./config/commands.ts")).registerConfig],
  },
  keys: {
    summary: "API keys of the store, and secrets for a new sandbox",
    load: async () => [(await import("./store/keys.ts")).registerKeys],
  },
  prices: {
    summary: "the catalog: prices that orders name by their id",
    load: async () => [(await import("./store/prices.ts")).registerPrices],
  },
  capabilities: {
    summary: "payment methods and currencies of the store",
    load: async () => [(await import("./store/show.ts")).registerCapabilities],
  },
  production: {
    summary: "request production, as the merchant",
    load: async () => [(await import("./readiness/production.ts")).registerProduction],
  },
  admin: {
    summary: "for the administrator: approvals, the production gate, the audit log",
    load: async () => [(await import("./readiness/admin.ts")).registerAdmin],
  },
  webhooks: {
    summary: "sign and verify webhooks",
    load: async () => [(await import("./webhook/webhooks.ts")).registerWebhooks],
  },
  portal: {
    summary: "the portal in your browser; checkout open opens it",
    load: async () => [(await import("./portal/sign-out.ts")).registerPortalSignOut],
  },
  snapshots: {
    summary: "snapshots of a store or of the whole sandbox: take, list, restore and remove them",
    load: (typed) => loadTyped(typed, SNAPSHOTS_COMMANDS),
  },
  idempotency: {
    summary: "the journal of idempotency keys (not of API keys)",
    load: async () => [(await import("./order/idempotency.ts")).registerIdempotency],
  },
};

/** Commands without a group. */
const COMMANDS: Readonly<Record<string, Entry>> = {
  env: {
    summary: "print the variables of the running sandbox, for a shell, a .env file or CI",
    load: async () => [(await import("./sandbox/env.ts")).registerEnv],
  },
  listen: {
    summary: "receive events, verify them, and forward them to your application",
    load: async () => [(await import("./listen/listen.ts")).registerListen],
  },
  exec: {
    summary: "run a command with a fresh sandbox of its own: checkout exec -- npm test",
    load: async () => [(await import("./sandbox/exec.ts")).registerExec],
  },
  open: {
    summary: "open the portal in your browser, or the page of an id, and sign in there",
    load: async () => [(await import("./portal/open.ts")).registerOpen],
  },
  trigger: {
    summary: "make an event happen, on a real order or session",
    load: async () => [(await import("./webhook/trigger.ts")).registerTrigger],
  },
  explain: {
    summary: "say what happened and why: of a request, an order, an event or a delivery",
    load: async () => [(await import("./request/explain.ts")).registerExplain],
  },
  assumptions: {
    summary: "list the gaps of the interface, and which your integration relied on",
    load: async () => [(await import("./readiness/assumptions.ts")).registerAssumptions],
  },
  calibrate: {
    summary: "compare a service with the sandbox's assumptions, and record the result",
    load: async () => [(await import("./readiness/calibrate.ts")).registerCalibrate],
  },
  whoami: {
    summary: "show which service, store and key the commands use, and where each comes from",
    load: async () => [(await import("./whoami.ts")).registerWhoami],
  },
  doctor: {
    summary: "check everything that checkout depends on, with what to do; changes nothing",
    load: async (_typed, registry) => {
      const { registerDoctor } = await import("./doctor/doctor.ts");
      return [registerDoctor(() => knownVariables(registry))];
    },
  },
};

/** The whole command tree, with the groups that are typed filled in. */
export async function createProgram(registry: Registry): Promise<Command> {
  const { version, world } = registry;
  const { argv, stdout, stderr } = world;
  const program = new Command("checkout")
    .description("The Hosted Checkout and Orders Service v1 on your own machine.")
    .version(version, "-v, --version", "print the version")
    .exitOverride()
    // What stands behind a command is that command's own, also where one above it has an option of the same name.
    .enablePositionalOptions()
    .configureHelp({ minWidthToWrap: MIN_WIDTH_TO_WRAP })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      // In JSON the problem is the one line: the help of a group stays away.
      writeErr: (text) => void (isTyped(world, "json") || stderr.write(text)),
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
      // The one catch of the command line prints what is wrong.
      outputError: () => undefined,
    })
    .addHelpText("after", GUIDE);
  const typed = new Set(ownWords(argv));
  for (const [name, { summary, load }] of Object.entries(GROUPS)) {
    const group = program.command(name).description(summary);
    if (typed.has(name))
      for (const registrar of await load(typed, registry)) registrar({ ...registry, command: group });
  }
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    if (!typed.has(name)) program.command(name).description(summary);
    else for (const registrar of await load(typed, registry)) registrar({ ...registry, command: program });
  }
  return program;
}

/**
 * A command line as commander takes it: what stands before or between the words of a command and belongs to every one
 * (`--json`, `--dir`, `--store`) comes behind them, and `help` at any of these places is `--help`.
 */
export function arranged(program: Command, argv: readonly string[]): readonly string[] {
  const [words, common]: [string[], string[]] = [[], []];
  let group = program;
  let at = 0;
  let helps = false;
  while (at < argv.length && (group === program || group.commands.length > 0)) {
    const word = argv[at] ?? "";
    const found = group.commands.find((command) => command.name() === word);
    const length = PLACES.get(word) ?? Number(/^--(dir|store)=/.test(word));
    if (HELP.has(word)) helps = true;
    else if (length > 0) common.push(...argv.slice(at, at + length));
    else if (found === undefined) break;
    else words.push((group = found).name());
    at += Math.max(1, length);
  }
  const rest = argv.slice(at);
  const isUnknown = group.commands.length > 0 && rest[0]?.startsWith("-") === false;
  // A word that is no command is said, and not answered with the help of another one.
  if (isUnknown) return [...words, ...rest.filter((word) => !HELP.has(word))];
  // `orders create help`, where no word is taken for anything else.
  if (rest[0] === "help" && group.registeredArguments.length === 0) helps = true;
  const takesCommon = group.options.some(({ long }) => long === "--json");
  return [...words, ...(helps ? ["--help"] : []), ...(takesCommon ? common : []), ...rest];
}

const HELP: ReadonlySet<string> = new Set(["help", "--help", "-h"]);
/** The options of every command, and of those that are about a store; and how many words each takes. */
const PLACES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    "--json": 1,
    "--no-color": 1,
    "--trust-folder": 1,
    "--dir": 2,
    "--store": 2,
  }),
);

/** A command of the tree, or a group of them, and its words. */
export type TypedCommand = { readonly words: readonly string[]; readonly command: Command };

/** The groups and the command that were typed, as far as there are such: a hint does not repeat a mistyped word. */
export function typedCommand(program: Command, argv: readonly string[]): TypedCommand {
  const words: string[] = [];
  let command = program;
  for (const word of argv.filter((one) => !one.startsWith("-"))) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) break;
    command = next;
    words.push(word);
  }
  return { words, command };
}

/** The words of every group and command. Loads all of them, each group alone, as `knownVariables` does. */
export async function commandPaths(registry: Registry): Promise<readonly (readonly string[])[]> {
  const paths: (readonly string[])[] = [];
  for (const name of [...Object.keys(GROUPS), ...Object.keys(COMMANDS)]) {
    const program = await createProgram({ ...registry, world: { ...registry.world, argv: [name] } });
    const first = program.commands.find((command) => command.name() === name);
    if (first !== undefined) paths.push(...pathsBelow(first, [name]));
  }
  return paths;
}

function pathsBelow(command: Command, path: readonly string[]): readonly (readonly string[])[] {
  return [path, ...command.commands.flatMap((one) => pathsBelow(one, [...path, one.name()]))];
}

/** Every variable that the program reads. Loads all commands, each alone, because `typed` decides what a group has. */
export async function knownVariables(registry: Registry): Promise<KnownVariables> {
  const { OTHER_VARIABLES, variablesBelow } = await import("./variables.ts");
  const known = new Map(OTHER_VARIABLES);
  for (const name of [...Object.keys(GROUPS), ...Object.keys(COMMANDS)]) {
    const program = await createProgram({ ...registry, world: { ...registry.world, argv: [name] } });
    for (const [variable, refuses] of variablesBelow(program)) known.set(variable, refuses);
  }
  return known;
}
