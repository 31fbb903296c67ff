import { assumptionTitle } from "../../core/calibration/assumptions.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { EXPLAINABLE_KINDS, type ExplainableKind } from "../../core/explain/explained.ts";
import { entryLine, timedLine } from "../../core/explain/span.ts";
import { english, LANGUAGES, type Language } from "../../core/language.ts";
import { printable } from "../../core/text.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { findIdByEnding, findId, noMatchText } from "../target/ids.ts";
import { isShortId, choiceParser } from "../parsers.ts";
import { fieldLines, type Field, type Printer } from "../printer.ts";
import { catchRefusal, Refused, refuseUsage } from "../problem.ts";
import { table } from "../table.ts";
import { callSandbox } from "../target/control.ts";
import type { World } from "../../world.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { answerOutput } from "../output/answer.ts";

type ExplainOptions = CommonOptions & {
  readonly as?: ExplainableKind;
  readonly html?: boolean;
  readonly lang?: Language;
};

export function registerExplain(group: Group): void {
  register<ExplainOptions>(group, {
    name: "explain <id|order_id>",
    summary: "explain what happened to a request, a checkout, an order, an event or a delivery, and why",
    examples: [
      "checkout explain order-1001",
      "checkout explain <request_id>",
      "checkout explain <delivery_id> --json",
      "checkout explain order-1001 --html > order-1001.html",
    ],
    options: [
      valueOption(
        "--as <kind>",
        `kind of the id, if it is ambiguous: ${EXPLAINABLE_KINDS.join(", ")}`,
        choiceParser(EXPLAINABLE_KINDS),
      ),
      switchOption(
        "--html",
        "print the portal's page of the order as one HTML file, without scripts and secrets, to attach to a ticket",
      ),
      valueOption(
        "--lang <language>",
        { text: "language of --html: en or zh", default: "the language of LC_ALL, LC_MESSAGES or LANG" },
        choiceParser(LANGUAGES),
      ),
    ],
    requires: [["lang", "html"]],
    run: runExplain,
  });
}

async function runExplain(context: Context, options: ExplainOptions, id = ""): Promise<number> {
  if (id === "")
    throw refuseUsage("expected an id or an order_id; got an empty text", "checkout explain order-1001");
  if (options.html === true) return printPage(context, options, id);
  const story = await askSandbox(context, options, id, (subject) =>
    callSandbox(context, { name: "explain", body: subject, remedies: REMEDIES }),
  );
  return context.printer.result(answerOutput("explain", story), () =>
    explanationText(story, context.printer),
  );
}

async function printPage(context: Context, options: ExplainOptions, id: string): Promise<number> {
  const language = options.lang ?? languageOf(context.world.env);
  const savedStory = await askSandbox(context, options, id, (subject) =>
    callSandbox(context, { name: "saveStory", body: { ...subject, language }, remedies: PAGE_REMEDIES }),
  );
  if (options.json === true) return context.printer.result(answerOutput("saveStory", savedStory), () => "");
  return context.printer.raw(savedStory.html);
}

function languageOf({ LC_ALL, LC_MESSAGES, LANG }: World["env"]): Language {
  return /^zh/i.test(LC_ALL || LC_MESSAGES || LANG || "") ? "zh" : "en";
}

type ExplainSubject = { readonly id: string; readonly as: ExplainableKind | undefined };

/** An exact order_id takes precedence over the end of an id (decision 104). */
async function askSandbox<Answer>(
  context: Context,
  { as }: ExplainOptions,
  text: string,
  send: (subject: ExplainSubject) => Promise<Answer>,
): Promise<Answer> {
  const outcome = await catchRefusal(send({ id: text, as }));
  if (outcome.ok) return outcome.value;
  const isSearchable = as === "checkout" || (as !== "order" && isShortId(text));
  if (outcome.refusal.code !== "not_found" || !isSearchable) throw new Refused(outcome.refusal);
  const id = as === undefined ? await findAnyByEnding(context, text) : await findId(context, as, text);
  return send({ id, as });
}

async function findAnyByEnding(context: Context, text: string): Promise<string> {
  for (const kind of ["request", "checkout", "event", "delivery"] as const) {
    const foundId = await findIdByEnding(context, kind, text);
    if (foundId !== undefined) return foundId;
  }
  const message = `no request, order, session, event or delivery ${noMatchText(text)}`;
  const next =
    "type the whole id; checkout requests list, orders list, events list and deliveries list show the ids (deliveries list --endpoint <id>: those of an endpoint)";
  throw new Refused({ code: "not_found", message, next });
}

const REMEDIES = {
  not_found:
    "checkout requests list, checkout orders list and checkout events list show the ids; the request log keeps only the newest requests",
} as const;

const PAGE_REMEDIES = {
  not_found:
    "checkout orders list and checkout sessions list show the ids; without --html, checkout explain also explains requests without a checkout",
} as const;

async function explanationText(
  explanation: AnswerOf<"explain">,
  { width, wrap }: Pick<Printer, "width" | "wrap">,
): Promise<string> {
  const { kind, summary, check, rule, decision, field, expected, received } = explanation;
  const { differences, entries, pending, next } = explanation;
  const reasons = [
    ["check", check],
    ["field", field],
    ["expected", expected],
    ["received", received],
  ] as const;
  const givenReasons = reasons.filter(([, text]) => text !== null);
  const parts = [
    wrap(printable(summary), 0),
    givenReasons.length === 0 ? "" : reasonLines(givenReasons, wrap),
    differences.length === 0
      ? ""
      : await table(
          ["DIFFERENCE", "FIRST REQUEST", "THIS REQUEST"],
          differences.map((difference) => [difference.field, difference.first, difference.this]),
          { width, wrap: true },
        ),
    entries
      .flatMap((entry) => entryLines(entry, kind))
      .map((line) => wrap(line, TEXT_COLUMN))
      .join("\n"),
    pending.length === 0
      ? ""
      : ["Pending", ...pending.map(({ at, text }) => wrap(timedLine(at, text), TEXT_COLUMN))].join("\n"),
    next.map((command) => `  → ${printable(command)}`).join("\n"),
    citationText(rule, decision),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function citationText(rule: number | null, decision: number | null): string {
  const subject = decision === null ? "" : english(assumptionTitle(decision));
  const citations = [
    ...(rule === null ? [] : [`interface ${rule}`]),
    ...(decision === null ? [] : [`decision ${decision}${subject === "" ? "" : ` (${subject})`}`]),
  ];
  return citations.length === 0 ? "" : `See ${citations.join(" and ")}`;
}

const TEXT_COLUMN = "2026-01-01T00:00:00.000Z  ".length + 2;

function reasonLines(reasons: readonly Field[], wrap: Printer["wrap"]): string {
  const column = Math.max(...reasons.map(([label]) => label.length)) + 4;
  return fieldLines(reasons)
    .split("\n")
    .map((line) => wrap(line, column))
    .join("\n");
}

type Entry = AnswerOf<"explain">["entries"][number];

function entryLines(entry: Entry, kind: ExplainableKind): readonly string[] {
  const { attempts = [] } = entry;
  const line = entryLine(entry);
  return kind === "delivery"
    ? [line, ...attempts.map((attempt) => timedLine(attempt.at, `    ${attempt.text}`))]
    : [line];
}
