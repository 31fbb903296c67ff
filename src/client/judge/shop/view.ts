import { parseView, viewExcerpt, type ShownOrder, type ViewPatterns } from "../../../core/judge/view.ts";
import type { FailureCode } from "../../../core/readiness/drill-sentences.ts";
import type { StepValue } from "../../../core/readiness/drill-shapes.ts";
import { factOf } from "../../../core/readiness/drills/said.ts";
import type { Checkout } from "../../../core/checkout/checkout.ts";
import { isError, type Outcome } from "../../../core/outcome.ts";
import { parseTarget, type DeliveryTarget } from "../../../core/webhook/target.ts";
import { excerpt } from "../../../core/text.ts";
import type { OutboundRequest, OutboundResult, World } from "../../../world.ts";
import type { ControlTarget } from "../../control/control.ts";
import { runMerchantCommand } from "../../merchant-command.ts";

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** An address with `{order_id}` or `{session_id}`, a command, or a function. */
export type ViewSource =
  | { readonly url: string }
  | { readonly commandLine: string }
  | { readonly read: (checkout: ViewedCheckout) => Promise<ShownOrder> };

export type OrderViewSource = ViewPatterns & { readonly source: ViewSource };

export type ViewedCheckout = Pick<Checkout, "id" | "orderId"> & Partial<Pick<Checkout, "currency">>;

export type ViewReading = {
  readonly order: ShownOrder | null;
  readonly got: StepValue;
  /** Empty for a function, after a 404, and if the reading failed. */
  readonly text: string;
  readonly isMissing: boolean;
  readonly error?: unknown;
};

type ViewRequest = {
  readonly target: Pick<ControlTarget, "origin">;
  readonly checkout: ViewedCheckout;
  readonly view: OrderViewSource;
  readonly cookie?: string | undefined;
  readonly env: EnvironmentVariables;
  readonly signal: AbortSignal;
};

const VIEW_TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const RATE_LIMIT_PAUSE_MS = 1100;
const MAX_LIMITED_ATTEMPTS = 5;

/** Must be on this machine, but not the sandbox (decision 14). */
export function parseShopTarget(
  { origin }: Pick<ControlTarget, "origin">,
  url: string,
): Outcome<DeliveryTarget> {
  const { port } = new URL(origin);
  return parseTarget(url, { allowedHosts: [], ownPort: Number(port) });
}

export function fillAddress(template: string, { id, orderId }: ViewedCheckout): string {
  return template
    .replaceAll("{order_id}", () => encodeURIComponent(orderId))
    .replaceAll("{session_id}", () => encodeURIComponent(id));
}

const UNKNOWN_ORDER: ShownOrder = { paid: false, times: null, amountMinor: null };

export function readView(
  world: Pick<World, "send" | "run" | "sleep">,
  viewRequest: ViewRequest,
): Promise<ViewReading> {
  const { source } = viewRequest.view;
  if ("read" in source) return askFunction(viewRequest, source.read);
  return "url" in source
    ? askPage(world, viewRequest, source.url)
    : askCommand(world, viewRequest, source.commandLine);
}

async function askFunction(
  { checkout }: ViewRequest,
  read: (checkout: ViewedCheckout) => Promise<ShownOrder>,
): Promise<ViewReading> {
  try {
    const order = await read(checkout);
    return { order, got: JSON.stringify(order), text: "", isMissing: false };
  } catch (error) {
    return { ...viewFailure(isError(error) ? error.message : String(error)), error };
  }
}

