import {
  checkoutInAnswer,
  FIRST_PROBE,
  probeHeaders,
  PROBES,
  parseProbeAnswer,
  REPLAY_PROBE,
  REPLAY_HEADER,
  type ProbeAnswer,
  type ProbeRequest,
  type ProbeResults,
} from "../../core/calibration/probes.ts";
import { COMMAND_AGENT, parseRetryAfter } from "../../core/network/headers.ts";
import type { OutboundResult, World } from "../../world.ts";
import type { ServiceTarget } from "../api/client.ts";
import { MAX_RETRY_AFTER_MS, retryDelayMs } from "../api/retry.ts";

type CalibrationResult =
  | ({ readonly end: "done" } & ProbeResults)
  | { readonly end: "not_this_service" | "live" | "refused" | "unavailable"; readonly message: string };

const MAX_RESPONSE_BYTES = 1024 * 1024;
const MAX_ATTEMPTS = 5;
const RATE_LIMIT_PAUSE_MS = { least: 250, most: 2000 };
const MAX_WAIT_MS = 10 * 60_000;

export type CalibrationWorld = Pick<World, "send" | "sleep" | "now" | "random">;

export type ProbeOptions = { readonly timeoutMs: number; readonly signal: AbortSignal };

/**
 * Stops after an answer with `livemode: true`, or if the first answer is not a checkout with `livemode: false`. After a
 * 429, all later requests are spaced out.
 */
export async function calibrate(
  world: CalibrationWorld,
  target: ServiceTarget,
  options: ProbeOptions & { readonly runId: string },
): Promise<CalibrationResult> {
  const answers = new Map<string, ProbeAnswer>();
  const missReasons = new Map<string, string>();
  const refusedRetrieves = new Map<string, ProbeAnswer>();
  let canRetrieve = false;
  const pace = createPace();
  for (const { name, buildRequest } of PROBES) {
    if (options.signal.aborted) break;
    const request = buildRequest(options.runId, answers);
    if (request === undefined) continue;
    const sentProbe = await sendProbe(world, target, { ...options, request, pace });
    const { answer, missReason } = sentProbe;
    const stopResult = name === FIRST_PROBE ? findStopResult(sentProbe) : undefined;
    if (stopResult !== undefined) return stopResult;
    if (isLiveAnswer(answer)) return LIVE_RESULT;
    const isRetrieve = request.method === "GET";
    // A 403 to a create, or to every retrieve, proves nothing: the key may lack a scope.
    if (missReason !== undefined) missReasons.set(name, missReason);
    else if (answer.status !== 403) {
      answers.set(name, name === REPLAY_PROBE ? answer : removeReplayHeader(answer));
      canRetrieve ||= isRetrieve;
    } else if (isRetrieve) refusedRetrieves.set(name, answer);
  }
  for (const [name, answer] of canRetrieve ? refusedRetrieves : []) answers.set(name, answer);
  return { end: "done", answers, missReasons };
}

/** `pauseMs`: the pause before each request, raised by a 429. `remainingMs`: the rest of the run's pause budget. */
type Pace = { pauseMs: number; remainingMs: number };

export function createPace(): Pace {
  return { pauseMs: 0, remainingMs: MAX_WAIT_MS };
}

type PacedProbe = ProbeOptions & { readonly pace: Pace; readonly request: ProbeRequest };

/** `missReason`: why the answer says nothing about the service, such as a rate limit. */
type SentProbe =
  | { readonly answer: ProbeAnswer; readonly missReason: undefined }
  | { readonly answer: ProbeAnswer | undefined; readonly missReason: string };

