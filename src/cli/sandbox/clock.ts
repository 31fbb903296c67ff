import type { Command } from "commander";
import { iso } from "../../core/clock.ts";
import { printableLiteral } from "../../core/text.ts";
import { decodeRequest, encodeAnswer, type RequestOf } from "../../core/control/operations.ts";
import { register, type Context, type Registry } from "../command.ts";
import { happeningLines } from "../webhook/report.ts";
import { parseSpan } from "../../core/config/setting-text.ts";
import { fail, usageProblem, type Ending, type Problem } from "../problem.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

const MOMENT = "a time such as 2026-12-24T18:00:00Z";

/** `checkout sandbox clock show|freeze|advance|set|real`. */
export function registerSandboxClock(parent: Command, registry: Registry): void {
  const group = parent
    .command("clock")
    .description("the store's clock, for expiry and everything else that depends on time");
  const add = (
    name: string,
    summary: string,
    request: (argument: string) => RequestOf<"moveClock"> | Problem | undefined,
  ): void =>
    register<CommonOptions>(group, registry, {
      name,
      summary,
      examples: [
        `checkout sandbox clock ${name.replace("<span>", "31m").replace("<moment>", "2026-12-24T18:00:00Z")}`,
      ],
      options: [],
      run: (context, options, argument = "") => runClock(context, options, request(argument)),
    });
  add("show", "show the store's time", () => undefined);
  add("freeze", "freeze the clock", () => ({ action: "freeze" }));
  add("advance <span>", "move it forward, and do everything that is due on the way, in order", advanceBy);
  add("set <moment>", "set it to a time", setTo);
  add("real", "return to real time", () => ({ action: "real" }));
}

async function runClock(
  context: Context,
  _options: CommonOptions,
  request: RequestOf<"moveClock"> | Problem | undefined,
): Promise<Ending> {
  if (request !== undefined && "exitCode" in request) return fail(request);
  const moved =
    request === undefined
      ? await callSandbox(context, { name: "showClock", body: undefined })
      : await callSandbox(context, { name: "moveClock", body: request });
  if (!moved.ok) return moved;
  const { now, frozen, fired, delivered, undelivered } = moved.value;
  const left =
    undelivered === 0
      ? []
      : [`${undelivered} due deliveries are not finished yet: checkout deliveries list --state due`];
  const quiet = fired.length + delivered.length === 0;
  return context.printer.result(encodeAnswer("showClock", moved.value), async () =>
    [
      `${iso(now)}${frozen ? " (frozen)" : ""}`,
      ...(quiet ? [] : [await happeningLines(fired, { tried: delivered, width: context.printer.width })]),
      ...left,
    ].join("\n"),
  );
}

function advanceBy(text: string): RequestOf<"moveClock"> | Problem {
  const by = parseSpan(text);
  return by.ok ? { action: "advance", byMs: by.value } : wrong(by.refusal.message);
}

/** The service's own check, so that a day that does not exist is not read as another one. */
function setTo(text: string): RequestOf<"moveClock"> | Problem {
  const parsed = decodeRequest("moveClock", { action: "set", to: text });
  return parsed.ok ? parsed.value : wrong(`expected ${MOMENT}; got ${printableLiteral(text)}`);
}

function wrong(why: string): Problem {
  return usageProblem(why, "correct it; the clock was not moved");
}
