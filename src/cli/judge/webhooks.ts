import type { AnswerOf } from "../../core/control/operations.ts";
import type { CallOperation, ControlTarget } from "../../client/control/control.ts";
import { postOf } from "../../client/judge/events.ts";
import { sendForms } from "../../client/judge/forms/forms.ts";
import { findReceivers, type FoundReceiver } from "../../client/judge/forms/receivers.ts";
import { fillAddress } from "../../client/judge/shop/view.ts";
import { toIso } from "../../core/clock.ts";
import type { DrillStep, DrillVerdict } from "../../core/readiness/drill-shapes.ts";
import type { ShopSection } from "../../core/judge/shop.ts";
import { webhookSubject } from "../../core/readiness/drills/drill.ts";
import { drillSteps } from "../../core/judge/forms/causes.ts";
import { wasOutOfReach } from "../../core/judge/forms/requests.ts";
import { stepInEnglish } from "../../core/readiness/drills/said.ts";
import { WEBHOOK_STEP_TITLES } from "../../core/readiness/drills/webhook.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import { loadConfig } from "../../host/config/load.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { parseId } from "../parsers.ts";
import { EXIT, interruptedProblem, Refused, refuseUsage, unwrap } from "../problem.ts";
import { drillLines, verdictMark, type DrillLayout } from "../readiness/drill.ts";
import { callAt, createOperationCaller, runUnderLease } from "../target/call.ts";
import { requireControlTarget } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { runWithSpinner } from "../request/exchange.ts";
import { EXIT_OF_VERDICT, worstVerdict } from "./report.ts";
import { output } from "../output/output.ts";

type WebhookOptions = CommonOptions & {
  readonly endpoint?: string;
  readonly orderView?: string;
  readonly all?: boolean;
};

/** `record` is undefined if the verdict is `unknown`. */
type JudgedReceiver = Pick<FoundReceiver, "endpointId" | "url" | "checkout" | "now"> & {
  readonly verdict: DrillVerdict;
  readonly steps: readonly DrillStep[];
  readonly subject: string;
  readonly leftOutCount: number;
  readonly record: AnswerOf<"recordDrill"> | undefined;
};

const TIMEOUT_MS = Object.keys(WEBHOOK_STEP_TITLES).length * 30_000;
const POST_TIMEOUT_MS = 120_000;

const SHOW_ENDPOINTS_HINT = "checkout endpoints list shows the endpoints";
const ADD_ENDPOINT_HINT =
  "add one: checkout endpoints add http://localhost:3000/hooks, or enable one: checkout endpoints enable <id>";

export function registerChecklistWebhooks(group: Group): void {
  const command = group.command.commands.find((child) => child.name() === "run") ?? group.command;
  register<WebhookOptions>(
    { ...group, command },
    {
      name: "webhooks",
      summary: "send valid and invalid webhooks to your endpoint, and check which of them it accepts",
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
        valueOption(
          "--endpoint <id>",
          { text: "only this endpoint", default: "all enabled endpoints" },
          parseId,
        ),
        valueOption("--order-view <view>", {
          text: "URL or command that shows whether an order changed; with it, the drill also sends events of the newest order that the endpoint has accepted, including forged events of every type",
          default: "only webhook.test events",
        }),
        switchOption("--all", "also show the steps that passed"),
      ],
      run: runWebhooks,
    },
  );
}

async function runWebhooks(context: Context, options: WebhookOptions): Promise<number> {
  const control = await requireControlTarget(context);
  const shop = unwrap(await loadConfig(context.world, {}))?.config.shop ?? {};
  const { orderView = shop.orderView ?? shop.orderViewCommand } = options;
  const endpointId =
    options.endpoint ?? (await findEndpointId(createOperationCaller(context, control), shop));
  const results = await runWithSpinner(context, ({ signal }) => {
    const lease = { drill: "duplicates", timeoutMs: TIMEOUT_MS, signal } as const;
    return runUnderLease(context, control, lease, async ({ id: leaseId, storeId }) => {
      const mayRun = (): boolean => !signal.aborted;
      const hasOrder = orderView !== undefined;
      const request = { leaseId, storeId, endpointId, hasOrder, mayRun };
      const receivers = await judgeReceivers(context, control, request);
      if (signal.aborted) throw new Refused(interruptedProblem());
      return receivers;
    });
  });
  const verdict = worstVerdict(results.map((result) => result.verdict));
  const layout = { ...context.printer, showsAll: options.all === true };
  const json = { verdict, passed: verdict === "passed", drills: results.map(drillJson) };
  await context.printer.result(output("webhook_drill", json), async () =>
    (await Promise.all(results.map((result) => resultText(result, orderView, layout)))).join("\n\n"),
  );
  return EXIT_OF_VERDICT[verdict];
}

/** Undefined if no endpoint is described, or the shop is served. Refuses an unknown endpoint. */
export async function findEndpointId(
  call: CallOperation,
  { endpoint, serve }: Pick<ShopSection, "endpoint" | "serve">,
): Promise<string | undefined> {
  if (endpoint === undefined || serve !== undefined) return undefined;
  const { endpoints } = await call({ name: "listEndpoints", body: undefined });
  const namedEndpoint = endpoints.find(({ url, id }) => url === endpoint || id === endpoint);
  if (namedEndpoint !== undefined) return namedEndpoint.id;
  throw refuseUsage(
    `the store has no endpoint ${printable(endpoint)}`,
    `checkout endpoints add ${printable(endpoint)}`,
  );
}

