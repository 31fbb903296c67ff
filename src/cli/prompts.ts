import type { PaymentMethod } from "../core/checkout/checkout.ts";
import { fieldsOfCreate, fieldRefusal, type CreateField } from "../core/checkout/create-request.ts";
import type { DomainName } from "../core/shape/wire-names.ts";
import { currencyDecimals, formatAmount } from "../core/money.ts";
import { printable, snakeCase } from "../core/text.ts";
import type { World } from "../world.ts";
import { parseCurrency } from "./parsers.ts";
import { hasPlainOutput } from "./printer.ts";
import { interruptedProblem, Refused, refuseUsage } from "./problem.ts";

export type CreateInput = {
  readonly [Field in CreateField as DomainName<Field>]?: Field extends "amount_minor" ? number : string;
};

export function buildCreateBody(fields: CreateInput): Readonly<Record<string, unknown>> {
  const names = new Set<string>(fieldsOfCreate());
  const givenFields = Object.entries(fields).map(([name, value]) => [snakeCase(name), value] as const);
  return Object.fromEntries(givenFields.filter(([name, value]) => names.has(name) && value !== undefined));
}

export async function promptForMissingFields(world: World, fields: CreateInput): Promise<CreateInput> {
  const fault = firstFault(fields);
  if (fault !== undefined) throw refuseUsage(fault, "correct it; nothing was sent");
  return runUnlessInterrupted(world, (questions) => askFields(questions, fields), "; nothing was sent");
}

export async function confirm(
  world: World,
  message: string,
  messageEnd = "; nothing was changed",
): Promise<void> {
  const isYes = await runUnlessInterrupted(world, (questions) => questions.confirm(message), messageEnd);
  if (!isYes) throw new Refused({ ...interruptedProblem(), message: `the answer was no${messageEnd}` });
}

export type Questions = {
  readonly text: (question: TextQuestion) => Promise<string>;
  readonly choice: (message: string, names: Readonly<Record<string, string>>) => Promise<string>;
  readonly confirm: (message: string) => Promise<boolean>;
};

type TextQuestion = {
  readonly message: string;
  readonly validate: (answer: string) => true | string;
  readonly suggestion?: string;
};

/** Throws `Refused` on Ctrl-C. For plain output, asks line by line, because editing in place needs escape codes. */
export async function runUnlessInterrupted<Answer>(
  world: World,
  run: (questions: Questions) => Promise<Answer>,
  messageEnd: string,
): Promise<Answer> {
  const plainQuestions = hasPlainOutput(world) ? await createPlainQuestions(world) : undefined;
  try {
    return await run(plainQuestions?.questions ?? (await createInquirerQuestions(world)));
  } catch (error) {
    const isInterrupted = error instanceof Error && error.name === INTERRUPT_ERROR_NAME;
    throw isInterrupted ? new Refused(interruptedProblem(messageEnd)) : error;
  } finally {
    plainQuestions?.end();
  }
}

const INTERRUPT_ERROR_NAME = "ExitPromptError";

async function createInquirerQuestions(world: World): Promise<Questions> {
  const { confirm: askConfirmation, input, select } = await import("@inquirer/prompts");
  const terminal = { input: world.stdin(), output: world.stderr };
  return {
    text: ({ message, validate, suggestion }) =>
      input({ message, validate, ...(suggestion === undefined ? {} : { default: suggestion }) }, terminal),
    choice: (message, names) => {
      const choices = Object.entries(names).map(([value, name]) => ({ value, name }));
      return select({ message, choices }, terminal);
    },
    confirm: (message) => askConfirmation({ message, default: false }, terminal),
  };
}

async function createPlainQuestions(
  world: World,
): Promise<{ readonly questions: Questions; readonly end: () => void }> {
  const { createInterface } = await import("node:readline");
  const reader = createInterface({ input: world.stdin(), terminal: false });
  const lines = reader[Symbol.asyncIterator]();
  const unsubscribe = world.onStop(() => reader.close());
  const readAnswer = async (question: string): Promise<string> => {
    world.stderr.write(`? ${question} `);
    const { value, done } = await lines.next();
    if (done === true) throw Object.assign(new Error("there was no answer"), { name: INTERRUPT_ERROR_NAME });
    return value.trim();
  };
  const askText = async ({ message, validate, suggestion = "" }: TextQuestion): Promise<string> => {
    for (;;) {
      const answer =
        (await readAnswer(suggestion === "" ? message : `${message} (${suggestion})`)) || suggestion;
      const verdict = validate(answer);
      if (verdict === true) return answer;
      world.stderr.write(`> ${printable(verdict)}\n`);
    }
  };
  const questions: Questions = {
    text: askText,
    choice: (message, names) => {
      const values = Object.keys(names).join(" or ");
      return askText({
        message: `${message}, ${values}`,
        validate: (answer) => Object.hasOwn(names, answer) || `must be ${values}`,
      });
    },
    confirm: async (message) => /^y(es)?$/i.test(await readAnswer(`${message} (y/N)`)),
  };
  return {
    questions,
    end: () => {
      unsubscribe();
      reader.close();
    },
  };
}

async function askFields(questions: Questions, fields: CreateInput): Promise<CreateInput> {
  const askText = (field: "order_id" | "currency", message: string, suggestion?: string): Promise<string> =>
    questions.text({
      message,
      validate: (value) =>
        fieldRefusal(field, field === "currency" ? parseCurrency(value) : value)?.refusal.message ?? true,
      ...(suggestion === undefined ? {} : { suggestion }),
    });
  const orderId = fields.orderId ?? (await askText("order_id", "Order id (yours, 1 to 32 characters)"));
  if (fields.priceId !== undefined) return { ...fields, orderId };
  const currency = fields.currency ?? parseCurrency(await askText("currency", "Currency", "EUR"));
  const hint = currencyDecimals(currency) === 0 ? "" : ` (${formatAmount(1999, currency)} is 1999)`;
  const amountQuestion: TextQuestion = {
    message: `Amount in minor units${hint}`,
    validate: (value) => fieldRefusal("amount_minor", toNumber(value))?.refusal.message ?? true,
  };
  const amountMinor = fields.amountMinor ?? toNumber(await questions.text(amountQuestion));
  const paymentMethod = fields.paymentMethod ?? (await questions.choice("Payment method", METHOD_NAMES));
  return { ...fields, orderId, amountMinor, currency, paymentMethod };
}

const METHOD_NAMES: Readonly<Record<PaymentMethod, string>> = {
  alipay_plus: "Alipay+",
  wechat_pay: "WeChat Pay",
};

/** NaN unless the text is 1 to 16 digits: `Number` would also accept "1e3" and "". */
function toNumber(text: string): number {
  return /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
}

function firstFault(fields: CreateInput): string | undefined {
  const body = buildCreateBody(fields);
  const faults = fieldsOfCreate()
    .filter((field) => Object.hasOwn(body, field))
    .map((field) => fieldRefusal(field, body[field]));
  return faults.find((fault) => fault !== undefined)?.refusal.message;
}
