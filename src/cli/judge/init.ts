import { join } from "node:path";
import type { ControlTarget } from "../../client/control/control.ts";
import { parseCommandLine } from "../../client/merchant-command.ts";
import { CONFIG_FILE } from "../../core/config/file-name.ts";
import { parseDurationText } from "../../core/duration.ts";
import { shopSectionFields, withShopSection } from "../../core/config/shop-section.ts";
import { isPattern, isDelay, type ShopField, type ShopSection } from "../../core/judge/shop.ts";
import { printable } from "../../core/text.ts";
import { completeAddress } from "../../core/network/spelled-address.ts";
import { findNearestConfig } from "../../host/config/find.ts";
import { loadConfig } from "../../host/config/load.ts";
import type { Context } from "../command.ts";
import { catchRefusal, EXIT, refuseUsage, unwrap } from "../problem.ts";
import { runUnlessInterrupted, type Questions } from "../prompts.ts";
import { requireControlTarget } from "../target/control.ts";
import { describeSection, trustWrittenSection } from "./section.ts";
import { trialLine, tryShop, type Trial } from "./trials.ts";
import { output } from "../output/output.ts";

type Answers = Partial<Record<ShopField | "form", string>>;
type Question = {
  readonly message: string;
  readonly suggestion?: string;
  readonly needsJson?: true;
  readonly validate?: (answer: string, world: Context["world"]) => true | string;
  readonly applies?: (answers: Answers) => boolean;
};

const POST_PATTERN = /^POST\s+((?:https?:\/)?\/\S+)$/i;
const PROBABLE_PAGE_PATTERN = /^(?:(?:post|get|put)\s+)?((?:https?:\/)?\/\S+|\S*:\d+\/\S*)$|^post\s+(\S+)/i;
const PATTERN_FAULT = "must be a regular expression";
const VIEW_FAULT = "needed: only your shop can tell whether it treats an order as paid";
const checkCommand = (answer: string): true | string => {
  const outcome = parseCommandLine(answer);
  return outcome.ok || outcome.refusal.message;
};

export const QUESTIONS: Readonly<Record<keyof Required<Answers>, Question>> = {
  serve: {
    message: "Command that serves your shop on the port in PORT (empty: it is running)",
    validate: checkCommand,
  },
  endpoint: {
    message: "URL at which your shop receives webhooks, or its path with a command that serves",
    suggestion: "/hooks",
    applies: ({ serve = "" }) => serve !== "",
  },
  cookie: {
    message: "Variable with the Cookie header of a signed-in customer (empty: no sign-in is needed)",
    validate: (answer, { env }) =>
      answer === "" || Boolean(env[answer]) || "must be the name of a variable that is set, not the cookie",
  },
  create: {
    message:
      "Command that creates the order CHECKOUT_ORDER_ID, or POST and a URL or path, such as POST /buy (empty: your shop has none)",
    validate: checkCommandOrPage,
  },
  form: {
    message: "Fields of the form of that page",
    suggestion: "order_id={order_id}",
    applies: ({ create = "" }) => POST_PATTERN.test(create),
  },
  orderIdOf: {
    message:
      "Pattern with one group that finds the order_id in the answer, if your shop generates its own (empty: it does not)",
    validate: (answer) => isPattern(answer) || PATTERN_FAULT,
    applies: ({ create }) => create !== "",
  },
  orderView: {
    message: "URL or path that shows an order, with {order_id} or {session_id} (empty: a command shows it)",
  },
  orderViewCommand: {
    message: "Command that shows the order CHECKOUT_ORDER_ID",
    validate: (answer) => (answer === "" ? VIEW_FAULT : checkCommand(answer)),
    applies: ({ orderView }) => orderView === "",
  },
  paidWhen: {
    message: "Pattern that matches the view of a paid order, and of no other",
    suggestion: '"status": *"paid"',
    needsJson: true,
    validate: (answer) => (answer !== "" && isPattern(answer)) || PATTERN_FAULT,
  },
  bookings: {
    message: "How often it was booked: a JSON field or a pattern with one group (empty: not shown)",
    suggestion: "times",
    needsJson: true,
  },
  amount: {
    message: "The booked amount: a JSON field or a pattern with one group (empty: not shown)",
    suggestion: "amount_minor",
    needsJson: true,
  },
  returnUrl: { message: "URL or path of the page that customers return to (empty: none)" },
  restart: {
    message: "Command that restarts your shop (empty: none)",
    validate: checkCommand,
    applies: ({ serve }) => serve === "",
  },
  settle: {
    message: "How late the view may show a payment",
    suggestion: "3s",
    validate: (answer) => isDelay(answer) || "must be a duration of at most 60s",
  },
};

