import type { Command } from "commander";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { callControl, type ControlTarget } from "../../client/control/control.ts";
import { whileLeased } from "../../client/control/lease.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { CASE_NAMES, DRILL_CASES } from "../../core/readiness/drills/webhook.ts";
import { valueOption, type CommonOptions, type Context, type Registry } from "../command.ts";
import { controlOutcome, type NextAfter } from "../control-command.ts";
import { drillLines, registerDrill, verdictMark } from "./drill.ts";
import { parseId } from "../parsers.ts";
import type { Style } from "../printer.ts";
import type { Problem } from "../problem.ts";

type WebhookDrillOptions = CommonOptions & { readonly endpoint?: string };
type EndpointDrill = AnswerOf<"runWebhookDrill">["drills"][number];

/** Receivers may take their time with each of the requests, in milliseconds. */
const TIMEOUT_MS = 600_000;

/** `checkout checklist run webhooks`. */
export function registerChecklistWebhooks(checklist: Command, registry: Registry): void {
  registerDrill<WebhookDrillOptions>(checklist, registry, {
    name: "webhooks",
    summary: "send valid and invalid webhooks to your endpoint, and check which it accepts and refuses",
    examples: [
      "checkout checklist run webhooks",
      "checkout checklist run webhooks --endpoint 0199a3c4-5d00-7000-8000-000000000001 --json",
    ],
    options: [valueOption("--endpoint <id>", "only this endpoint (default: all enabled ones)", parseId)],
    prepare: (context, { endpoint }, control) =>
      accept(async (signal) => {
        const run = await runDrill(context, control, { endpoint, signal });
        if (!run.ok) return run;
        const { drills } = run.value;
        const passed = drills.every((drill) => drill.passed);
        return accept({
          verdict: passed ? "passed" : "failed",
          json: { passed, ...encodeAnswer("runWebhookDrill", run.value) },
          text: async (style) =>
            (await Promise.all(drills.map((drill) => report(drill, style)))).join("\n\n"),
        });
      }),
  });
}

/** Under a lease, so that the sandbox stops when this command is no more. */
async function runDrill(
  { world }: Context,
  control: ControlTarget,
  { endpoint, signal }: { readonly endpoint: string | undefined; readonly signal: AbortSignal },
): Promise<Outcome<AnswerOf<"runWebhookDrill">, Problem>> {
  const lease = { drill: "webhook", timeoutMs: TIMEOUT_MS, signal } as const;
  const run = await whileLeased(world, control, lease, ({ id: leaseId }) => {
    const body = endpoint === undefined ? { leaseId } : { leaseId, endpointId: endpoint };
    return callControl(world, control, { name: "runWebhookDrill", body, timeoutMs: TIMEOUT_MS, signal });
  });
  return controlOutcome(run, NEXT_AFTER);
}

const NEXT_AFTER: NextAfter = {
  not_found: "checkout endpoints list shows them",
  state_conflict:
    "add one: checkout endpoints add http://localhost:3000/hooks, or enable one: checkout endpoints enable <id>",
};

async function report({ url, passed, steps }: EndpointDrill, style: Style): Promise<string> {
  const right = steps.filter((step) => step.passed).length;
  const what = passed
    ? "accepts valid webhooks and refuses invalid ones"
    : `passed ${right} of ${steps.length} steps`;
  const head = `${verdictMark(passed ? "passed" : "failed", style)} ${printable(url)} ${what}`;
  return `${head}\n${await drillLines(steps, { titles: TITLES, style })}`;
}

const TITLES = Object.fromEntries(CASE_NAMES.map((name) => [name, DRILL_CASES[name].what]));
