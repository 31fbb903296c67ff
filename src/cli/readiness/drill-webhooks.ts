import { fillAddress } from "../../client/judge/view.ts";
import { encodeAnswer, type AnswerOf, type RequestOf } from "../../core/control/operations.ts";
import { callControl, type ControlTarget } from "../../client/control/control.ts";
import { withLease } from "../../client/control/lease.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import { WEBHOOK_STEPS } from "../../core/readiness/drills/webhook.ts";
import { loadConfig } from "../../host/config/load.ts";
import { endpointOf } from "../judge/endpoint.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { drillLines, verdictMark, type DrillLayout } from "./drill.ts";
import { parseId } from "../parsers.ts";
import { answered, type Remedies } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { EndpointDrill } from "../../core/readiness/drill-shapes.ts";
import { EXIT, unwrap } from "../problem.ts";
import { controlTarget } from "../target/control.ts";
import { runWithSpinner } from "../target/waiting.ts";

type WebhookDrillOptions = CommonOptions & {
  readonly endpoint?: string;
  readonly orderView?: string;
  readonly all?: boolean;
};

/** Timeout of the whole drill, in milliseconds: an endpoint may answer each request slowly. */
const TIMEOUT_MS = Object.keys(WEBHOOK_STEPS).length * 30_000;

const EXIT_CODES = { passed: EXIT.done, failed: EXIT.failed, unknown: EXIT.notReady } as const;

/** `checkout checklist run webhooks`, below the command that runs everything. */
export function registerChecklistWebhooks(group: Group): void {
  const command = group.command.commands.find((one) => one.name() === "run") ?? group.command;
  register<WebhookDrillOptions>(
    { ...group, command },
    {
      name: "webhooks",
      summary: "send valid and invalid webhooks to your endpoint, and check which ones it accepts",
      exitCodes: {
        0: "passed",
        1: "failed: each failed step has a cause",
        3: "unknown: an answer that the drill needs is missing",
      },
      examples: [
        "checkout checklist run webhooks --order-view http://localhost:3000/orders/{order_id}",
        "checkout checklist run webhooks",
        "checkout checklist run webhooks --endpoint 0199a3c4-5d00-7000-8000-000000000001 --json",
      ],
      options: [
        valueOption("--endpoint <id>", "only this endpoint (default: all enabled endpoints)", parseId),
        valueOption(
          "--order-view <view>",
          "URL or command that shows you whether an order changed; allows the drill to also send events of your newest order, including forged ones of every type (default: send webhook.test only)",
        ),
        switchOption("--all", "also show the steps that passed"),
      ],
      run: runWebhooks,
    },
  );
}

/** A failed drill is a result, not a failure of the command: it is printed, and the exit code is 1. */
async function runWebhooks(context: Context, options: WebhookDrillOptions): Promise<number> {
  const control = await controlTarget(context);
  const shop = unwrap(await loadConfig(context.world, {}))?.config.shop ?? {};
  const { orderView = shop.orderView ?? shop.orderViewCommand } = options;
  const endpoint = options.endpoint ?? (await endpointOf(context, control, shop));
  const body = {
    ...(endpoint === undefined ? {} : { endpointId: endpoint }),
    ...(orderView === undefined ? {} : { orderEvents: true }),
  };
  const run = await runWithSpinner(context, ({ signal }) =>
    runWebhookDrill(context, control, { body, signal }),
  );
  const { drills } = run;
  const verdict = worstProof(drills);
  const look = { ...context.printer, all: options.all === true };
  const json = { verdict, passed: verdict === "passed", ...encodeAnswer("runWebhookDrill", run) };
  await context.printer.result(json, async () =>
    (await Promise.all(drills.map((drill) => report(drill, orderView, look)))).join("\n\n"),
  );
  return EXIT_CODES[verdict];
}

/** Runs under a lease, so that the sandbox stops the drill when this command ends. */
export async function runWebhookDrill(
  { world }: Context,
  control: ControlTarget,
  { body, signal }: { readonly body: RequestOf<"runWebhookDrill">; readonly signal: AbortSignal },
): Promise<AnswerOf<"runWebhookDrill">> {
  const lease = { drill: "webhook", timeoutMs: TIMEOUT_MS, signal } as const;
  const run = await withLease(world, control, lease, ({ id: leaseId }) =>
    callControl(world, control, {
      name: "runWebhookDrill",
      body: { ...body, leaseId },
      timeoutMs: TIMEOUT_MS,
      signal,
    }),
  );
  return unwrap(answered(run, NEXT_AFTER));
}

/** The verdict on all endpoints. */
export function worstProof(drills: readonly EndpointDrill[]): EndpointDrill["verdict"] {
  const has = (verdict: EndpointDrill["verdict"]): boolean =>
    drills.some((drill) => drill.verdict === verdict);
  if (has("failed")) return "failed";
  return has("unknown") ? "unknown" : "passed";
}

const NEXT_AFTER: Remedies = {
  not_found: "checkout endpoints list shows the endpoints",
  state_conflict:
    "add one: checkout endpoints add http://localhost:3000/hooks, or enable one: checkout endpoints enable <id>",
};

async function report(
  { url, verdict, steps, order }: EndpointDrill,
  orderView: string | undefined,
  look: DrillLayout,
): Promise<string> {
  const { style } = look;
  const failed = steps.filter((step) => !step.passed).length;
  const what = {
    passed: "accepts valid webhooks and refuses invalid ones",
    failed: `failed ${failed} of ${steps.length} steps`,
    unknown: "could not be reached, so the drill has no result",
  }[verdict];
  const lines = [
    `${verdictMark(verdict, style)} ${printable(url)} ${what}`,
    await drillLines(steps, { titles: WEBHOOK_STEPS, ...look }),
  ];
  if (verdict !== "unknown") lines.push(`  ${style.cyan("→")} ${orderLine(order, orderView)}`);
  return lines.join("\n");
}

function orderLine(order: EndpointDrill["order"], orderView: string | undefined): string {
  if (orderView === undefined)
    return "Only webhook.test was sent: --order-view VIEW is your consent to send forged events of your newest order too.";
  if (order === null)
    return "Only webhook.test was sent: the endpoint has not accepted an event of an order yet. Let your shop create an order, and run the drill again.";
  return `The drill also sent forged events of order ${printableLiteral(order.orderId)} (${order.id}), and does not read your view: check there whether the order has changed: ${printable(fillAddress(orderView, order))}`;
}