function checkCommandOrPage(answer: string, { files }: Context["world"]): true | string {
  if (POST_PATTERN.test(answer)) return true;
  const [, address, path = ""] = PROBABLE_PAGE_PATTERN.exec(answer) ?? [];
  const page = address === undefined ? `/${path}` : (completeAddress(address) ?? address);
  if (page === "/" || files.exists(page)) return checkCommand(answer);
  return `a page is POST and a URL or a path that begins with /: POST ${page}`;
}

const FIELDS = Object.keys(QUESTIONS) as readonly (keyof Answers)[];

export async function runInit(context: Context): Promise<number> {
  const { world, printer } = context;
  if (!world.isInteractive())
    throw refuseUsage(
      "checkout shop init asks questions, which needs a terminal",
      "write the shop section by hand: docs/launch.md",
    );
  unwrap(await loadConfig(world, {}));
  const control = await requireControlTarget(context);
  const answers = await runUnlessInterrupted(
    world,
    (questions) => askAnswers(context, questions, control),
    "; nothing was written",
  );
  const shop = { ...sectionOf(answers), settle: answers.settle };
  const path = findNearestConfig(world) ?? join(world.cwd, CONFIG_FILE);
  const oldText = world.files.exists(path) ? (world.files.read(path) ?? "") : "";
  world.files.write(path, withShopSection(oldText, shop));
  await trustWrittenSection(context);
  await printer.result(output("shop", { file: path, shop: shopSectionFields(shop) }), () =>
    [
      `${printer.style.green("✓")} wrote the shop section of ${printable(path)}`,
      `  ${printer.style.cyan("→")} checkout checklist run`,
    ].join("\n"),
  );
  return EXIT.done;
}

async function askAnswers(context: Context, questions: Questions, control: ControlTarget): Promise<Answers> {
  let answers: Answers = {};
  const { world, printer } = context;
  let isJson = true;
  for (let index = 0; index < FIELDS.length; index += 1) {
    const field = FIELDS[index] ?? "settle";
    const { message, suggestion, needsJson, validate = () => true, applies = () => true } = QUESTIONS[field];
    if (!applies(answers)) continue;
    const answer = await questions.text({
      message,
      validate: (text) => validate(text.trim(), world),
      ...(suggestion !== undefined && (isJson || needsJson !== true) && { suggestion }),
    });
    const earlierAnswers = FIELDS.slice(0, index).map((name) => [name, answers[name]] as const);
    // Drops the later answers and asks for them again, because they may depend on the wrong answer.
    answers = { ...Object.fromEntries(earlierAnswers), [field]: answer.trim() };
    const trials = await tryAnswer(context, control, { field, answers });
    for (const trial of trials) printer.info(trialLine(trial, printer.style));
    isJson = trials.find((trial) => trial.isJson !== undefined)?.isJson ?? isJson;
    const failedTrial = trials.find(({ ok }) => !ok);
    if (failedTrial !== undefined) index = Math.min(index, FIELDS.indexOf(failedTrial.field)) - 1;
  }
  return answers;
}

const FIELDS_TRIED_LATER: ReadonlySet<keyof Answers> = new Set(["serve", "cookie", "settle"]);

async function tryAnswer(
  context: Context,
  control: ControlTarget,
  { field, answers }: { readonly field: keyof Answers; readonly answers: Answers },
): Promise<readonly Trial[]> {
  const isPage = POST_PATTERN.test(answers.create ?? "");
  const isEmpty = answers[field] === "" && field !== "bookings" && field !== "amount";
  if (isEmpty || FIELDS_TRIED_LATER.has(field) || (field === "create" && isPage)) return [];
  const trialField = field === "form" ? "create" : (FIELD_OF_TRIAL[field] ?? field);
  const trialRun = describeSection(context, sectionOf(answers), {}).then((description) =>
    tryShop(context, control, { description, readsOrders: false }),
  );
  const { ok, value: trials, refusal } = await catchRefusal(trialRun);
  if (!ok) return [{ field: trialField, ok, text: refusal.message }];
  return trials.filter((trial) => !trial.ok || trial.field === trialField);
}

const FIELD_OF_TRIAL: Partial<Record<ShopField, ShopField>> = {
  endpoint: "serve",
  orderViewCommand: "orderView",
};

function sectionOf({ create = "", form = "", cookie = "", settle, ...otherAnswers }: Answers): ShopSection {
  const [, page] = POST_PATTERN.exec(create) ?? [];
  const createValue =
    page === undefined ? create : { post: page, form: Object.fromEntries(new URLSearchParams(form)) };
  return {
    ...Object.fromEntries(Object.entries(otherAnswers).filter(([, answer]) => answer !== "")),
    ...(create === "" ? {} : { create: createValue }),
    ...(cookie === "" ? {} : { cookie: { env: cookie } }),
    ...(settle === undefined ? {} : { settle: parseDurationText(settle) }),
  };
}
