import { toIso } from "../../core/clock.ts";
import { printableLiteral } from "../../core/text.ts";
import { decodeRequest, type AnswerOf, type RequestOf } from "../../core/control/operations.ts";
import { runnerFor } from "../calling.ts";
import { register, type Group } from "../command.ts";
import { timelineLines } from "../webhook/report.ts";
import type { Printer } from "../printer.ts";
import { refuseUsage, type Refused } from "../problem.ts";
import { parseSpan } from "../../core/duration.ts";

const TIME_EXAMPLE = "a time such as 2026-12-24T18:00:00Z";

export function registerSandboxClock(group: Group): void {
  const command = group.command
    .command("clock")
    .description(
      "show and move the store's clock, which decides when checkouts expire and deliveries are due",
    );
  const add = (name: string, summary: string, run: ReturnType<typeof runnerFor>): void =>
    register(
      { ...group, command },
      {
        name,
        summary,
        examples: [
          `checkout sandbox clock ${name.replace("<duration>", "31m").replace("<time>", "2026-12-24T18:00:00Z")}`,
        ],
        run,
      },
    );
  const moveRunner = (createRequest: (argument: string) => RequestOf<"moveClock">) =>
    runnerFor("moveClock", { body: (_options, { argument }) => createRequest(argument), text: clockText });
  add("show", "show the store's time", runnerFor("showClock", { text: clockText }));
  add(
    "freeze",
    "freeze the store's clock",
    moveRunner(() => ({ action: "freeze" })),
  );
  add(
    "advance <duration>",
    "advance the store's clock, and process in order everything that becomes due",
    moveRunner(parseAdvance),
  );
  add("set <time>", "set the store's clock to a time", moveRunner(parseSet));
  add(
    "real",
    "return the store's clock to real time",
    moveRunner(() => ({ action: "real" })),
  );
}

async function clockText(clock: AnswerOf<"showClock">, { width }: Pick<Printer, "width">): Promise<string> {
  const { now, frozen, fired, delivered, undelivered } = clock;
  const undeliveredLines =
    undelivered === 0
      ? []
      : [`deliveries still due: ${undelivered}; checkout deliveries list --state due shows them`];
  const hasNoChange = fired.length + delivered.length === 0;
  return [
    `${toIso(now)}${frozen ? " (frozen)" : ""}`,
    ...(hasNoChange ? [] : [await timelineLines(fired, { attempts: delivered, width })]),
    ...undeliveredLines,
  ].join("\n");
}

function parseAdvance(text: string): RequestOf<"moveClock"> {
  const span = parseSpan(text);
  if (!span.ok) throw refuseTime(span.refusal.message);
  return { action: "advance", byMs: span.value };
}

function parseSet(text: string): RequestOf<"moveClock"> {
  const outcome = decodeRequest("moveClock", { action: "set", to: text });
  if (!outcome.ok) throw refuseTime(`expected ${TIME_EXAMPLE}; got ${printableLiteral(text)}`);
  return outcome.value;
}

function refuseTime(reason: string): Refused {
  return refuseUsage(reason, "correct it; the clock was not moved");
}
