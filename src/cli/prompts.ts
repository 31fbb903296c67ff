import { PAYMENT_METHODS } from "../core/checkout/checkout.ts";
import { fieldFault } from "../core/checkout/create-request.ts";
import { currencyDecimals, formatAmount } from "../core/money.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import type { World } from "../world.ts";
import { parseCurrency } from "./parsers.ts";
import { fail, failUsage, interruptedProblem, type Problem } from "./problem.ts";

/** The fields of a create, as far as they are known. */
export type CreateFields = {
  readonly orderId?: string;
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly paymentMethod?: string;
  readonly description?: string;
  readonly priceId?: string;
};

/** Asks for what a create needs and does not have, once what it has is right. Talks on stderr: stdout is for the result. */
export async function askForMissing(
  world: World,
  fields: CreateFields,
): Promise<Outcome<CreateFields, Problem>> {
  const fault = firstFault(fields);
  if (fault !== undefined) return failUsage(fault, "correct it; nothing was sent");
  try {
    return accept(await ask(world, fields));
  } catch (error) {
    if (!(error instanceof Error && error.name === "ExitPromptError")) throw error;
    return fail(interruptedProblem("; nothing was sent"));
  }
}

/** Asks whether to go on; refuses where the answer is no. */
export async function confirm(world: World, message: string): Promise<Outcome<void, Problem>> {
  try {
    const { default: askToConfirm } = await import("@inquirer/confirm");
    const terminal = { input: world.stdin, output: world.stderr };
    if (await askToConfirm({ message, default: false }, terminal)) return accept(undefined);
  } catch (error) {
    if (!(error instanceof Error && error.name === "ExitPromptError")) throw error;
  }
  return fail(interruptedProblem("; nothing was changed"));
}

async function ask(world: World, fields: CreateFields): Promise<CreateFields> {
  const [{ default: input }, { default: select }] = await Promise.all([
    import("@inquirer/input"),
    import("@inquirer/select"),
  ]);
  const terminal = { input: world.stdin, output: world.stderr };
  const text = (field: "order_id" | "currency", message: string, suggested?: string): Promise<string> =>
    input(
      {
        message,
        validate: (value) => fieldFault(field, field === "currency" ? parseCurrency(value) : value) ?? true,
        ...(suggested === undefined ? {} : { default: suggested }),
      },
      terminal,
    );
  const orderId = fields.orderId ?? (await text("order_id", "Order id (yours, 1 to 32 characters)"));
  if (fields.priceId !== undefined) return { ...fields, orderId };
  const currency = fields.currency ?? parseCurrency(await text("currency", "Currency", "EUR"));
  const hint = currencyDecimals(currency) === 0 ? "" : ` (${formatAmount(1999, currency)} is 1999)`;
  const amount = {
    message: `Amount in minor units${hint}`,
    validate: (value: string) => fieldFault("amount_minor", toNumber(value)) ?? true,
  };
  const amountMinor = fields.amountMinor ?? toNumber(await input(amount, terminal));
  const choices = PAYMENT_METHODS.map((value) => ({ value, name: METHOD_NAMES[value] }));
  const paymentMethod =
    fields.paymentMethod ?? (await select({ message: "Payment method", choices }, terminal));
  return { ...fields, orderId, amountMinor, currency, paymentMethod };
}

const METHOD_NAMES = { alipay_plus: "Alipay+", wechat_pay: "WeChat Pay" } as const;

/** Not a number where anything but digits stands: `Number` would take "1e3" and "" too. */
function toNumber(text: string): number {
  return /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
}

function firstFault(fields: CreateFields): string | undefined {
  const given = [
    ["order_id", fields.orderId],
    ["currency", fields.currency],
    ["payment_method", fields.paymentMethod],
    ["description", fields.description],
  ] as const;
  for (const [field, value] of given) {
    const fault = value === undefined ? undefined : fieldFault(field, value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
