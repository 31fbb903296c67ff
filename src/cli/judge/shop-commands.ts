// `checkout shop init` and `check`: the section `shop` of checkout.config.json, tried field by field.
import { join } from "node:path";
import type { ControlTarget } from "../../client/control/control.ts";
import {
  createOrders,
  newPurchase,
  viewedCheckout,
  type Bench,
  type Purchase,
} from "../../client/judge/bench.ts";
import { openReturnPage } from "../../client/judge/returns.ts";
import { oneAtATime } from "../../client/judge/run.ts";
import { readView } from "../../client/judge/view.ts";
import { CONFIG_FILE } from "../../core/config/file-name.ts";
import { withShopSection } from "../../core/judge/section-text.ts";
import { isPattern, isSettle } from "../../core/judge/shop.ts";
import { printable } from "../../core/text.ts";
import { findNearestConfig } from "../../host/config/find.ts";
import { register, type Context, type Group } from "../command.ts";
import { catchRefusal, EXIT, refuseUsage } from "../problem.ts";
import { unlessInterrupted, type Questions } from "../prompts.ts";
import { callAt } from "../target/call.ts";
import { controlTarget } from "../target/control.ts";
import { runWithSpinner } from "../target/waiting.ts";
import { patternOf, shopOptions, type ShopOptions } from "./options.ts";
import { orderIdsOfShop } from "./orders.ts";
import { describeShop, trustWritten, type ShopDescription } from "./section.ts";
import { bindShop } from "./shop.ts";

/** A tried field: whether it works, and what was seen. */
type Trial = { readonly field: string; readonly ok: boolean; readonly text: string };

/** `checkout shop`. */
export function registerShop(group: Group): void {
  register<ShopOptions>(group, {
    name: "init",
    summary:
      "describe your shop at a terminal: each answer is tried at once, and written to checkout.config.json",
    exitCodes: { 0: "written", 1: "nothing was written" },
    examples: ["checkout shop init"],
    run: (context) => runInit(context),
  });
  register<ShopOptions>(group, {
    name: "check",
    summary: "try the description of your shop again: create an order, read its view, open the return page",
    exitCodes: { 0: "everything works", 1: "something does not work" },
    examples: ["checkout shop check", "checkout shop check --trust-config --json"],
    options: shopOptions(),
    run: async (context, options) => {
      const described = await describeShop(context, options);
      const trials = await tryShop(context, await controlTarget(context), described);
      const { style } = context.printer;
      const line = ({ ok, text }: Trial): string => `${ok ? style.green("✓") : style.red("✗")} ${text}`;
      const isOk = trials.every(({ ok }) => ok);
      await context.printer.result({ ok: isOk, trials }, () => trials.map(line).join("\n"));
      return isOk ? EXIT.done : EXIT.failed;
    },
  });
}

/** Creates an order, reads its view and opens the return page, as far as the description goes. */
async function tryShop(
  context: Context,
  control: ControlTarget,
  described: ShopDescription,
): Promise<readonly Trial[]> {
  const { world } = context;
  return runWithSpinner(context, async ({ signal }) => {
    await using shop = await bindShop(context, { control, described, options: {}, signal });
    const newId = await orderIdsOfShop(context, control, world.freshId());
    const bench: Bench = {
      world,
      target: control,
      call: ({ storeId: _store, ...call }) => callAt(context, control, call),
      leaseId: "",
      shop: { ...shop, takeOrder: undefined, names: undefined, kinds: [] },
      newId,
      signal,
      recording: { hasSameId: false, suffix: "", kind: "order", slowestMs: 0 },
      alone: oneAtATime(),
      noted: { subject: undefined },
    };
    const purchase = newPurchase(newId());
    const trials: Trial[] = [];
    if (shop.create !== undefined) trials.push(await tryCreate(bench, purchase));
    if (trials.some(({ ok }) => !ok)) return trials;
    trials.push(...(await tryView(bench, purchase)));
    if (shop.returnUrl !== undefined && purchase.checkouts.length > 0)
      trials.push(await tryReturn(bench, purchase, shop.returnUrl));
    return trials;
  });
}

async function tryCreate(bench: Bench, purchase: Purchase): Promise<Trial> {
  const [run] = await createOrders(bench, purchase, { times: 1 });
  const [made] = purchase.checkouts;
  if (made === undefined)
    return { field: "create", ok: false, text: `create made no order: ${run?.got ?? "it did not run"}` };
  return {
    field: "create",
    ok: run?.isDone === true,
    text: `create made ${printable(made.orderId)}: ${run?.got ?? ""}`,
  };
}

/** Time for the shop to know a new order, in milliseconds. */
const KNOWN_MS = 1500;

async function tryView(bench: Bench, purchase: Purchase): Promise<readonly Trial[]> {
  const { world, target, shop, signal } = bench;
  if (purchase.checkouts.length > 0) await world.sleep(KNOWN_MS, signal);
  const checkout = viewedCheckout(purchase);
  const { order, got, isMissing } = await readView(world, {
    target,
    checkout,
    view: shop.view,
    env: shop.env,
    signal,
  });
  const name = `the view of ${printable(checkout.orderId)}`;
  if (order === null)
    return [{ field: "order_view", ok: false, text: `${name} cannot be read: ${printable(got)}` }];
  if (isMissing && purchase.checkouts.length > 0)
    return [
      { field: "order_view", ok: false, text: `${name} answers 404 for an order that your shop created` },
    ];
  const says = order.paid ? "paid, but nobody has paid: correct paid_when" : "unpaid";
  const shown = (field: string, value: number | null, none: string): Trial => ({
    field,
    ok: true,
    text: value === null ? `${field}: ${none}` : `${field}: ${value}`,
  });
  return [
    { field: "paid_when", ok: !order.paid, text: `${name} shows ${says}` },
    shown("bookings", order.times, "not shown, so a second booking cannot be judged"),
    shown("amount", order.amountMinor, "not shown, so the booked amount cannot be judged"),
  ];
}

