import { ORDER_LABELS, SESSION_LABELS, type CheckoutKind } from "./checkout-kinds.ts";
import type { Option } from "commander";
import {
  buildCreateRequest,
  createIntentOf,
  sendRetrieve,
  type RequestedCreate,
} from "../../client/api/client.ts";
import { settingVariable } from "../option-rules.ts";
import {
  parseCreateRequest,
  type CreateField,
  type CreateRequest,
} from "../../core/checkout/create-request.ts";
import { parseIdempotencyKey } from "../../core/checkout/idempotency-key.ts";
import { chooseKey, type CreateIntent, type LatestAttempt } from "../../core/checkout/journal.ts";
import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { printCreatedCheckout, type NewCheckout } from "./create-report.ts";
import { resolveInstanceId } from "./instance.ts";
import { openFolderJournal } from "./folder-journal.ts";
import { createWithManagedKey } from "./managed-create.ts";
import { openPage } from "./open-page.ts";
import { amountMinorParser, parseCurrency } from "../parsers.ts";
import { EXIT, refuseUsage, catchRefusal, type Problem, unwrap } from "../problem.ts";
import { promptForMissingFields, buildCreateBody, type CreateInput } from "../prompts.ts";
import { stateFile } from "../../host/folder/files.ts";
import { pollPolicy, waitForStatus, waitOptions, type WaitOptions } from "./wait.ts";
import { connectToService, retryPolicyOf, type ServiceConnection } from "../target/resolve.ts";
import { targetOptions } from "../target/options.ts";
import { redactRequest, showHeadersOption } from "../request/exchange.ts";
import { output } from "../output/output.ts";

type CreateOptions = WaitOptions &
  CreateInput & {
    readonly idempotencyKey?: string;
    readonly newAttempt?: boolean;
    readonly dryRun?: boolean;
    readonly open?: boolean;
  };

export function registerOrdersCreate(group: Group): void {
  registerCreate(group, ORDER_LABELS);
}

export function registerSessionsCreate(group: Group): void {
  registerCreate(group, SESSION_LABELS);
}

function registerCreate(group: Group, kind: CheckoutKind): void {
  const { command, example, nounPhrase } = kind;
  register<CreateOptions>(group, {
    name: "create",
    summary: `create ${nounPhrase}; running the command again returns the existing one`,
    examples: [
      `checkout ${command} create --order-id ${example} --amount-minor 1999 --currency EUR --payment-method alipay_plus`,
      `checkout ${command} create --order-id ${example} --price-id price_coffee`,
      `checkout ${command} create --order-id ${example} --price-id price_coffee --new-attempt`,
      `checkout ${command} create --order-id ${example} --price-id price_coffee --open --wait`,
    ],
    options: [
      ...fieldOptions(group.world),
      valueOption(
        "--idempotency-key <key>",
        "key to send instead of the key that checkout keeps for this order, 8 to 128 printable ASCII characters",
      ),
      switchOption(
        "--new-attempt",
        "create a new checkout, with a new managed key, after the last one failed, was cancelled or expired",
      ),
      switchOption("--dry-run", "print the request without sending it"),
      switchOption("--open", "open checkout_url in the browser"),
      ...waitOptions(),
      ...targetOptions(),
      showHeadersOption(),
    ],
    requires: [["until", "wait"]],
    // `--new-attempt` generates a new key, so it conflicts with a typed key.
    conflicts: [["newAttempt", "idempotencyKey"]],
    run: (context, options) => runCreate(context, options, kind),
  });
}

function fieldOptions(world: World): readonly Option[] {
  const options: Readonly<Record<CreateField, Option>> = {
    order_id: valueOption("--order-id <id>", "your id for the order, 1 to 32 characters"),
    amount_minor: valueOption(
      "--amount-minor <n>",
      "amount in minor units, such as 1999 for 19.99 EUR",
      amountMinorParser(world),
    ),
    currency: valueOption("--currency <code>", "currency code of three letters, such as EUR", parseCurrency),
    payment_method: valueOption("--payment-method <method>", "payment method: alipay_plus or wechat_pay"),
    description: valueOption("--description <text>", "description, up to 128 characters"),
    price_id: valueOption("--price-id <id>", "catalog price, instead of amount, currency and payment method"),
  };
  return Object.values(options);
}

/** Exit 5 if the key or the order_id belongs to a different create. */
async function runCreate(context: Context, options: CreateOptions, kind: CheckoutKind): Promise<number> {
  const { world } = context;
  const service = await connectToService(context);
  const { settings } = service;
  const request = await completeRequest(world, options);
  const { endpoint } = kind;
  const { newAttempt: isNewAttempt = false, idempotencyKey = null } = options;
  checkOwnKey(idempotencyKey);
  const intent: RequestedCreate = { endpoint, request, isNewAttempt, idempotencyKey };
  const createRequest = { intent, ...service };
  if (options.dryRun === true) return printDryRun(context, createRequest);
  const policy = pollPolicy(settings, options);
  const createdCheckout = await createWithManagedKey(context, options, { ...createRequest, kind, policy });
  return printCreated(context, options, { ...createRequest, checkout: createdCheckout });
}