type FormsRequest = {
  readonly leaseId: string;
  readonly storeId: string;
  readonly endpointId: string | undefined;
  readonly hasOrder: boolean;
  readonly mayRun: () => boolean;
};

export async function judgeReceivers(
  context: Context,
  control: ControlTarget,
  request: FormsRequest,
): Promise<readonly JudgedReceiver[]> {
  const call = createOperationCaller(context, control, { not_found: SHOW_ENDPOINTS_HINT });
  const receivers = await findReceivers(call, request, context.world);
  if (receivers.length === 0) throw refuseWithoutReceiver(request.endpointId);
  return Promise.all(receivers.map((receiver) => judgeReceiver(context, control, { ...request, receiver })));
}

async function judgeReceiver(
  context: Context,
  control: ControlTarget,
  { receiver, leaseId, mayRun }: FormsRequest & { readonly receiver: FoundReceiver },
): Promise<JudgedReceiver> {
  const { world } = context;
  const { endpointId, secret, checkout, now } = receiver;
  let { url } = receiver;
  const sentForms = await sendForms(
    {
      world,
      mayRun,
      post: async (request, connection) => {
        const { answers } = await callAt(context, control, {
          name: "postToEndpoint",
          body: { leaseId, posts: [postOf(endpointId, request, connection)] },
          timeoutMs: POST_TIMEOUT_MS,
          remedies: { state_conflict: ADD_ENDPOINT_HINT },
        });
        const [answer] = answers;
        if (answer === undefined) throw new Error("each request has an answer");
        ({ url } = answer);
        return answer;
      },
    },
    receiver,
  );
  const leftOutCount = mayRun() ? 0 : sentForms.caseNames.length - sentForms.results.length;
  const isUnknown = wasOutOfReach(sentForms.results) || leftOutCount > 0;
  // If the receiver is down or the run ends early, only the test webhooks that were sent have results.
  const caseNames = isUnknown ? sentForms.results.map(({ name }) => name) : sentForms.caseNames;
  const steps = drillSteps({ ...sentForms, caseNames }, receiver);
  const subject = webhookSubject({ id: endpointId, url }, secret);
  const webhookRecord = { endpointId, url, checkout, now, subject, steps, leftOutCount };
  // An unknown result does not replace the last recorded result.
  if (isUnknown) return { ...webhookRecord, verdict: "unknown", record: undefined };
  const body = { kind: "webhook", subject, steps } as const;
  const outcome = await callAt(context, { ...control, leaseId }, { name: "recordDrill", body });
  return { ...webhookRecord, verdict: outcome.passed ? "passed" : "failed", record: outcome };
}

function refuseWithoutReceiver(endpointId: string | undefined): Refused {
  if (endpointId !== undefined) {
    const message = `there is no endpoint ${endpointId}`;
    return new Refused({ exitCode: EXIT.failed, code: "not_found", message, next: SHOW_ENDPOINTS_HINT });
  }
  const message = "no enabled endpoint has its own address, so there is nothing to drill";
  return new Refused({ exitCode: EXIT.conflict, code: "state_conflict", message, next: ADD_ENDPOINT_HINT });
}

function drillJson({ endpointId, url, checkout, now, verdict, steps, subject, record }: JudgedReceiver) {
  return {
    id: record?.id ?? null,
    kind: "webhook" as const,
    subject,
    passed: record?.passed ?? false,
    at: toIso(record?.at ?? now),
    steps: steps.map(stepInEnglish),
    verdict,
    endpoint_id: endpointId,
    url,
    order: checkout === null ? null : { id: checkout.id, order_id: checkout.orderId },
  };
}

async function resultText(
  { url, checkout, verdict, steps }: JudgedReceiver,
  orderView: string | undefined,
  layout: DrillLayout,
): Promise<string> {
  const { style } = layout;
  const failedCount = steps.filter((step) => !step.passed).length;
  const text = {
    passed: "accepts valid webhooks and refuses invalid ones",
    failed: `failed ${failedCount} of ${steps.length} steps`,
    unknown: "could not be reached, so the drill has no result",
  }[verdict];
  const lines = [`${verdictMark(verdict, style)} ${printable(url)} ${text}`, await drillLines(steps, layout)];
  if (verdict !== "unknown") lines.push(`  ${style.cyan("→")} ${orderLine(checkout, orderView)}`);
  return lines.join("\n");
}

function orderLine(checkout: FoundReceiver["checkout"], orderView: string | undefined): string {
  if (orderView === undefined)
    return "Only webhook.test was sent: --order-view VIEW is your consent to send forged events of the newest accepted order too.";
  if (checkout === null)
    return "Only webhook.test was sent: the endpoint has not accepted an event of an order yet. Let your shop create an order, and run the drill again.";
  return `The drill also sent forged events of order ${printableLiteral(checkout.orderId)} (${checkout.id}), and does not read your view: check there whether the order has changed: ${printable(fillAddress(orderView, checkout))}`;
}
