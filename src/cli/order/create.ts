import type { Option } from "commander";
import {
  createRequest,
  journalIntent,
  retrieve,
  type CreateIntent,
  type Target,
} from "../../client/api/client.ts";
import { variableNamed } from "../option-rules.ts";
import {
  parseCreateRequest,
  type CreateField,
  type CreateRequest,
} from "../../core/checkout/create-request.ts";
import { parseIdempotencyKey } from "../../core/checkout/idempotency-key.ts";
import { chooseKey, type Intent, type LatestAttempt } from "../../core/checkout/journal.ts";
import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { ORDER, SESSION, showCreated, type Created, type Noun } from "./create-report.ts";
import { instanceOf } from "./instance.ts";
import { openFolderJournal } from "./folder-journal.ts";
import { createManaged } from "./managed-create.ts";
import { openPage } from "./open-page.ts";
import { parseAmountMinor, parseCurrency } from "../parsers.ts";
import { EXIT, refusedUsage, reworded, type Problem } from "../problem.ts";
import { askForMissing, bodyOf, type CreateFields } from "../prompts.ts";
import { stateFile } from "../../host/folder/files.ts";
import { tryPolicy, waitForEnd, waitOptions, type WaitOptions } from "./wait.ts";
import { connectTo } from "../target/connect.ts";
import { policyOf, type Settings } from "../target/service.ts";
import { targetOptions, showHeadersOption } from "../target/options.ts";
import { showRequest } from "../target/waiting.ts";

type CreateOptions = WaitOptions &
  CreateFields & {
    readonly idempotencyKey?: string;
    readonly newAttempt?: boolean;
    readonly dryRun?: boolean;
    readonly open?: boolean;
  };

/** `checkout orders create`. */
export function registerOrdersCreate(group: Group): void {
  registerCreate(group, ORDER);
}

/** `checkout sessions create`. */
export function registerSessionsCreate(group: Group): void {
  registerCreate(group, SESSION);
}

function registerCreate(group: Group, noun: Noun): void {
  const { command, example, thing } = noun;
  register<CreateOptions>(group, {
    name: "create",
    summary: `create ${thing}; running it again prints the same one`,
    examples: [
      `checkout ${command} create --order-id ${example} --amount-minor 1999 --currency EUR --payment-method alipay_plus`,
      `checkout ${command} create --order-id ${example} --price-id price_coffee`,
      `checkout ${command} create --order-id ${example} --price-id price_coffee --new-attempt`,
      `checkout ${command} create --order-id ${example} --price-id price_coffee --open --wait`,
    ],
    options: [
      ...fieldOptions(group.world),
      valueOption("--idempotency-key <key>", "use this key instead of the managed one"),
      switchOption(
        "--new-attempt",
        "create it again after it failed, was cancelled or expired: with a new managed key",
      ),
      switchOption("--dry-run", "show the request that would be sent, and send nothing"),
      switchOption("--open", "open the checkout_url in the browser"),
      ...waitOptions(),
      ...targetOptions(),
      showHeadersOption(),
    ],
    requires: [["until", "wait"]],
    // A new attempt is a new managed key.
    conflicts: [["newAttempt", "idempotencyKey"]],
    run: (context, options) => runCreate(context, options, noun),
  });
}

/** An option for each field of the body. */
function fieldOptions(world: World): readonly Option[] {
  const options: Readonly<Record<CreateField, Option>> = {
    order_id: valueOption("--order-id <id>", "your id for the purchase, 1 to 32 characters"),
    amount_minor: valueOption(
      "--amount-minor <n>",
      "amount in minor units: 1999 is 19.99 EUR",
      parseAmountMinor(world),
    ),
    currency: valueOption("--currency <code>", "three letters, such as EUR", parseCurrency),
    payment_method: valueOption("--payment-method <method>", "alipay_plus or wechat_pay"),
    description: valueOption("--description <text>", "up to 128 characters"),
    price_id: valueOption("--price-id <id>", "a catalog price, instead of amount, currency and method"),
  };
  return Object.values(options);
}

/** Creates, or creates again what is already there; exit 5 where the key or the order belongs to something else. */
async function runCreate(context: Context, options: CreateOptions, noun: Noun): Promise<number> {
  const { world } = context;
  const service = await connectTo(context);
  const { settings } = service;
  const request = await completeRequest(world, options);
  const { endpoint } = noun;
  const { newAttempt = false, idempotencyKey = null } = options;
  checkOwnKey(idempotencyKey);
  const intent: CreateIntent = { endpoint, request, newAttempt, idempotencyKey };
  const wanted = { intent, ...service };
  if (options.dryRun === true) return dryRun(context, wanted);
  const policy = tryPolicy(settings, options);
  const created = await createManaged(context, options, { ...wanted, noun, policy });
  return printCreated(context, options, { ...wanted, created });
}