export async function sendProbe(
  world: CalibrationWorld,
  target: ServiceTarget,
  options: PacedProbe,
): Promise<SentProbe> {
  const { pace, signal } = options;
  let wasResent = false;
  await pauseFor(world, options, pace.pauseMs);
  for (let attempt = 1; ; attempt += 1) {
    const result = await ask(world, target, options);
    const sentProbe = sentProbeOf(result, wasResent);
    if (signal.aborted || sentProbe.missReason === undefined) return sentProbe;
    const retryAfterMs = result.ok ? parseRetryAfter(result.headers["retry-after"], world.now()) : 0;
    const isLimited = result.ok && result.status === 429;
    const { least, most } = RATE_LIMIT_PAUSE_MS;
    if (isLimited) pace.pauseMs = Math.min(most, Math.max(least, pace.pauseMs * 2, retryAfterMs));
    const delayMs = Math.max(retryDelayMs(attempt, { random: world.random(), retryAfterMs }), pace.pauseMs);
    if (attempt === MAX_ATTEMPTS || retryAfterMs > MAX_RETRY_AFTER_MS || delayMs > pace.remainingMs)
      return sentProbe;
    wasResent ||= !isLimited;
    await pauseFor(world, options, delayMs);
    if (signal.aborted) return sentProbe;
  }
}

async function pauseFor(
  { sleep }: Pick<World, "sleep">,
  { pace, signal }: Pick<PacedProbe, "pace" | "signal">,
  milliseconds: number,
): Promise<void> {
  if (milliseconds === 0) return;
  pace.remainingMs = Math.max(0, pace.remainingMs - milliseconds);
  await sleep(milliseconds, signal);
}

function sentProbeOf(result: OutboundResult, wasResent: boolean): SentProbe {
  if (!result.ok) return { answer: undefined, missReason: `there was no answer: ${result.message}` };
  const { status, headers } = result;
  const answer = parseProbeAnswer(result, wasResent);
  const retryText = headers["retry-after"] === undefined ? "" : `, Retry-After: ${headers["retry-after"]}`;
  if (status === 429) return { answer, missReason: `the service limited the rate: 429${retryText}` };
  return { answer, missReason: status >= 500 ? `the service failed: ${status}${retryText}` : undefined };
}

function removeReplayHeader(answer: ProbeAnswer): ProbeAnswer {
  if (answer.wasResent !== true) return answer;
  const { [REPLAY_HEADER]: _header, ...headers } = answer.headers;
  return { ...answer, headers };
}

function findStopResult(sentProbe: SentProbe): Exclude<CalibrationResult, { end: "done" }> | undefined {
  const { answer, missReason } = sentProbe;
  if (missReason !== undefined) return { end: "unavailable", message: `${missReason}; nothing was observed` };
  const { livemode, id } = checkoutInAnswer(answer);
  if (livemode === false || isLiveAnswer(answer)) return undefined;
  const subject = id === undefined ? "no checkout" : "a checkout without livemode";
  const end = answer.status === 401 || answer.status === 403 ? "refused" : "not_this_service";
  return {
    end,
    message: `the first create was answered with ${answer.status} and ${subject}, so nothing more was sent`,
  };
}

export const LIVE_RESULT = {
  end: "live",
  message: "an answer has livemode: true, so nothing more was sent",
} as const;

export function isLiveAnswer(answer: ProbeAnswer | undefined): boolean {
  // Not recursive, because a deeply nested answer could overflow the stack.
  const remainingValues: unknown[] = [answer?.body];
  for (let value = remainingValues.pop(); value !== undefined; value = remainingValues.pop()) {
    if (typeof value !== "object" || value === null) continue;
    for (const [name, item] of Object.entries(value)) {
      if (name !== "livemode") remainingValues.push(item);
      else if (item === true || item === "true") return true;
    }
  }
  return false;
}

function ask(
  { send }: Pick<World, "send">,
  { baseUrl, apiKey, proxy }: ServiceTarget,
  { request, timeoutMs, signal }: Pick<PacedProbe, "request" | "timeoutMs" | "signal">,
): Promise<OutboundResult> {
  const { method, path, body } = request;
  return send({
    method,
    url: `${baseUrl}${path}`,
    headers: { "User-Agent": COMMAND_AGENT, ...probeHeaders(request, `Bearer ${apiKey}`) },
    ...(body !== undefined && { body }),
    proxy,
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    signal,
  });
}
