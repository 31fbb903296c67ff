import type { Command } from "commander";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { accept } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { CASE_NAMES, DRILL_CASES } from "../../core/readiness/drills/webhook.ts";
import { register, valueOption, type CommonOptions, type Context, type Registry } from "../command.ts";
import { callSandbox } from "../control-command.ts";
import { drillLines } from "./drill-report.ts";
import { parseId } from "../parsers.ts";
import type { Style } from "../printer.ts";
import { DONE, EXIT, type Ending } from "../problem.ts";
import { whileWaiting } from "../service-command.ts";
import { drillGroup } from "./checklist.ts";

type WebhookDrillOptions = CommonOptions & { readonly endpoint?: string };
type EndpointDrill = AnswerOf<"runWebhookDrill">["drills"][number];

/** Receivers may take their time with each of the requests, in milliseconds. */
const TIMEOUT_MS = 600_000;

/** `checkout checklist run webhooks`. */
export function registerChecklistWebhooks(checklist: Command, registry: Registry): void {
  register<WebhookDrillOptions>(drillGroup(checklist), registry, {
    name: "webhooks",
    summary: "send valid and invalid webhooks to your endpoint, and check which it accepts and refuses",
    examples: [
      "checkout checklist run webhooks",
      "checkout checklist run webhooks --endpoint 0199a3c4-5d00-7000-8000-000000000001 --json",
    ],
    options: [valueOption("--endpoint <id>", "only this endpoint (default: all enabled ones)", parseId)],
    run: runWebhooks,
  });
}

/** A receiver that does wrong is a result, not a failure of the command: it is printed, and the exit code tells. */
async function runWebhooks(context: Context, options: WebhookDrillOptions): Promise<Ending> {
  const { endpoint } = options;
  const run = await whileWaiting(context, options, ({ signal }) =>
    callSandbox(context, options, {
      name: "runWebhookDrill",
      body: endpoint === undefined ? {} : { endpointId: endpoint },
      timeoutMs: TIMEOUT_MS,
      signal,
      nextAfter: {
        not_found: "checkout endpoints list shows them",
        state_conflict:
          "add one: checkout endpoints add http://localhost:3000/hooks, or enable one: checkout endpoints enable <id>",
      },
    }),
  );
  if (!run.ok) return run;
  const { drills } = run.value;
  const passed = drills.every((drill) => drill.passed);
  context.printer.result({ passed, ...encodeAnswer("runWebhookDrill", run.value) }, () =>
    drills.map((drill) => report(drill, context.printer.style)).join("\n\n"),
  );
  return passed ? DONE : accept(EXIT.failed);
}

function report({ url, passed, steps }: EndpointDrill, style: Style): string {
  const right = steps.filter((step) => step.passed).length;
  const what = passed
    ? "accepts valid webhooks and refuses invalid ones"
    : `passed ${right} of ${steps.length} steps`;
  const head = `${passed ? style.green("✓") : style.red("✗")} ${printable(url)} ${what}`;
  return `${head}\n${drillLines(steps, { titles: TITLES, style })}`;
}

const TITLES = Object.fromEntries(CASE_NAMES.map((name) => [name, DRILL_CASES[name].what]));
