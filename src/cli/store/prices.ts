import type { Command } from "commander";
import { fieldFault } from "../../core/checkout/create-request.ts";
import { PAYMENT_METHODS, type PaymentMethod } from "../../core/checkout/checkout.ts";
import type { Price } from "../../core/control/checkout.ts";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { formatAmount } from "../../core/money.ts";
import { accept, refuse } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { orInvalid, register, switchOption, valueOption, type Context, type Registry } from "../command.ts";
import { parseAmountMinor, parseChoice, parseCurrency } from "../parsers.ts";
import { failUsage, type Ending } from "../problem.ts";
import { table } from "../table.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type AddOptions = CommonOptions & {
  readonly amountMinor: number;
  readonly currency: string;
  readonly paymentMethod: PaymentMethod;
  readonly description?: string;
  readonly unapproved?: boolean;
};

const NEXT_AFTER = {
  state_conflict: "checkout prices list shows what is there; for other terms take another id",
  not_found: "checkout prices list shows them",
};

const NONE = "the catalog is empty; add a price: checkout prices add --help";

/** `checkout prices add|list|retire`. */
export function registerPrices(parent: Command, registry: Registry): void {
  register<AddOptions>(parent, registry, {
    name: "add <id>",
    summary: "add a price to the catalog; running it again changes nothing",
    examples: [
      "checkout prices add oolong --amount-minor 700 --currency EUR --payment-method alipay_plus",
      "checkout prices add oolong --amount-minor 700 --currency EUR --payment-method alipay_plus --unapproved",
    ],
    options: [
      valueOption(
        "--amount-minor <n>",
        "amount in minor units: 1999 is 19.99 EUR",
        parseAmountMinor(registry.world),
      ),
      valueOption("--currency <code>", "three letters, such as EUR", (text) =>
        parseField("currency")(parseCurrency(text)),
      ),
      valueOption("--payment-method <method>", PAYMENT_METHODS.join(" or "), parseChoice(PAYMENT_METHODS)),
      valueOption("--description <text>", "up to 128 characters", parseField("description")),
      switchOption("--unapproved", "leave it to the administrator: checkout admin approve-price <id>"),
    ],
    required: ["amountMinor", "currency", "paymentMethod"],
    run: runAdd,
  });
  register<CommonOptions>(parent, registry, {
    name: "list",
    summary: "list the catalog, with prices that are not approved or retired",
    examples: ["checkout prices list", "checkout prices list --json"],
    options: [],
    run: runList,
  });
  register<CommonOptions>(parent, registry, {
    name: "retire <id>",
    summary: "retire a price: no new order can name it, and its id is not used again",
    examples: ["checkout prices retire price_coffee"],
    options: [],
    run: runRetire,
  });
}

/** The service's own check of a field, as the parser of an option. */
function parseField(field: "currency" | "description"): (text: string) => string {
  return orInvalid((text) => {
    const fault = fieldFault(field, text);
    return fault === undefined ? accept(text) : refuse("invalid_parameter", fault);
  });
}

async function runAdd(context: Context, options: AddOptions, id = ""): Promise<Ending> {
  const fault = fieldFault("price_id", id);
  if (fault !== undefined) return failUsage(fault, "correct it; nothing was added");
  const { amountMinor, currency, paymentMethod, description = "", unapproved = false } = options;
  const body = { id, amountMinor, currency, paymentMethod, description, approved: !unapproved };
  const added = await callSandbox(context, { name: "addPrice", body, nextAfter: NEXT_AFTER });
  if (!added.ok) return added;
  const { printer } = context;
  return printer.result(encodeAnswer("addPrice", added.value), () => {
    const mark = added.value.added ? printer.style.green("✓") : "=";
    return [`${mark} ${addedText(added.value)}`, ...lackLines(added.value)].join("\n");
  });
}

function addedText({ id, amountMinor, currency, added }: AnswerOf<"addPrice">): string {
  const price = `the price ${printable(id)} of ${formatAmount(amountMinor, currency)}`;
  return added ? `${price} is in the catalog` : `${price} is there already; nothing was changed`;
}

/** Why a create would be refused all the same. */
function lackLines({ approved, missingCapabilities }: AnswerOf<"addPrice">): readonly string[] {
  const lacks = missingCapabilities.join(" and ");
  return [
    ...(approved ? [] : ["  it is not approved: checkout admin approve-price <id>"]),
    ...(lacks === "" ? [] : [`  the store cannot be paid with ${lacks}: checkout capabilities list`]),
  ];
}

async function runList(context: Context): Promise<Ending> {
  const listed = await callSandbox(context, { name: "listPrices", body: undefined });
  if (!listed.ok) return listed;
  const { prices } = listed.value;
  return context.printer.result(encodeAnswer("listPrices", listed.value), () =>
    prices.length === 0 ? NONE : priceLines(prices, context.printer.width),
  );
}

async function runRetire(context: Context, _options: CommonOptions, id = ""): Promise<Ending> {
  const fault = fieldFault("price_id", id);
  if (fault !== undefined) return failUsage(fault, "checkout prices list shows them; nothing was changed");
  const retired = await callSandbox(context, {
    name: "retirePrice",
    body: { id },
    nextAfter: NEXT_AFTER,
  });
  if (!retired.ok) return retired;
  const { printer } = context;
  return printer.result(
    encodeAnswer("retirePrice", retired.value),
    () =>
      `${printer.style.green("✓")} no new order can name the price ${printable(id)}; orders that did stay`,
  );
}

/** A catalog as a table, in lines of `width` places. */
export function priceLines(prices: readonly Price[], width: number): Promise<string> {
  return table(
    ["PRICE", "AMOUNT", "METHOD", "APPROVED", "DESCRIPTION"],
    prices.map((price) => [
      price.id,
      formatAmount(price.amountMinor, price.currency),
      price.paymentMethod,
      price.retired ? "retired" : yesOrNo(price.approved),
      price.description,
    ]),
    { width, keep: ["PRICE", "AMOUNT", "METHOD", "APPROVED"] },
  );
}

/** What is so or not, in a table. */
export function yesOrNo(is: boolean): string {
  return is ? "yes" : "no";
}