type CreateOutcome = ServiceConnection & { readonly checkout: NewCheckout };

async function printCreated(context: Context, options: CreateOptions, order: CreateOutcome): Promise<number> {
  const { checkout, target, settings } = order;
  const { id, checkout_url: page } = checkout.response.data;
  if (options.wait !== true) await printCreatedCheckout(context, await retrieveCurrent(context, order));
  // Opened before the wait, so that the payer can pay.
  if (options.open === true) await openPage(context, page);
  if (options.wait !== true) return EXIT.done;
  context.printer.info(printable(`pay ${id} at ${page}`));
  const waitOutcome = await catchRefusal(waitForStatus(context, options, { target, settings, id }));
  const response = unwrap(waitOutcome, (problem) => waitProblem(problem, { id, page, key: checkout.key }));
  return printCreatedCheckout(context, { ...checkout, response });
}

async function retrieveCurrent({ world, printer }: Context, order: CreateOutcome): Promise<NewCheckout> {
  const { checkout, target, settings } = order;
  if (!checkout.isReplayed) return checkout;
  const policy = { ...retryPolicyOf(settings), retries: 0 };
  const exchange = await sendRetrieve(world, target, { id: checkout.response.data.id, policy });
  if (exchange.end === "success")
    return { ...checkout, response: { ...checkout.response, data: exchange.response.data } };
  printer.trace("note: this is the status at creation; the current status could not be retrieved");
  return checkout;
}

function waitProblem(
  problem: Problem,
  { id, page, key }: { readonly id: string; readonly page: string; readonly key: string },
): Problem {
  const details = { ...problem.details, id, checkout_url: page, idempotency_key: key };
  const message = `${id} was created, but ${problem.message.replace(id, "it")}`;
  return { ...problem, message, details, next: `checkout sessions get ${id} --wait` };
}

/** Refuses surrounding spaces, because the key must reach the service exactly as typed. */
function checkOwnKey(key: string | null): void {
  if (key === null) return;
  const result = parseIdempotencyKey([key]);
  if (result.ok && key.trim() === key) return;
  const message = result.ok ? "--idempotency-key must not begin or end with a space" : result.refusal.message;
  throw refuseUsage(message, "use a valid key, or leave it out");
}

async function completeRequest(world: World, options: CreateInput): Promise<CreateRequest> {
  const flags = missingFlags(options);
  if (flags.length > 0 && !world.isInteractive()) {
    const next = options.priceId === undefined ? "add them, or use --order-id with --price-id" : "add it";
    throw refuseUsage(`missing: ${flags.join(", ")}${unreadVariablesText(flags, world)}`, next);
  }
  if (flags.length === 0) return parseFields(options);
  return parseFields(await promptForMissingFields(world, options));
}

function unreadVariablesText(flags: readonly string[], { env }: World): string {
  const unreadNames = flags
    .map((flag) => settingVariable("CHECKOUT", flag.slice(2)))
    .filter((name) => (env[name] ?? "") !== "");
  return unreadNames.length === 0
    ? ""
    : `; ${unreadNames.join(", ")} is not read: fields of an order have no variables`;
}

function missingFlags(options: CreateInput): string[] {
  const body = buildCreateBody(options);
  const requiredFields: readonly CreateField[] =
    options.priceId === undefined ? ["order_id", "amount_minor", "currency", "payment_method"] : ["order_id"];
  return requiredFields
    .filter((field) => !Object.hasOwn(body, field))
    .map((field) => `--${field.replaceAll("_", "-")}`);
}

/** Validates the body as the sandbox does, so that an invalid body is not sent. */
function parseFields(fields: CreateInput): CreateRequest {
  const outcome = parseCreateRequest(buildCreateBody(fields));
  if (outcome.ok) return outcome.value;
  throw refuseUsage(outcome.refusal.message, "correct it; nothing was sent");
}

async function printDryRun(
  context: Context,
  createRequest: ServiceConnection & { readonly intent: RequestedCreate },
): Promise<number> {
  const { world, printer } = context;
  const { intent, settings } = createRequest;
  const target = { ...createRequest.target, instance: await resolveInstanceId(world, settings) };
  const journalKey = createIntentOf(target, intent);
  const latestAttempt = findLatestAttempt(context, settings.journalFolder, journalKey);
  const { key } = chooseKey(journalKey, latestAttempt);
  const request = buildCreateRequest(target, {
    endpoint: intent.endpoint,
    key,
    body: JSON.stringify(intent.request),
  });
  const shownRequest = redactRequest(request);
  const json = output("dry_run", {
    dry_run: true,
    method: request.method,
    url: request.url,
    headers: shownRequest.headers,
    body: intent.request,
  });
  return printer.result(json, () => shownRequest.text);
}

function findLatestAttempt(
  context: Context,
  folder: string,
  intent: CreateIntent,
): LatestAttempt | undefined {
  if (!context.world.files.exists(stateFile(folder, "journal"))) return undefined;
  using journal = openFolderJournal(context, folder);
  return journal.latestAttempt(intent);
}
