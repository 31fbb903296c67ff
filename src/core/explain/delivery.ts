import type { Hold } from "../webhook/hold.ts";
import { isSuccess, type DeliveryState } from "../webhook/delivery.ts";
import { isHolding, type DeliveryAction } from "../fault/actions.ts";
import type { AppliedFault } from "../fault/shapes.ts";
import type { Translator } from "../language.ts";
import { causeOf, falseSuccessCause, type AttemptOutcome, type LikelyCause } from "./delivery-causes.ts";
import { excerpt } from "../text.ts";
import { EXPLAIN_SENTENCES } from "./sentences.ts";
import type { DeliveryEntry } from "../webhook/shapes.ts";

/** An attempt of a delivery, with the facts shown in a story. `startedAt` is store time, `milliseconds` real time. */
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
  /** The endpoint's URL, or the known target of a listener; for a removed endpoint, the last attempt's URL, or null. */
  readonly endpointUrl: string | null;
  readonly cause: DeliveryEntry["cause"];
  readonly state: DeliveryState;
  readonly nextAt: number;
  /** Whether the delivery waits because its endpoint is paused. */
  readonly isHeld: boolean;
  /** Why nothing is delivered for the store; undefined if deliveries are sent. */
  readonly hold?: Hold | undefined;
  /** The fault that held, dropped or duplicated the delivery; null if there is none. */
  readonly fault: AppliedFault | null;
  readonly attempts: readonly StoryAttempt[];
};

export function outcomeOf(attempt: DeliveryEntry["attempts"][number]): CauseMaterial {
  const { answer } = attempt;
  return { ...attempt, answer: answer === null ? null : Buffer.from(answer) };
}

export type CauseMaterial = AttemptOutcome & Pick<StoryAttempt, "fault">;

export function likelyCause({ fault, ...attempt }: CauseMaterial): LikelyCause | undefined {
  const { status, error } = attempt;
  if (fault === null || (error === null && status === null) || isSuccess(status)) return causeOf(attempt);
  return { code: "injected", cause: EXPLAIN_SENTENCES.injected(fault), next: "checkout faults list" };
}

/** The text that an attempt received: from its answer, otherwise from its error; undefined if there is none. */
export function receivedText(
  answer: string | Uint8Array | null,
  message: string | null | undefined,
): string | undefined {
  const text = typeof answer === "object" && answer !== null ? Buffer.from(answer).toString("utf8") : answer;
  return (text ?? message) || undefined;
}

/** The beginning of an error's own text; undefined if there is none. */
export function errorText({ facts }: Pick<AttemptOutcome, "facts">): string | undefined {
  const text = excerpt(facts?.message ?? "");
  return text === "" ? undefined : text;
}

/** The likely cause of a failed attempt in words, or a doubt about a success. */
export function causeText(attempt: CauseMaterial, say: Translator): string | undefined {
  const finding = likelyCause(attempt) ?? falseSuccessCause(attempt);
  return finding && say(finding.cause);
}

/** The fault that delays or delayed the first attempt of a delivery; undefined if there is none. */
export function holdingFault({ fault }: Pick<StoryDelivery, "fault">): DeliveryAction | undefined {
  return fault !== null && isHolding(fault.action) ? fault.action : undefined;
}