async function tryReturn(
  { world, target, shop, signal }: Bench,
  purchase: Purchase,
  page: string,
): Promise<Trial> {
  const checkout = viewedCheckout(purchase);
  const { hasArrived, got } = await openReturnPage(world, {
    target,
    page,
    checkout,
    form: {},
    session: checkout.id,
    cookies: purchase.cookies,
    cookie: shop.view.cookie,
    signal,
  });
  return { field: "return_url", ok: hasArrived, text: `the return page answered ${printable(got)}` };
}

/** The answers so far, by the names of the options. */
type Answers = Partial<Record<Question["field"], string>>;
type Question = {
  readonly field:
    | "create"
    | "orderView"
    | "paidWhen"
    | "bookings"
    | "amount"
    | "returnUrl"
    | "restart"
    | "settle";
  readonly message: string;
  readonly suggested?: string;
  readonly validate?: (answer: string) => true | string;
  /** The tried fields that concern this answer. */
  readonly tries?: readonly string[];
};

const QUESTIONS: readonly Question[] = [
  {
    field: "create",
    message: "Command that creates the order CHECKOUT_ORDER_ID (empty: your shop has none)",
  },
  {
    field: "orderView",
    message: "URL or path that shows an order, with {order_id} or {session_id}",
    validate: (answer) =>
      answer !== "" || "needed: only your shop can tell whether it treats an order as paid",
  },
  {
    field: "paidWhen",
    message: "Pattern that matches the view of a paid order",
    suggested: '"status": *"paid"',
    validate: (answer) => isPattern(answer) || "must be a regular expression",
    tries: ["create", "order_view", "paid_when"],
  },
  {
    field: "bookings",
    message: "How often it was booked: a JSON field or a pattern with one group",
    suggested: "times",
  },
  {
    field: "amount",
    message: "The booked amount: a JSON field or a pattern with one group",
    suggested: "amount_minor",
  },
  {
    field: "returnUrl",
    message: "URL of the page that customers return to (empty: none)",
    tries: ["return_url"],
  },
  { field: "restart", message: "Command that restarts your shop (empty: none)" },
  {
    field: "settle",
    message: "How late the view may show a payment",
    suggested: "3s",
    validate: (answer) => isSettle(answer) || "must be a duration from 0s to 60s",
  },
];

async function runInit(context: Context): Promise<number> {
  const { world, printer } = context;
  if (!world.isInteractive())
    throw refuseUsage(
      "checkout shop init asks questions, which needs a terminal",
      "write the section shop by hand: docs/launch.md",
    );
  const control = await controlTarget(context);
  const answers = await unlessInterrupted(
    world,
    (questions) => askAll(context, questions, control),
    "; nothing was written",
  );
  const path = findNearestConfig(world) ?? join(world.cwd, CONFIG_FILE);
  const before = world.files.exists(path) ? (world.files.read(path) ?? "") : "";
  world.files.write(path, withShopSection(before, answers));
  await trustWritten(context);
  await printer.result({ file: path, shop: answers }, () =>
    [
      `${printer.style.green("✓")} wrote the section shop of ${printable(path)}`,
      `  ${printer.style.cyan("→")} checkout checklist run`,
    ].join("\n"),
  );
  return EXIT.done;
}

async function askAll(context: Context, questions: Questions, control: ControlTarget): Promise<Answers> {
  const answers: Answers = {};
  const { printer } = context;
  for (let at = 0; at < QUESTIONS.length; at += 1) {
    const {
      field,
      message,
      suggested,
      validate = () => true,
      tries = [],
    } = QUESTIONS[at] ?? { field: "create", message: "" };
    const asked = { message, validate, ...(suggested === undefined ? {} : { suggested }) };
    answers[field] = (await questions.text(asked)).trim();
    if (tries.length === 0 || answers[field] === "") continue;
    const tried = await catchRefusal(tryShop(context, control, describedBy(answers)));
    const trials = tried.ok
      ? tried.value.filter((one) => tries.includes(one.field))
      : [{ field, ok: false, text: tried.refusal.message }];
    for (const { ok, text } of trials)
      printer.talk(`${ok ? printer.style.green("✓") : printer.style.red("✗")} ${printable(text)}`);
    // A wrong view may come from each of the first three answers.
    if (trials.some(({ ok }) => !ok)) at = field === "paidWhen" ? -1 : at - 1;
  }
  return answers;
}

/** A description from the answers; an empty one is left out. */
function describedBy({ paidWhen, settle: _settle, ...answers }: Answers): ShopDescription {
  const given = Object.entries(answers).filter(([, value]) => value !== "");
  return { ...Object.fromEntries(given), paidWhen: patternOf(paidWhen) };
}
