import { fieldRefusal } from "../../core/checkout/create-request.ts";
import { PAYMENT_METHODS } from "../../core/checkout/checkout.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { formatAmount } from "../../core/money.ts";
import { accept } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { toOptionParser, register, switchOption, valueOption, type Group } from "../command.ts";
import { amountMinorParser, choiceParser, parseCurrency } from "../parsers.ts";
import { refuseUsage } from "../problem.ts";
import { table, type TableStyle } from "../table.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { Price } from "../../core/checkout/shapes.ts";

type AddOptions = CommonOptions &
  Pick<Price, "amountMinor" | "currency" | "paymentMethod"> &
  Partial<Pick<Price, "description">> & { readonly unapproved?: boolean };

const REMEDIES = {
  state_conflict: "checkout prices list shows the existing price; use another id for other terms",
  not_found: "checkout prices list shows the prices",
};

const NO_PRICES_TEXT = "the catalog is empty; add a price: checkout prices add --help";

export function registerPrices(group: Group): void {
  register<AddOptions>(group, {
    name: "add <id>",
    summary: "add a price to the catalog; running the command again changes nothing",
    examples: [
      "checkout prices add oolong --amount-minor 700 --currency EUR --payment-method alipay_plus",
      "checkout prices add oolong --amount-minor 700 --currency EUR --payment-method alipay_plus --unapproved",
    ],
    options: [
      valueOption(
        "--amount-minor <n>",
        "amount in minor units, such as 1999 for 19.99 EUR",
        amountMinorParser(group.world),
      ),
      valueOption("--currency <code>", "currency code of three letters, such as EUR", (text) =>
        fieldParser("currency")(parseCurrency(text)),
      ),
      valueOption(
        "--payment-method <method>",
        `payment method: ${PAYMENT_METHODS.join(" or ")}`,
        choiceParser(PAYMENT_METHODS),
      ),
      valueOption("--description <text>", "description, up to 128 characters", fieldParser("description")),
      switchOption(
        "--unapproved",
        "do not approve the price; an administrator can: checkout admin approve-price <id>",
      ),
    ],
    required: ["amountMinor", "currency", "paymentMethod"],
    run: runnerFor("addPrice", {
      body: (
        { amountMinor, currency, paymentMethod, description = "", unapproved = false },
        { argument },
      ) => {
        const id = checkPriceId(argument, "correct it; nothing was added");
        return { id, amountMinor, currency, paymentMethod, description, approved: !unapproved };
      },
      remedies: REMEDIES,
      text: (price, { style }) =>
        [`${price.added ? style.green("✓") : "="} ${resultText(price)}`, ...obstacleLines(price)].join("\n"),
    }),
  });
  register(group, {
    name: "list",
    summary: "list the catalog, including unapproved and retired prices",
    examples: ["checkout prices list", "checkout prices list --json"],
    run: runnerFor("listPrices", {
      text: ({ prices }, printer) => (prices.length === 0 ? NO_PRICES_TEXT : priceLines(prices, printer)),
    }),
  });
  register(group, {
    name: "retire <id>",
    summary: "retire a price; new orders cannot use it, and its id cannot be used again",
    examples: ["checkout prices retire price_coffee"],
    run: runnerFor("retirePrice", {
      body: (_options, { argument }) => ({
        id: checkPriceId(argument, "checkout prices list shows the prices; nothing was changed"),
      }),
      remedies: REMEDIES,
      text: ({ id }, { style }) =>
        `${style.green("✓")} the price ${printable(id)} was retired: new orders cannot use it; existing orders stay`,
    }),
  });
}

function fieldParser(field: "currency" | "description"): (text: string) => string {
  return toOptionParser((text) => fieldRefusal(field, text) ?? accept(text));
}

function checkPriceId(id: string, next: string): string {
  const fault = fieldRefusal("price_id", id);
  if (fault !== undefined) throw refuseUsage(fault.refusal.message, next);
  return id;
}

function resultText({ id, amountMinor, currency, added }: AnswerOf<"addPrice">): string {
  const price = `the price ${printable(id)} of ${formatAmount(amountMinor, currency)}`;
  return added ? `${price} was added to the catalog` : `${price} exists already; nothing was changed`;
}

function obstacleLines({ approved, missingCapabilities }: AnswerOf<"addPrice">): readonly string[] {
  const namesText = missingCapabilities.join(" and ");
  return [
    ...(approved ? [] : ["  it is not approved yet: checkout admin approve-price <id>"]),
    ...(namesText === "" ? [] : [`  the store cannot be paid with ${namesText}: checkout capabilities list`]),
  ];
}

export function priceLines(prices: readonly Price[], { width, style }: TableStyle): Promise<string> {
  return table(
    ["PRICE", "AMOUNT", "METHOD", "APPROVED", "DESCRIPTION"],
    prices.map((price) => [
      price.id,
      formatAmount(price.amountMinor, price.currency),
      price.paymentMethod,
      price.retired ? "retired" : yesOrNo(price.approved),
      price.description,
    ]),
    { width, style, keep: ["PRICE", "AMOUNT", "METHOD", "APPROVED"] },
  );
}

export function yesOrNo(isYes: boolean): string {
  return isYes ? "yes" : "no";
}
