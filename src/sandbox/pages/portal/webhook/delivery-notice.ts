import { toIso } from "../../../../core/clock.ts";
import type { AnswerOf } from "../../../../core/control/operations.ts";
import { causeText, errorText } from "../../../../core/explain/delivery.ts";
import { isSuccessStatus } from "../../../../core/webhook/delivery.ts";
import { inBothLanguages, type Words } from "../../../../core/language.ts";
import type { DeliveryAttempt } from "../../../../store/webhook/delivery-attempts.ts";
import { storeTime } from "../../../with-store.ts";
import { runAsViewer, type ActionContext } from "../route.ts";
import type { PortalContext, Notice } from "../view.ts";
import { WEBHOOK_TEXTS } from "./texts.ts";

const MAX_WAIT_MS = 2000;
const CHECK_INTERVAL_MS = 50;
const MAX_DELIVERIES = 50;

type NewDelivery = { readonly id: string; readonly endpointId: string };

type DeliveryTrigger = "replayed" | "tested" | "added";

export async function deliveryNotice(
  { context, view }: ActionContext,
  action: DeliveryTrigger,
  deliveries: readonly NewDelivery[],
): Promise<Notice> {
  const at = toIso(storeTime(context, view.storeId));
  const { endpoints } = context.store;
  const sentDeliveries = deliveries.filter(
    ({ endpointId }) => endpoints.find(endpointId)?.state === "enabled",
  );
  if (sentDeliveries.length === 0 || context.holdOf(view.storeId) !== undefined)
    return { words: WEBHOOK_TEXTS.notices.waits[action](at), tone: "warn" };
  const attempts = await awaitAttempts(context, view.storeId, sentDeliveries);
  return { words: noticeWords(action, at, attempts), tone: toneOf(attempts) };
}

export function testNotice(
  scope: ActionContext,
  action: "tested" | "added",
  eventId: string,
): Promise<Notice> {
  const { context, view } = scope;
  const filter = { storeId: view.storeId, eventId, limit: MAX_DELIVERIES };
  return deliveryNotice(scope, action, context.store.deliveries.list(filter));
}

export async function addedNotice({ id }: AnswerOf<"addEndpoint">, scope: ActionContext): Promise<Notice> {
  const test = await runAsViewer(scope.context, "testEndpoint", { ...scope.view, id, body: {} });
  return test.ok ? testNotice(scope, "added", test.value.eventId) : deliveryNotice(scope, "added", []);
}

async function awaitAttempts(
  { store, world, writeSignals }: PortalContext,
  storeId: string,
  deliveries: readonly NewDelivery[],
): Promise<readonly (DeliveryAttempt | undefined)[]> {
  const deadline = world.monotonic() + MAX_WAIT_MS;
  for (;;) {
    const attempts = deliveries.map(({ id }) =>
      store.deliveryAttempts.of(id).find(({ finishedAt }) => finishedAt !== null),
    );
    const remainingMs = deadline - world.monotonic();
    if (attempts.every((item) => item !== undefined) || remainingMs <= 0 || writeSignals.isOver())
      return attempts;
    await writeSignals.next(storeId, Math.min(remainingMs, CHECK_INTERVAL_MS));
  }
}

function noticeWords(
  action: DeliveryTrigger,
  at: string,
  attempts: readonly (DeliveryAttempt | undefined)[],
): Words {
  const [firstAttempt, ...otherAttempts] = attempts;
  const results = otherAttempts.length === 0 ? resultOf(firstAttempt) : countsOf(attempts);
  const onlyAttempt = firstAttempt === undefined || otherAttempts.length > 0 ? undefined : firstAttempt;
  return inBothLanguages((say) => {
    const causeWords = onlyAttempt && causeText(onlyAttempt, say);
    const text = `${say(WEBHOOK_TEXTS.notices.done[action](at))}${say(results)}`;
    return causeWords === undefined ? text : `${text}${say([` (${causeWords})`, `（${causeWords}）`])}`;
  });
}

function resultOf(attempt: DeliveryAttempt | undefined): Words {
  if (attempt === undefined) return WEBHOOK_TEXTS.notices.noAnswerYet;
  const { status, error } = attempt;
  if (status !== null) return [String(status), String(status)];
  const text = errorText(attempt);
  const shownText = `${error ?? ""}${text === undefined ? "" : `: ${text}`}`;
  return [shownText, shownText];
}

function countsOf(attempts: readonly (DeliveryAttempt | undefined)[]): Words {
  return inBothLanguages((say) => {
    const groups = Map.groupBy(attempts, (item) => say(resultOf(item)));
    return [...groups].map(([result, { length }]) => `${length} × ${result}`).join(", ");
  });
}

function toneOf(attempts: readonly (DeliveryAttempt | undefined)[]): Notice["tone"] {
  if (attempts.every((item) => item !== undefined && isSuccessStatus(item.status))) return "good";
  return attempts.some((item) => item !== undefined && !isSuccessStatus(item.status)) ? "bad" : "";
}
