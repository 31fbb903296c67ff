import { PAYMENT_METHODS } from "../core/checkout.ts";
import { codePointLength } from "../core/text.ts";
import { currencyDecimals, formatAmount } from "../core/money.ts";
import type { World } from "../world.ts";

/** The fields of a create, as far as they are known. */
export type CreateFields = {
  readonly orderId?: string;
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly paymentMethod?: string;
  readonly description?: string;
  readonly priceId?: string;
};

/** Asks for what a create needs and does not have. Talks on stderr: stdout is for the result. Rejects on Ctrl-C. */
export async function askForMissing(world: World, fields: CreateFields): Promise<CreateFields> {
  const { input, select } = await import("@inquirer/prompts");
  const terminal = { input: world.stdin, output: world.stderr };
  const orderId =
    fields.orderId ??
    (await input({ message: "Order id (yours, 1 to 32 characters)", validate: isOrderId }, terminal));
  if (fields.priceId !== undefined) return { ...fields, orderId };
  const currency =
    fields.currency ?? (await input({ message: "Currency", default: "EUR", validate: isCurrency }, terminal));
  const unit = `${formatAmount(1999, currency)} is 1999`;
  const amountMinor =
    fields.amountMinor ??
    Number(await input({ message: `Amount in minor units (${unit})`, validate: isAmount }, terminal));
  const choices = PAYMENT_METHODS.map((value) => ({ value, name: METHOD_NAMES[value] }));
  const paymentMethod =
    fields.paymentMethod ?? (await select({ message: "Payment method", choices }, terminal));
  return { ...fields, orderId, amountMinor, currency, paymentMethod };
}

/** Whether an error is the user's Ctrl-C at a question. */
export function isPromptExit(error: unknown): boolean {
  return error instanceof Error && error.name === "ExitPromptError";
}

const METHOD_NAMES = { alipay_plus: "Alipay+", wechat_pay: "WeChat Pay" } as const;

function isOrderId(text: string): true | string {
  const length = codePointLength(text);
  return (length >= 1 && length <= 32) || `expected 1 to 32 characters; got ${length}`;
}

function isCurrency(text: string): true | string {
  return currencyDecimals(text) !== undefined || "expected three upper-case letters, such as EUR";
}

function isAmount(text: string): true | string {
  const amount = Number(text);
  return (
    (/^\d{1,16}$/.test(text) && amount >= 1 && Number.isSafeInteger(amount)) ||
    "expected a whole number from 1"
  );
}
