import { PAID_STATUS, type PaymentEvidence } from "../../core/calibration/payment.ts";
import {
  checkoutInAnswer,
  retrievePath,
  FIRST_PROBE,
  type ProbeAnswers,
  type ProbeAnswer,
} from "../../core/calibration/probes.ts";
import { STATUSES } from "../../core/checkout/checkout.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import type { World } from "../../world.ts";
import type { ServiceTarget } from "../api/client.ts";
import { poll } from "../poll.ts";
import {
  createPace,
  isLiveAnswer,
  sendProbe,
  type CalibrationWorld,
  type ProbeOptions,
} from "./calibrate.ts";
import type { CalibrationReceiver } from "./receiver.ts";

const MAX_PAY_MS = 15 * 60_000;
const MAX_AFTER_PAYMENT_MS = 60_000;
const PAUSE_MS = 500;
export const MAX_RETRIEVES = 4;

export async function awaitPayment(
  world: CalibrationWorld & Pick<World, "monotonic">,
  target: ServiceTarget,
  {
    answers,
    receiver,
    ...options
  }: ProbeOptions & { readonly answers: ProbeAnswers; readonly receiver: CalibrationReceiver },
): Promise<Omit<PaymentEvidence, "secrets">> {
  const { id } = checkoutInAnswer(answers.get(FIRST_PROBE));
  const pace = createPace();
  let retrieval: ProbeAnswer | undefined;
  let retrieveCount = 0;
  let receivedCount = 0;
  let endedAt: number | undefined;
  const retrieve = async (): Promise<void> => {
    retrieveCount += 1;
    const request = { method: "GET", path: retrievePath(id) } as const;
    const { answer, missReason } = await sendProbe(world, target, { ...options, pace, request });
    if (missReason === undefined) retrieval = answer;
    if (isEnded(retrieval) || isLiveAnswer(retrieval)) endedAt ??= world.monotonic();
  };
  const look = async (): Promise<void> => {
    // Attempts with the same body are of one event, which counts once.
    const events = new Set(receiver.deliveries().map(({ body }) => Buffer.from(body).toString("latin1")));
    const currentCount = events.size + (receiver.visit() === undefined ? 0 : 1);
    if (currentCount > receivedCount && endedAt === undefined && retrieveCount < MAX_RETRIEVES - 1)
      await retrieve();
    receivedCount = currentCount;
  };
  const isEnough = (): boolean =>
    options.signal.aborted ||
    (endedAt !== undefined && (isComplete(receiver) || world.monotonic() - endedAt >= MAX_AFTER_PAYMENT_MS));
  await poll(world, look, { isEnough, waitMs: MAX_PAY_MS, firstPauseMs: PAUSE_MS, signal: options.signal });
  if (endedAt === undefined && !options.signal.aborted) await retrieve();
  return { deliveries: receiver.deliveries(), visit: receiver.visit(), retrieval };
}

function isEnded(answer: ProbeAnswer | undefined): boolean {
  const status = STATUSES.find((candidate) => candidate === checkoutInAnswer(answer)["status"]);
  return status !== undefined && isFinal(status);
}

function isComplete(receiver: CalibrationReceiver): boolean {
  const deliveries = receiver.deliveries();
  const [firstDelivery] = deliveries;
  const hasSecondAttempt = deliveries.some(
    (delivery) =>
      delivery !== firstDelivery && Buffer.compare(delivery.body, firstDelivery?.body ?? delivery.body) === 0,
  );
  const hasPaymentEvent = deliveries.some(
    ({ body, answerCode }) => answerCode < 300 && Buffer.from(body).includes(`"${PAID_STATUS}"`),
  );
  return hasSecondAttempt && hasPaymentEvent && receiver.visit() !== undefined;
}