/** Prints the checkout as it was made, or as it ended where the command waits for that. */
async function printCreated(
  context: Context,
  options: CreateOptions,
  made: { readonly created: Created; readonly target: Target; readonly settings: Settings },
): Promise<number> {
  const { created, target, settings } = made;
  const { id, checkout_url: page } = created.response.data;
  if (options.wait !== true) await showCreated(context, await asItIsNow(context, made));
  // Before the wait: the person pays meanwhile.
  if (options.open === true) await openPage(context, page);
  if (options.wait !== true) return EXIT.done;
  context.printer.talk(printable(`${id} is paid at ${page}`));
  const response = await waitForEnd(context, options, { target, settings, id }).catch(
    reworded((problem) => afterCreate(problem, { id, page, key: created.key })),
  );
  return showCreated(context, { ...created, response });
}

/** A replay tells what was made; what became of it since is asked for. */
async function asItIsNow(
  { world, printer }: Context,
  made: { readonly created: Created; readonly target: Target; readonly settings: Settings },
): Promise<Created> {
  const { created, target, settings } = made;
  if (!created.replayed) return created;
  const policy = { ...policyOf(settings), retries: 0 };
  const read = await retrieve(world, target, { id: created.response.data.id, policy });
  if (read.end === "success")
    return { ...created, response: { ...created.response, data: read.response.data } };
  printer.trace("note: its status is that of its creation; the present one could not be read");
  return created;
}

/** The wait failed, the create did not: what was made is not lost with it. */
function afterCreate(
  problem: Problem,
  { id, page, key }: { readonly id: string; readonly page: string; readonly key: string },
): Problem {
  const details = { ...problem.details, id, checkout_url: page, idempotency_key: key };
  const message = `${id} was created, but ${problem.message.replace(id, "it")}`;
  return { ...problem, message, details, next: `checkout sessions get ${id} --wait` };
}

/** A key of the user's own must reach the service as it was typed, and is not managed. */
function checkOwnKey(key: string | null): void {
  if (key === null) return;
  const parsed = parseIdempotencyKey([key]);
  if (parsed.ok && key.trim() === key) return;
  const message = parsed.ok ? "--idempotency-key must not begin or end with a space" : parsed.refusal.message;
  throw refusedUsage(message, "give a key of that form, or leave it out");
}

/** The request, with what was missing asked for where someone is there to answer. */
async function completeRequest(world: World, options: CreateFields): Promise<CreateRequest> {
  const missing = missingFlags(options);
  if (missing.length > 0 && !world.interactive) {
    const next =
      options.priceId === undefined ? "add what is missing, or give --order-id and --price-id" : "add it";
    throw refusedUsage(`missing: ${missing.join(", ")}${unreadOf(missing, world)}`, next);
  }
  if (missing.length === 0) return parseFields(options);
  return parseFields(await askForMissing(world, options));
}

/** Says of variables that are named like options that nothing reads them: an order is named where it is made. */
function unreadOf(flags: readonly string[], { env }: World): string {
  const unread = flags
    .map((flag) => variableNamed("CHECKOUT", flag.slice(2)))
    .filter((name) => (env[name] ?? "") !== "");
  return unread.length === 0
    ? ""
    : `; ${unread.join(", ")} is not read here: what one order is has no variable`;
}

function missingFlags(options: CreateFields): string[] {
  const body = bodyOf(options);
  const required: readonly CreateField[] =
    options.priceId === undefined ? ["order_id", "amount_minor", "currency", "payment_method"] : ["order_id"];
  return required
    .filter((field) => !Object.hasOwn(body, field))
    .map((field) => `--${field.replaceAll("_", "-")}`);
}

/** The same check that the service makes, so that what it would refuse is not sent. */
function parseFields(fields: CreateFields): CreateRequest {
  const parsed = parseCreateRequest(bodyOf(fields));
  if (parsed.ok) return parsed.value;
  throw refusedUsage(parsed.refusal.message, "correct it; nothing was sent");
}

/** Shows what would be sent; makes no journal, and reads the one that is there. */
async function dryRun(
  { world, printer }: Context,
  wanted: { readonly intent: CreateIntent; readonly target: Target; readonly settings: Settings },
): Promise<number> {
  const { intent } = wanted;
  const target = { ...wanted.target, instance: await instanceOf(world, wanted.settings) };
  const meant = journalIntent(target, intent);
  const latest = latestAttempt(world, wanted.settings.folder.value, meant);
  const { key } = chooseKey(meant, latest);
  const request = createRequest(target, {
    endpoint: intent.endpoint,
    key,
    body: JSON.stringify(intent.request),
  });
  const shown = showRequest(request);
  const json = {
    dry_run: true,
    method: request.method,
    url: request.url,
    headers: shown.headers,
    body: intent.request,
  };
  return printer.result(json, () => shown.text);
}

function latestAttempt(world: World, folder: string, meant: Intent): LatestAttempt | undefined {
  if (!world.files.exists(stateFile(folder, "journal"))) return undefined;
  using journal = openFolderJournal(world, folder);
  return journal.latestAttempt(meant);
}
