import type { Hold } from "../webhook/hold.ts";
import { isSuccessStatus, type DeliveryState } from "../webhook/delivery.ts";
import { isHoldingAction, type DeliveryAction } from "../fault/actions.ts";
import type { AppliedFault } from "../fault/shapes.ts";
import type { Translator } from "../language.ts";
import { causeOf, falseSuccessCause, type AttemptOutcome, type LikelyCause } from "./delivery-causes.ts";
import { excerpt } from "../text.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";
import type { DeliveryEntry } from "../webhook/shapes.ts";

/** `startedAt` is in store time; `milliseconds` is a duration in real time. */
export type StoryAttempt = AttemptOutcome & {
  readonly number: number;
  readonly startedAt: number;
  readonly milliseconds: number | null;
  readonly fault: DeliveryAction | null;
};

export type StoryDelivery = {
  readonly id: string;
  readonly eventId: string;
  readonly endpointId: string;
  /** The target of a listener if known, else the endpoint's URL, else the URL of the last attempt. */
  readonly endpointUrl: string | null;
  readonly cause: DeliveryEntry["cause"];
  readonly state: DeliveryState;
  readonly nextAt: number;
  readonly isHeld: boolean;
  readonly hold?: Hold | undefined;
  readonly fault: AppliedFault | null;
  readonly attempts: readonly StoryAttempt[];
};

export function causeMaterialOf(attempt: DeliveryEntry["attempts"][number]): CauseMaterial {
  const { answer } = attempt;
  return { ...attempt, answer: answer === null ? null : Buffer.from(answer) };
}

export type CauseMaterial = AttemptOutcome & Pick<StoryAttempt, "fault">;

export function likelyCause({ fault, ...attempt }: CauseMaterial): LikelyCause | undefined {
  const { status, error } = attempt;
  if (fault === null || (error === null && status === null) || isSuccessStatus(status))
    return causeOf(attempt);
  return { code: "injected", cause: EXPLAIN_SENTENCES.injected(fault), next: "checkout faults list" };
}

export function receivedText(
  answer: string | Uint8Array | null,
  message: string | null | undefined,
): string | undefined {
  const text = typeof answer === "object" && answer !== null ? Buffer.from(answer).toString("utf8") : answer;
  return (text ?? message) || undefined;
}

export function errorText({ facts }: Pick<AttemptOutcome, "facts">): string | undefined {
  const text = excerpt(facts?.message ?? "");
  return text === "" ? undefined : text;
}

export function causeText(attempt: CauseMaterial, say: Translator): string | undefined {
  const finding = likelyCause(attempt) ?? falseSuccessCause(attempt);
  return finding && say(finding.cause);
}

export function holdingFault({ fault }: Pick<StoryDelivery, "fault">): DeliveryAction | undefined {
  return fault !== null && isHoldingAction(fault.action) ? fault.action : undefined;
}
