import { fillAddress } from "../../client/judge/view.ts";
import { encodeAnswer, type AnswerOf, type RequestOf } from "../../core/control/operations.ts";
import { callControl, type ControlTarget } from "../../client/control/control.ts";
import { withLease } from "../../client/control/lease.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import { WEBHOOK_STEPS } from "../../core/readiness/drills/webhook.ts";
import { loadConfig } from "../../host/config/load.ts";
import { endpointOf } from "../judge/endpoint.ts";
import { valueOption, type Context, type Group } from "../command.ts";
import { drillLines, registerDrill, verdictMark, type DrillLayout } from "./drill.ts";
import { parseId } from "../parsers.ts";
import { answered, type Remedies } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { EndpointDrill } from "../../core/readiness/drill-shapes.ts";
import { unwrap } from "../problem.ts";

type WebhookDrillOptions = CommonOptions & { readonly endpoint?: string; readonly orderView?: string };

/** Timeout of the whole drill, in milliseconds: an endpoint may answer each request slowly. */
const TIMEOUT_MS = Object.keys(WEBHOOK_STEPS).length * 30_000;

/** `checkout checklist run webhooks`. */
export function registerChecklistWebhooks(group: Group): void {
  registerDrill<WebhookDrillOptions>(group, {
    name: "webhooks",
    summary: "send valid and invalid webhooks to your endpoint, and check which ones it accepts",
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
    ],
    prepare: async (context, options, control) => {
      const shop = unwrap(await loadConfig(context.world, {}))?.config.shop ?? {};
      const { orderView = shop.orderView ?? shop.orderViewCommand } = options;
      const endpoint = options.endpoint ?? (await endpointOf(context, control, shop));
      return async (signal) => {
        const body = {
          ...(endpoint === undefined ? {} : { endpointId: endpoint }),
          ...(orderView === undefined ? {} : { orderEvents: true }),
        };
        const run = await runWebhookDrill(context, control, { body, signal });
        const { drills } = run;
        const verdict = worstProof(drills);
        return {
          verdict,
          json: { verdict, passed: verdict === "passed", ...encodeAnswer("runWebhookDrill", run) },
          text: async (look) =>
            (await Promise.all(drills.map((drill) => report(drill, orderView, look)))).join("\n\n"),
        };
      };
    },
  });
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
