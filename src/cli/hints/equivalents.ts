import { STATUSES, type Status } from "../../core/checkout/checkout.ts";
import { isAnyId } from "../parsers.ts";
import { completeAddress } from "../../core/network/spelled-address.ts";

export type Suggestion = readonly string[] | string;

export function equivalentCommands(words: readonly string[]): Suggestion | undefined {
  const prefixes = words.map((_word, at) => words.slice(0, words.length - at).join(" "));
  return prefixes.map((prefix) => COMMANDS.get(prefix)).find((command) => command !== undefined);
}

export function correctedLine(words: readonly string[], value?: string): string | undefined {
  const line = LINES.get(words.join(" "));
  if (value !== undefined && line?.includes("<") === false) return undefined;
  if (value !== undefined && line?.includes("<event_id>") === true && !isAnyId(value))
    return `checkout events list${/\d/.test(value) ? ` --order-id ${safeWordOrPlaceholder("<order_id>", value)}` : ""} shows the event_ids; ${line}`;
  if (value !== undefined && line?.includes("<port>") === true && !/^\d{2,5}$/.test(value)) return undefined;
  if (value !== undefined && line?.includes("<time>") === true && !/^\d{4}-/.test(value)) return undefined;
  return line?.replace(/<\w+>/, (placeholder) => safeWordOrPlaceholder(placeholder, value));
}

export function correctedExec(typedWords: readonly string[], isWholeLine: boolean): string | undefined {
  const [run, program = ""] = typedWords;
  if (run !== "run" || !(PROGRAMS.has(program) || program.includes("/"))) return undefined;
  const command = isWholeLine ? typedWords.slice(1).map((word) => safeWordOrPlaceholder("", word)) : [""];
  return `checkout exec -- ${command.includes("") ? "<command>" : command.join(" ")}`;
}

/** Whether a command may delete or stop something; a mere typo must not suggest such a command. */
export function isDestructive(command: string): boolean {
  return DESTRUCTIVE_WORDS.has(command.split(" ").at(-1) ?? "");
}

export function safeWordOrPlaceholder(placeholder: string, value = ""): string {
  const url = placeholder === "<url>" ? (completeAddress(value) ?? value) : value;
  const word = placeholder === "<time>" && /^\d{4}-\d\d-\d\d$/.test(url) ? `${url}T00:00:00Z` : url;
  return /^[\w.~:/][\w.~:/-]*$/.test(word) ? word : placeholder;
}

export function isPlain(word: string): boolean {
  return safeWordOrPlaceholder("", word.replace(/^--?(?=\w)/, "").replace("=", "")) !== "";
}

/** Returns the status that a word of another payment service means. */
export function statusFor(word: string): Status | undefined {
  return STATUSES.find((status) => status === word) ?? STATUS_WORDS.get(word);
}

export function groupOfNoun(noun: string): string | undefined {
  return NOUNS.get(noun);
}

export function normalizeWord(word: string): string {
  return /^\/|\/v1\//.test(word) ? "<path>" : word.toLowerCase();
}

export function subcommandsFor(name: string): readonly string[] {
  return SUBCOMMANDS.get(name) ?? [];
}

export function optionWordsFor(name: string): readonly string[] {
  return OPTIONS.get(name) ?? [];
}

export function didYouMean(lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return ` (Did you mean ${lines.length === 1 ? "" : "one of "}${lines.join(", ")}?)`;
}

