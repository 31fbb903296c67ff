import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import type { OutputKind } from "../../src/cli/output/kind.ts";
import { COMMANDS_WITHOUT_RESULT, OUTPUT_KINDS, type OutputKindName } from "../../src/cli/output/kinds.ts";
import { outputSchema, schemaOf } from "../../src/cli/output/schema.ts";
import { commandMap } from "../../src/cli/help/map.ts";
import type { MappedCommand } from "../../src/core/help/map.ts";
import { describedShop } from "../support/described-shop.ts";
import { createHarness, type CommandOptions, type Harness } from "../support/harness.ts";
import { jqOutput } from "../support/jq.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const REGISTRY = { world: { ...REAL, argv: [] }, version: "0.0.0", exit: () => undefined };
const NAMES = Object.keys(OUTPUT_KINDS) as readonly OutputKindName[];
const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** For each kind a validator that allows only the documented fields. */
const CHECKS = new Map<OutputKindName, ValidateFunction>(
  NAMES.map((name) => [name, ajv.compile(schemaOf(name, { isClosed: true }))]),
);

type Json = Readonly<Record<string, unknown>>;

/** A printed result, with its kind and command. */
type PrintedResult = { readonly kind: OutputKindName; readonly command: string; readonly value: unknown };

/** The printed results, and the wrong outputs, which match no kind of their command. */
type Results = { readonly printed: PrintedResult[]; readonly wrong: unknown[] };

/** The words of every runnable command. */
async function commandsOfProgram(): Promise<readonly string[]> {
  const all = (commands: readonly MappedCommand[]): readonly MappedCommand[] =>
    commands.flatMap((one) => [one, ...all(one.commands)]);
  const { commands } = await commandMap(REGISTRY);
  return all(commands).flatMap(({ words, runs }) => (runs ? [words] : []));
}

function commandsOf(name: OutputKindName): readonly string[] {
  return OUTPUT_KINDS[name].commands;
}

/** Runs commands with --json, and finds the kind of each line that they print. */
function createRecorder(harness: Harness, known: readonly string[], { printed, wrong }: Results) {
  const record = (words: string, text: string, kinds: readonly OutputKindName[]): void => {
    for (const line of text.split("\n").filter(Boolean)) {
      const value: unknown = JSON.parse(line);
      const errors = kinds.map((kind) => {
        const check = CHECKS.get(kind);
        return check?.(value) === true ? undefined : [kind, check?.errors?.[0]];
      });
      const kind = kinds[errors.indexOf(undefined)];
      if (kind === undefined) wrong.push([words, errors, line.slice(0, 400)]);
      if (kind !== undefined) printed.push({ kind, command: words, value });
    }
  };
  const commandOf = (line: string): string =>
    known
      .filter((words) => `${line} `.startsWith(`${words} `))
      .toSorted((left, right) => right.length - left.length)[0] ?? line.replace(/ .*/, "");
  const run = async (line: string, options: CommandOptions = {}): Promise<Json> => {
    const [own = "", program] = line.split(" -- ");
    const typed = [...own.split(" "), "--json", ...(program === undefined ? [] : ["--", program])];
    const { code, stdout, stderr } = await harness.run(typed, options);
    const words = commandOf(own);
    if (stdout === "") {
      if (code === 0) wrong.push([line, "printed nothing"]);
      record(words, stderr, ["error"]);
      return {};
    }
    record(
      words,
      stdout,
      NAMES.filter((name) => commandsOf(name).includes(words)),
    );
    return JSON.parse(stdout) as Json;
  };
  return { run, record };
}