/** A 404 counts as an answer: an order that the merchant does not know is not paid. */
async function askPage(
  world: Pick<World, "send" | "sleep">,
  { target, view, cookie, checkout, signal }: ViewRequest,
  template: string,
): Promise<ViewReading> {
  const url = fillAddress(template, checkout);
  const headers = {
    Accept: "application/json,text/*;q=0.9",
    ...(cookie !== undefined && { Cookie: cookie }),
  };
  const answer = await sendWithReloads(world, target, { url, headers, signal });
  if (!answer.ok) return viewFailure(noAnswer(answer.failure, answer.message));
  const { status, body } = answer;
  if (status === 404) return { order: UNKNOWN_ORDER, got: "404", text: "", isMissing: true };
  if (status < 200 || status >= 300) return viewFailure(String(status));
  return readText(body, { ...view, currency: checkout.currency });
}

async function askCommand(
  world: Pick<World, "run">,
  { view, env, checkout, signal }: ViewRequest,
  commandLine: string,
): Promise<ViewReading> {
  const { ending, exitCode, stdout, stderr } = await runMerchantCommand(world, {
    commandLine,
    subject: checkout,
    env,
    timeoutMs: VIEW_TIMEOUT_MS,
    maxOutputBytes: MAX_ANSWER_BYTES,
    signal,
  });
  if (ending === "exited" && exitCode === 0)
    return readText(stdout, { ...view, currency: checkout.currency });
  const errorText = excerpt(stderr);
  return viewFailure(
    ending === "exited" ? factOf("exited", `${exitCode ?? "none"}`, errorText) : noAnswer(ending, errorText),
  );
}

export function noAnswer(failure: FailureCode, message: string): StepValue {
  return factOf(`no_answer:${failure}`, excerpt(message));
}

function viewFailure(gotValue: StepValue): ViewReading {
  return { order: null, got: gotValue, text: "", isMissing: false };
}

function readText(text: string, view: ViewPatterns): ViewReading {
  return { order: parseView(text, view) ?? null, got: viewExcerpt(text, view), text, isMissing: false };
}

/** After a 429, sends again after a pause, as a customer reloads a page. */
export async function sendWithReloads(
  world: Pick<World, "send" | "sleep">,
  target: Pick<ControlTarget, "origin">,
  request: ShopRequest,
): Promise<OutboundResult> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await sendLocally(world, target, request);
    const isLimited = answer.ok && answer.status === 429;
    if (!isLimited || attempt === MAX_LIMITED_ATTEMPTS || request.signal.aborted) return answer;
    await world.sleep(RATE_LIMIT_PAUSE_MS, request.signal);
  }
}

type ShopRequest = Pick<OutboundRequest, "url" | "headers" | "body"> & {
  readonly method?: "GET" | "POST";
  readonly signal: AbortSignal;
};

/** Default: GET. A request to another address counts as unreachable. */
export async function sendLocally(
  world: Pick<World, "send">,
  target: Pick<ControlTarget, "origin">,
  shopRequest: ShopRequest,
): Promise<OutboundResult> {
  const outcome = parseShopTarget(target, shopRequest.url);
  if (!outcome.ok) return { ok: false, failure: "unreachable", message: outcome.refusal.message };
  const { url, addresses } = outcome.value;
  const limits = { timeoutMs: VIEW_TIMEOUT_MS, maxResponseBytes: MAX_ANSWER_BYTES };
  const request = {
    method: "GET",
    ...shopRequest,
    url,
    addresses: addresses ?? undefined,
    ...limits,
  } as const;
  // A POST may create a checkout: it is sent once, over a new connection, so that no stale connection loses the answer.
  if (request.method === "POST") return world.send(request);
  const answer = await world.send({ ...request, connection: "kept" });
  // The shop may have ended, or closed the kept connection, since its last answer.
  const isStale = !answer.ok && answer.wasReused === true && answer.failure === "connection_lost";
  return isStale ? world.send({ ...request, connection: "fresh" }) : answer;
}

export const BROWSER_HEADERS = {
  "Upgrade-Insecure-Requests": "1",
  "User-Agent":
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
  Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
  "Sec-Fetch-Mode": "navigate",
  "Sec-Fetch-User": "?1",
  "Sec-Fetch-Dest": "document",
  "Accept-Language": "en-GB,en;q=0.9",
} as const;