const EQUIVALENTS = {
  lines: {
    "orders pay | sessions pay | pay | charge | sandbox pay --id | sandbox pay --order-id":
      "checkout sandbox pay <id>",
    "orders cancel | sessions cancel | sandbox cancel | cancel | sandbox pay --cancel | sandbox pay --outcome cancel | sandbox pay --outcome canceled | sandbox pay --outcome cancelled":
      "checkout sandbox pay <id> --outcome cancelled",
    "orders expire | sessions expire | sandbox expire | expire | sandbox pay --outcome expire | sandbox pay --outcome expired":
      "checkout sandbox pay <id> --outcome expired",
    "orders decline | sandbox decline | decline | orders pay --declined | sessions pay --declined | pay --declined | sandbox pay --decline | sandbox pay --declined | sandbox pay --outcome decline | sandbox pay --outcome declined":
      "checkout sandbox pay <id> --outcome declined",
    "sandbox clock forward | sandbox clock move": "checkout sandbox clock advance <duration>",
    "sandbox clock reset | sandbox clock unfreeze": "checkout sandbox clock real",
    "sandbox clock now": "checkout sandbox clock show",
    "sandbox clock stop | sandbox clock pause": "checkout sandbox clock freeze",
    "faults clear <id>": "checkout faults remove <id>",
    "sandbox clock freeze <word>": "checkout sandbox clock set <time>",
    "requests show <word> | requests view <word> | requests describe <word>":
      "checkout requests list --order-id <order_id>",
    "checklist start | checklist --run | checklist run all | shop run": "checkout checklist run",
    "webhooks test": "checkout endpoints test <id>",
    "webhooks send | webhooks trigger | events send | send": "checkout trigger <type>",
    "webhooks replay | webhooks retry | webhooks resend | resend | replay":
      "checkout events replay <event_id>",
    "webhooks secret": "checkout endpoints secret <id>",
    "listen <url> | listen --url | listen --to | listen --forward-to | forward | forward <url> | forward --to | webhooks listen --forward-to | webhooks listen --forward | webhooks listen --url | webhooks listen <url> | webhooks forward <url> | webhooks forward --to | subscribe <url> | http <url> | tunnel <url> | ngrok <url> | port-forward <url>":
      "checkout listen --forward <url>",
    "listen | http | tunnel | ngrok | ngrok http | port-forward | forward-to | webhooks forward | subscribe | stripe listen":
      "checkout listen --forward http://localhost:<port>/hooks",
    "events listen | events watch": "checkout listen",
    "mcp start | mcp serve | mcp run | mcp stdio | mcp server": "checkout mcp",
    "mcp install | mcp add | mcp setup": "checkout mcp config --client claude",
    "run server | run dev | run sandbox | start sandbox | start server": "checkout sandbox start",
    "start --port | up --port | serve --port | sandbox up --port": "checkout sandbox start --port <port>",
    "run all | run checklist | run tests": "checkout checklist run",
    run: "checkout exec -- npm test runs a command with its own sandbox, checkout sandbox start the sandbox alone, and checkout checklist run judges your shop",
    "requests tail | requests watch": "checkout requests list --follow",
    "faults reset | faults delete all | faults delete --all | faults remove --all | faults rm all | faults rm --all":
      "checkout faults clear",
    "faults add status": "checkout faults add status --status <status>",
    "faults add latency | faults add latency --duration": "checkout faults add latency --latency <duration>",
    "stores create <word>": "checkout stores create --name <name>",
    "orders create <word>": "checkout orders create --order-id <id> --price-id price_coffee",
    "orders get --id | orders get --order-id": "checkout orders get <id>",
    "checklist show": "checkout checklist",
    "stores get | stores describe": "checkout stores show --store <name>",
    "endpoints add --url": "checkout endpoints add <url>",
    "checklist webhooks | checklist webhook | checklist --only webhooks | checklist run webhook":
      "checkout checklist run webhooks",
    "checklist duplicates | checklist --only duplicates | checklist run duplicate":
      "checkout checklist run duplicates",
    "checklist idempotency | checklist --only idempotency": "checkout checklist run idempotency",
    "checklist browser-return | checklist --only browser-return | checklist --only browser_return | checklist run browser_return":
      "checkout checklist run browser-return",
    "requests list <id>": "checkout requests get <id>",
    "events list <id>": "checkout events get <id>",
    "signatures | signature": "checkout webhooks --help",
    "state save | state create | backup create | backup save | save": "checkout snapshots create <name>",
    "snapshots load | state load | state restore | backup restore": "checkout snapshots restore <name>",
    "portal | dashboard | ui | console | sandbox open": "checkout open",
    launch: "checkout checklist",
    "why | story | inspect | describe | describe order | describe checkout | logs <id> | deliveries get | deliveries show":
      "checkout explain <id>",
    "logs tail | tail": "checkout requests list --follow",
    "list | payments | charges | payment_intents": "checkout orders list",
    "webhook_endpoints create --url": "checkout endpoints add <url>",
    "config use-context | use-context": "checkout stores use <name>",
    "auth | auth status | who": "checkout whoami",
    "shop test | shop verify | shop validate": "checkout shop check",
    "webhooks verify <word>":
      "checkout webhooks verify --payload-file <file> --timestamp <timestamp> --signature <signature>",
    "webhooks sign <word>": "checkout webhooks sign --payload-file <file>",
    "deliveries <id>": "checkout explain <id>",
    "endpoints <id>": "checkout deliveries list --endpoint <id>",
    "production approve | production grant": "checkout admin approve-credential",
    "production status | production show": "checkout checklist",
    "production open": "checkout admin open-gate",
    "endpoints resume | endpoints unpause": "checkout endpoints enable <id>",
    "endpoints roll-secret | endpoints rotate": "checkout endpoints rotate-secret <id>",
    "idempotency delete | idempotency remove | idempotency clear": "checkout idempotency forget <key>",
    "sandbox pay --outcome success | sandbox pay --outcome paid | sandbox pay --outcome succeeded":
      "checkout sandbox pay <id> --outcome succeeded",
    "sandbox pay --fail | sandbox pay --outcome fail | sandbox pay --outcome failed":
      "checkout sandbox pay <id> --outcome failed",
  },
  commands: {
    "up | serve | server | server start | sandbox up | mock | mock start | emulator | emulators start | stub":
      ["sandbox start"],
    dev: ["sandbox start", "hosted dev"],
    "down | sandbox down | kill | sandbox kill": ["sandbox stop"],
    "ps | sandbox info | sandbox ps | sandbox list": ["sandbox status"],
    "sandbox clear": ["sandbox reset"],
    "restart | sandbox restart": "run checkout sandbox stop and checkout sandbox start; the state stays",
    "login | auth login":
      "there is no account; checkout sandbox start creates the API key, and checkout env prints it",
    "init | setup | install":
      "no set-up is needed: checkout sandbox start creates the store and its API key, and checkout shop init describes your shop",
    "sandbox delete | sandbox remove | sandbox destroy":
      "run checkout sandbox stop to end it, or checkout sandbox reset to delete its history; the folder .checkout has its state",
    test: "run checkout exec -- npm test for your test suite, or checkout checklist run to judge your shop",
    "shop create | shop add | shop setup | shop edit": ["shop init"],
    "get orders": ["orders list"],
    "get events": ["events list"],
    "get endpoints | get webhooks": ["endpoints list"],
    "products list | catalog": ["prices list"],
    "checkout list | checkouts list": ["orders list", "sessions list"],
    "endpoints update | endpoints edit":
      "an endpoint cannot be changed: run checkout endpoints add <url> and checkout endpoints remove <id>",
    "orders create --data | orders create -d | sessions create --data | sessions create -d":
      "each field is an option: checkout orders create --order-id <id> --price-id price_coffee",
    "--url | --server | --api-url":
      "add --base-url <url> after the command for another service; the folder's sandbox is found without it",
    "--return-url | --success-url | --cancel-url":
      "a request has no return page: checkout return-origins add <origin> --path <path> sets it for the store",
    "--debug | --verbose":
      "checkout explain <id> tells what happened to a request or an order; checkout doctor checks this machine",
    "update | upgrade":
      "install the newer package with npm, as you installed this one; checkout --version prints the version",
    "man | docs": "there is no manual page; checkout help <command> explains a command",
    "refund | refunds | orders refund | sessions refund | sandbox refund":
      "the v1 interface has no refunds; checkout sandbox pay <id> --outcome failed shows your shop a failed payment",
    "webhooks list": ["endpoints list", "events list", "deliveries list"],
    "webhooks add | webhooks create": ["endpoints add"],
    "webhooks listen | events tail": ["listen"],
    "configure | configure set": ["env", "whoami"],
    "customers | customers list | customers create":
      "the v1 interface has no customers; an order has the order_id of your shop",
    "api | curl | get <path> | post | put | patch | delete <path> | request | <path> | http <path> | http get | http post | -X | -H | --request":
      "checkout env prints the address and the key for curl; checkout orders and checkout sessions call the same API",
    "collection | collections | newman | postman | fixtures | samples":
      "a run of requests is a scenario in a file of yours, as docs/scenarios.md shows; checkout checklist run judges your shop",
    "config init": ["config export"],
    "requests tail":
      "checkout requests list --follow prints each request; --method, --path and --status choose",
    "completion sh": ["completion bash"],
    "config list | config show | config get | config --list | config --show": ["config export", "whoami"],
    "config set | config edit":
      "edit checkout.config.json and run checkout config apply; checkout config export prints such a file",
    "prices update | prices edit":
      "a price cannot be changed: checkout prices add <price_id> adds another one, and checkout prices retire <price_id> ends the old one",
    "stores rename": "a store keeps its name; checkout stores list shows the names",
    "endpoints get | endpoints show | endpoints describe": "checkout endpoints list shows the endpoints",
    "endpoints add --secret":
      "leave out --secret: the sandbox generates the secret, and checkout endpoints secret <id> prints it",
    "sandbox start --reset":
      "leave out --reset; checkout sandbox reset deletes the history of a running sandbox",
    "production request --reason": "leave out --reason: a request has no reason",
    "completion bash --shell": "checkout completion bash",
    "completion zsh --shell": "checkout completion zsh",
    "completion fish --shell": "checkout completion fish",
    "shop init --url | shop check --url": "run checkout shop init, which asks for the addresses of your shop",
    "faults add error": ["faults add status --status 500"],
    "faults add timeout": ["faults add latency --latency 30s", "faults add lose_answer"],
    "orders update | sessions update | orders edit | sessions edit":
      "an order cannot be changed; checkout orders create --order-id <id> creates another one",
    "deliveries retry <id> | deliveries replay | deliveries resend":
      "no delivery is sent again alone: checkout deliveries retry --endpoint <id> sends what waits, and checkout events replay <event_id> an event (checkout explain <id> names it)",
    "admin approve": ["admin approve-credential", "admin approve-price"],
    "orders delete | sessions delete | rm | remove | delete":
      "nothing is deleted alone; checkout sandbox reset deletes the whole history",
    "sandbox pay --status | sandbox pay --result": ["--outcome"],
    "faults add --ms | faults add --delay": ["--latency"],
    "env --shell": ["--format"],
    "--allow-env":
      "put the key of the target into CHECKOUT_TARGET_<NAME>_API_KEY, the only variable that is read",
    "checklist --probe":
      "run checkout calibrate --base-url <url>, which asks the service; checkout checklist --base-url <url> reads its record",
    "deploy | publish":
      "nothing is deployed: checkout checklist names what is missing before production, and checkout production request asks for its credential",
    "keys rotate | keys roll | keys renew":
      "run checkout keys create, and checkout keys revoke <key_id> when your application uses the new key",
    "sandbox stop --port":
      "checkout sandbox stop ends the sandbox of this folder; --dir <folder> names another one",
    stripe: "this is another program; checkout --help lists the commands of this one",
    "stripe trigger": "checkout trigger order.succeeded makes an order and pays it, with all its events",
    "doctor --fix": "checkout doctor changes nothing; it prints what to type for each finding",
  },
  nouns: {
    "checkout | checkouts | checkout_sessions | checkout-sessions | payment_links | payment_link": "sessions",
    "payments | payment | charges | charge | payment_intents | payment_intent": "orders",
    "webhook_endpoints | webhook_endpoint | hooks | hook": "endpoints",
    "products | product | plans": "prices",
    delivery: "deliveries",
  },
  subcommands: {
    show: ["get", "list"],
    "describe | retrieve | inspect | fetch": ["get"],
    view: ["get", "show", "list"],
    ls: ["list"],
    "new | make": ["create", "add"],
    add: ["create"],
    create: ["add"],
    save: ["create"],
    delete: ["remove", "revoke", "retire"],
    rm: ["remove", "delete"],
    run: ["start"],
    "switch | select | activate": ["use"],
    "resend | retry": ["replay"],
    redeliver: ["retry"],
  },
  statuses: {
    "paid | success | successful | succeed | complete | completed": "succeeded",
    "cancel | canceled": "cancelled",
    "fail | declined | decline": "failed",
    expire: "expired",
  },
  programs:
    "npm npx pnpm yarn bun node deno jest vitest playwright python python3 pytest php go java mvn gradle dotnet make sh bash",
  destructiveWords:
    "remove delete revoke revoke-credential revoke-price retire clear forget reset restore uninstall stop",
  options: {
    "d | background | daemon": ["detach"],
    p: ["port"],
    memory: ["ephemeral"],
    "n | l | max | max-items | top | count | page-size | per-page": ["limit"],
    "forward-to | to": ["forward"],
    H: ["header", "timestamp", "signature"],
    "host | bind": ["listen"],
    dotenv: ["format"],
    "type | event-type": ["event"],
    "output | format | o": ["json"],
    "code | status-code": ["status"],
    "skip-verify": ["insecure"],
    "body | data": ["payload"],
    "header | headers": ["timestamp", "signature"],
  },
} as const;

const LINES = mapOf<string>(EQUIVALENTS.lines);
const COMMANDS = mapOf<Suggestion>(EQUIVALENTS.commands);
const STATUS_WORDS = mapOf<Status>(EQUIVALENTS.statuses);
const SUBCOMMANDS = mapOf<readonly string[]>(EQUIVALENTS.subcommands);
const PROGRAMS: ReadonlySet<string> = new Set(EQUIVALENTS.programs.split(" "));
const DESTRUCTIVE_WORDS: ReadonlySet<string> = new Set(EQUIVALENTS.destructiveWords.split(" "));
const NOUNS = mapOf<string>(EQUIVALENTS.nouns);
const OPTIONS = mapOf<readonly string[]>(EQUIVALENTS.options);

function mapOf<Value>(rows: Readonly<Record<string, Value>>): ReadonlyMap<string, Value> {
  return new Map(
    Object.entries(rows).flatMap(([phrases, line]) =>
      phrases.split(" | ").map((phrase) => [phrase, line] as const),
    ),
  );
}