const SITE = [
  "sandbox wait",
  "sandbox status",
  "env",
  "whoami",
  "doctor",
  "orders get o-1",
  "sessions get s-1",
  "orders create --order-id o-1 --price-id price_coffee --dry-run",
  "orders list",
  "sessions list",
  "orders create --order-id o-1 --price-id price_coffee --new-attempt",
  "orders get nothing",
  "nope",
  "faults",
  "sandbox pay o-1",
  "sandbox pay s-1 --outcome declined",
  "sessions get s-1 --wait --timeout 1ms",
  ...["show", "freeze", "advance 1h", "set 2027-01-01T00:00:00Z", "real"].map((a) => `sandbox clock ${a}`),
  ...["add http://localhost:3000", "list", "remove http://localhost:3000"].map((a) => `return-origins ${a}`),
  "prices add tea --amount-minor 700 --currency EUR --payment-method alipay_plus",
  "prices list",
  "prices retire tea",
  "idempotency list",
  "idempotency show KEY",
  ...["list", "disable ENDPOINT", "pause ENDPOINT", "enable ENDPOINT", "test ENDPOINT"].map(
    (a) => `endpoints ${a}`,
  ),
  "endpoints test ENDPOINT --wait",
  "endpoints secret ENDPOINT",
  "endpoints rotate-secret ENDPOINT",
  ...["list", "list --order-id o-1", "get EVENT", "replay EVENT", "replay-failed"].map((a) => `events ${a}`),
  "deliveries list",
  "deliveries retry",
  "trigger order.succeeded",
  "trigger webhook.test",
  "faults add drop",
  "faults list",
  "faults remove FAULT",
  "faults clear",
  "snapshots create one",
  "snapshots create all --all",
  "snapshots list",
  "snapshots restore one",
  "snapshots remove one",
  "requests list",
  "requests get REQUEST",
  "explain o-1",
  "explain REQUEST",
  "explain o-1 --html",
  "checklist",
  "checklist waive duplicates --reason none",
  "checklist run webhooks",
  "calibrate --base-url http://127.0.0.1:4242/v1 --yes",
  "calibrate --base-url http://127.0.0.1:4242/v1 --yes --check",
  "assumptions",
  "assumptions --used",
  "config export",
  "config validate",
  "config diff",
  "config apply",
  "stores show",
  "stores create --name Tea",
  "stores list",
  "stores use Tea",
  "stores delete Tea --yes",
  "capabilities list",
  "production request",
  "keys create",
  "keys list",
  "keys revoke API_KEY",
  "tokens create",
  "tokens list",
  "tokens revoke TOKEN",
  "keys generate",
  "endpoints remove ENDPOINT",
  "open --print",
  "portal sign-out",
  "mcp config --client claude",
  "mcp config --client vscode",
  "mcp config --client codex",
  "webhooks sign --payload-file body.json",
  "webhooks verify --payload-file body.json --timestamp 1 --signature x",
  "approve-credential",
  "deactivate",
  "activate",
  "disable-capability EUR",
  "enable-capability EUR",
  "revoke-price price_coffee",
  "approve-price price_coffee",
  "open-gate",
  "close-gate",
  "revoke-credential",
  "log",
  ...["bash", "zsh", "fish", "powershell", "install bash", "uninstall bash"].map((a) => `completion ${a}`),
  "help",
  "help webhooks",
  "listen --print-secret",
  "sandbox reset --yes",
  "idempotency forget KEY",
  "stores list --store nothing",
  "sandbox stop",
  "sandbox stop",
  "sandbox status",
  "snapshots list",
];
const ADMIN = new Set([
  "approve-credential",
  "deactivate",
  "activate",
  "open-gate",
  "close-gate",
  "revoke-credential",
  "log",
]);

/** The complete command line for a line of the list, which leaves out `admin`. */
function asTyped(line: string): string {
  const [first = ""] = line.split(" ");
  const isAct = ADMIN.has(first) || /^(en|dis)able-capability|^(approve|revoke)-price/.test(line);
  return isAct ? `admin ${line}` : line;
}

