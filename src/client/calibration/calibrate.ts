import {
  checkoutInAnswer,
  FIRST_PROBE,
  probeHeaders,
  PROBES,
  parseProbeAnswer,
  type ProbeAnswers,
  type ProbeAnswer,
  type ProbeRequest,
} from "../../core/calibration/probes.ts";
import { COMMAND_AGENT } from "../../core/network/headers.ts";
import type { OutboundResult, World } from "../../world.ts";
import type { ServiceTarget } from "../api/client.ts";

type Calibrated =
  | { readonly end: "done"; readonly answers: ProbeAnswers }
  | { readonly end: "not_this_service" | "live"; readonly message: string };

const MAX_RESPONSE_BYTES = 1024 * 1024;

/** Stops after the first answer unless its `livemode` is false, and after any answer with `livemode` true. */
export async function calibrate(
  world: Pick<World, "send">,
  target: ServiceTarget,
  options: ProbeOptions & { readonly run: string },
): Promise<Calibrated> {
  const answers = new Map<string, ProbeAnswer>();
  for (const { name, request: requestOf } of PROBES) {
    if (options.signal.aborted) break;
    const request = requestOf(options.run, answers);
    if (request === undefined) continue;
    const result = await ask(world, target, { ...options, request });
    if (name === FIRST_PROBE) {
      const stopped = reasonToStop(result);
      if (stopped !== undefined) return stopped;
    }
    if (isLive(result)) return LIVE;
    const answer = usableAnswer(request, result);
    if (answer !== undefined) answers.set(name, answer);
  }
  return { end: "done", answers };
}

export type ProbeOptions = { readonly timeoutMs: number; readonly signal: AbortSignal };

/** Sends a probe; undefined if the answer is not usable. */
export async function sendProbe(
  world: Pick<World, "send">,
  target: ServiceTarget,
  options: ProbeOptions & { readonly request: ProbeRequest },
): Promise<ProbeAnswer | undefined> {
  return usableAnswer(options.request, await ask(world, target, options));
}

/** Not a 429, a 5xx, a failed connection, or a 403 to a create: a key without a scope says nothing. */
function usableAnswer({ method }: ProbeRequest, result: OutboundResult): ProbeAnswer | undefined {
  if (!result.ok || result.status === 429 || result.status >= 500) return undefined;
  if (method === "POST" && result.status === 403) return undefined;
  return parseProbeAnswer(result);
}

function reasonToStop(result: OutboundResult): Exclude<Calibrated, { end: "done" }> | undefined {
  if (!result.ok) return { end: "not_this_service", message: `there was no answer: ${result.message}` };
  const { livemode, id } = checkoutInAnswer(parseProbeAnswer(result));
  if (livemode === false || isLive(result)) return undefined;
  const what = id === undefined ? "no checkout" : "a checkout without livemode";
  return {
    end: "not_this_service",
    message: `the first create was answered with ${result.status} and ${what}, so nothing more was sent`,
  };
}

/** The end of a run after an answer about real money. */
export const LIVE = {
  end: "live",
  message: "an answer has livemode: true, so nothing more was sent",
} as const;

function isLive(result: OutboundResult): boolean {
  return result.ok && isLiveAnswer(parseProbeAnswer(result));
}

/** Whether an answer, of any status, says anywhere that it is about real money. */
export function isLiveAnswer(answer: ProbeAnswer | undefined): boolean {
  // No recursion: a foreign service decides how deep its answer is.
  const left: unknown[] = [answer?.body];
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== "object" || value === null) continue;
    for (const [name, item] of Object.entries(value)) {
      if (name !== "livemode") left.push(item);
      else if (item === true || item === "true") return true;
    }
  }
  return false;
}

function ask(
  { send }: Pick<World, "send">,
  { baseUrl, apiKey, proxy }: ServiceTarget,
  { request, timeoutMs, signal }: ProbeOptions & { readonly request: ProbeRequest },
): Promise<OutboundResult> {
  const { method, path, body } = request;
  const sent = body === undefined ? {} : { body };
  return send({
    method,
    url: `${baseUrl}${path}`,
    headers: { "User-Agent": COMMAND_AGENT, ...probeHeaders(request, `Bearer ${apiKey}`) },
    ...sent,
    proxy,
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    signal,
  });
}