async function runSite(known: readonly string[], results: Results): Promise<void> {
  const harness = createHarness();
  const { run, record } = createRecorder(harness, known, results);
  const sandbox = await harness.start();
  record("sandbox start", JSON.stringify(sandbox.ready), ["ready"]);
  harness.occupy(3000, {
    answer: () => Promise.resolve({ status: 204, headers: {}, body: "" }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  const folder = tempFolder();
  const secret = sandbox.ready.signing_secret;
  const env = { XDG_DATA_HOME: folder, HOME: folder, CHECKOUT_SIGNING_SECRET: secret };
  const calibrating = { CHECKOUT_API_KEY: sandbox.ready.api_key ?? "" };
  writeFileSync(join(harness.cwd, "body.json"), "{}");
  const listening = await harness.launch(["listen", "--json", "--forward", "http://localhost:3000/hooks"]);
  const endpoint = await run("endpoints add http://localhost:3000/hooks");
  const order = await run("orders create --order-id o-1 --price-id price_coffee");
  await run("sessions create --order-id s-1 --price-id price_coffee");
  await harness.clock.sleep(1000);
  record("listen", (await listening.stop()).stdout, ["listen"]);
  const first = async (line: string, list: string, field: string): Promise<string> => {
    const found = (await run(line))[list] as readonly Readonly<Record<string, string>>[] | undefined;
    return found?.[0]?.[field] ?? "";
  };
  const ids: Record<string, string> = {
    ENDPOINT: String(endpoint["id"]),
    KEY: String(order["idempotency_key"]),
    EVENT: await first("events list", "events", "event_id"),
    REQUEST: await first("requests list", "requests", "request_id"),
  };
  for (const line of SITE) {
    if (line === "faults remove FAULT") ids["FAULT"] = await first("faults list", "faults", "id");
    if (line.startsWith("tokens revoke")) ids["TOKEN"] = await first("tokens list", "tokens", "token_id");
    if (line.startsWith("keys revoke")) ids["API_KEY"] = await first("keys list", "keys", "key_id");
    if (line === "config validate")
      writeFileSync(
        join(harness.cwd, "checkout.config.json"),
        (await harness.run(["config", "export"])).stdout,
      );
    const typed = asTyped(line).replace(
      /\b(ENDPOINT|API_KEY|KEY|TOKEN|EVENT|REQUEST|FAULT)\b/,
      (name) => ids[name] ?? name,
    );
    const own = /^(completion|webhooks)/.test(line)
      ? { env }
      : line.startsWith("calibrate")
        ? { env: calibrating }
        : {};
    await run(typed, own);
    await harness.clock.sleep(100);
  }
  const following = await harness.launch(["sandbox", "start", "--detach", "--json"]);
  record("sandbox start", (await following.ended).stdout, ["ready"]);
  await run("orders create --order-id o-2 --price-id price_coffee");
  appendFileSync(join(harness.cwd, ".checkout", "sandbox.log"), "a line of the log\n");
  await run("sandbox logs");
  const requests = await harness.launch(["requests", "list", "--follow", "--json"]);
  record("requests list", (await requests.stop()).stdout, ["request_line"]);
}

async function runShop(known: readonly string[], results: Results): Promise<void> {
  const site = await openWebhookSite();
  const { harness } = site;
  describedShop(site, { books: 2 }).open();
  await site.addEndpoint("http://localhost:3000/hooks");
  const { run } = createRecorder(harness, known, results);
  const shop = {
    create: "create-order",
    order_id_of: String.raw`created (\S+)`,
    order_view: "http://localhost:3000/orders/{order_id}",
    paid_when: '"paid"',
    bookings: "times",
    amount: "amount_minor",
    return_url: "http://localhost:3000/thanks",
  };
  writeFileSync(join(harness.cwd, "checkout.config.json"), JSON.stringify({ shop }));
  for (const line of ["shop check --trust-config", "checklist run --trust-config", "shop init"])
    await run(line);
  for (const part of ["duplicates", "browser-return", "idempotency"])
    await run(`checklist run ${part} --trust-config`);
  await run('explore --only [{"action":"lose_answer"}] -- create-order');
}

/** Commands that cannot run in this process: they need a runtime, or a person who answers. */
const ELSEWHERE = new Set(["hosted dev", "shop init"]);

test("every command with --json prints only fields of its schema, and the documented jq filters read these fields", async () => {
  const known = await commandsOfProgram();
  const results: Results = { printed: [], wrong: [] };
  await runSite(known, results);
  await runShop(known, results);
  expect(results.wrong).toEqual([]);
  const { printed } = results;
  const listed = new Set([...NAMES.flatMap(commandsOf), ...COMMANDS_WITHOUT_RESULT]);
  expect(known.filter((words) => !listed.has(words))).toEqual([]);
  expect([...listed].filter((words) => !known.includes(words) && words !== "help")).toEqual([]);
  const missing = NAMES.flatMap((kind) => {
    const of = printed.filter((one) => one.kind === kind);
    const unseen = commandsOf(kind).filter(
      (words) => !ELSEWHERE.has(words) && !printed.some(({ command }) => command === words),
    );
    return of.length === 0 || unseen.length > 0 ? [[kind, of.length, ...unseen]] : [];
  });
  expect(missing).toEqual([["shop", 0]]);
  expect(printed.length).toBeGreaterThan(130);
  const filtered = NAMES.filter((name) => name !== "shop").map((name) => {
    const { jq }: OutputKind = OUTPUT_KINDS[name];
    const values = printed.filter(({ kind }) => kind === name).map(({ value }) => value);
    return [name, jq, jqOutput(jq, values)] as const;
  });
  // A filter with a condition may select nothing.
  const empty = filtered.filter(([, jq, shown]) => !jq.includes("select(") && !/^(?!null$).+$/m.test(shown));
  expect(empty.map(([name, jq]) => [name, jq])).toEqual([]);
});

test("with --json, a checkout has its fields at the top level, and each list of a store has the store's id", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const ask = async (line: string): Promise<Json> =>
    JSON.parse((await harness.run([...line.split(" "), "--json"])).stdout) as Json;
  const created = await ask("orders create --order-id o-1 --price-id price_coffee");
  const eight = created["data"] as Json;
  expect(Object.keys(eight)).toHaveLength(8);
  for (const shown of [created, await ask("sessions get o-1"), await ask("orders get o-1")]) {
    expect(shown).toMatchObject(eight);
  }
  expect(await ask("sessions get o-1")).toMatchObject({ ok: true, data: eight });
  const lists = ["orders", "sessions", "events", "deliveries", "endpoints", "faults", "requests", "keys"];
  for (const list of [...lists, "prices", "capabilities", "return-origins"])
    expect([list, (await ask(`${list} list`))["store_id"]]).toEqual([list, ready.store_id]);
});

test("the package's schema of --json output is a valid JSON Schema with a definition of each kind of result", () => {
  const schema = outputSchema();
  new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  expect(Object.keys(schema["$defs"] as Json)).toEqual(NAMES);
});
