import { english } from "../../core/language.ts";
import { lostAnswerText, QUOTING_RESULTS } from "../../core/readiness/drill-sentences.ts";
import type { OrderReading } from "../../core/readiness/drills/order-view.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import type { Outcome } from "../../core/outcome.ts";
import { parseTarget, type DeliveryTarget } from "../../core/webhook/target.ts";
import { excerpt } from "../../core/text.ts";
import type { OutboundResult, World } from "../../world.ts";
import { runMerchantCommand } from "../merchant-command.ts";
import { poll } from "../poll.ts";
import type { ControlTarget } from "../control/control.ts";

/** The shop's view of an order: a URL with `{order_id}` and `{session_id}`, or a command that reads its environment. */
export type OrderViewSource = {
  readonly from:
    | { readonly url: string }
    | {
        readonly commandLine: string;
        /** Changes to this program's environment. */
        readonly env?: Readonly<Record<string, string | undefined>>;
      };
  /** The pattern that matches the answer if the order is paid. */
  readonly paidWhen: RegExp;
};

/** The checkout whose order is viewed. */
export type ViewedCheckout = Pick<Checkout, "id" | "orderId">;

/**
 * A reading of the merchant's view of an order, with the whole answer as text; the text is empty if the view could not
 * be read. `isMissing`: the answer was 404.
 */
export type ViewReading = OrderReading & { readonly text: string; readonly isMissing: boolean };

/** The view of an order, and the way to read it. */
export type ViewRequest = {
  readonly target: ControlTarget;
  readonly checkout: ViewedCheckout;
  readonly view: OrderViewSource;
  readonly signal: AbortSignal;
  /** Called when the shop answers 429; the view is read again after a pause. */
  readonly onLimited?: () => void;
};

/** The part of the world that is needed to read views. */
export type ViewWorld = Pick<World, "send" | "run" | "sleep" | "monotonic">;

/** Timeout of each request and each run of the command, in milliseconds. */
export const VIEW_TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const LOOK_AGAIN_MS = 250;
/** Time for the shop to know an order after its first event, in milliseconds. */
const KNOWN_MS = 1250;
/** Pause before a view that answered 429 is read again, in milliseconds. */
const LIMITED_PAUSE_MS = 1100;
const MAX_LIMITED = 5;

/** Parses an address that a drill may open: on this machine, but not the sandbox (the rules of decision 14). */
export function parseDrillTarget({ origin }: ControlTarget, url: string): Outcome<DeliveryTarget> {
  const { port } = new URL(origin);
  return parseTarget(url, { allowedHosts: [], ownPort: Number(port) });
}

/** A URL with the ids filled in. */
export function fillUrl(template: string, { id, orderId }: ViewedCheckout): string {
  return template
    .replaceAll("{order_id}", () => encodeURIComponent(orderId))
    .replaceAll("{session_id}", () => encodeURIComponent(id));
}

/** Reads the merchant's view of an order, and again after a pause if it answers 429. */
export async function readView(world: ViewWorld, look: ViewRequest): Promise<ViewReading> {
  for (let attempts = 1; ; attempts += 1) {
    const reading = await ask(world, look);
    const isLimited = reading.says === "unknown" && reading.got === TOO_MANY;
    if (!isLimited || attempts === MAX_LIMITED || look.signal.aborted) return reading;
    look.onLimited?.();
    await world.sleep(LIMITED_PAUSE_MS, look.signal);
  }
}

/** The text of a reading if the shop answers 429. */
const TOO_MANY = "429";

function ask(world: ViewWorld, look: ViewRequest): Promise<ViewReading> {
  const { from } = look.view;
  return "url" in from
    ? askPage(world, look, fillUrl(from.url, look.checkout))
    : askCommand(world, look, from);
}

/** A reading without its text. */
export function readingWithoutText({ says, got }: ViewReading): OrderReading {
  return { says, got };
}

/** Reads the view until `isEnough` accepts a reading, or until the timeout. Returns the last reading. */
export function watchView(
  world: ViewWorld,
  look: ViewRequest,
  { isEnough, waitMs }: { readonly isEnough: (seen: ViewReading) => boolean; readonly waitMs: number },
): Promise<ViewReading> {
  return poll(world, () => readView(world, look), {
    isEnough: (seen) => isEnough(seen) || look.signal.aborted,
    waitMs,
    firstPauseMs: LOOK_AGAIN_MS,
    signal: look.signal,
  });
}

/** Reads the view until the order is paid, or until the timeout. */
export function awaitPaidOrder(world: ViewWorld, look: ViewRequest, waitMs: number): Promise<ViewReading> {
  return watchView(world, look, { isEnough: ({ says }) => says === "paid", waitMs });
}

/** Reads the view until the merchant knows the order, or until the timeout; after that, a 404 is final. */
export function awaitKnownOrder(world: ViewWorld, look: ViewRequest): Promise<ViewReading> {
  return watchView(world, look, { isEnough: ({ isMissing }) => !isMissing, waitMs: KNOWN_MS });
}

/** Reads a page. A 404 is an answer: an order that the merchant does not know is not paid. */
async function askPage(
  world: Pick<World, "send">,
  { target, view, signal }: ViewRequest,
  url: string,
): Promise<ViewReading> {
  const headers = { Accept: "application/json,text/*;q=0.9" };
  const answer = await sendLocally(world, target, { url, headers, signal });
  if (!answer.ok) return unreadable(english(lostAnswerText(answer.failure, excerpt(answer.message))));
  const { status, body } = answer;
  if (status === 404) return { says: "not_paid", got: "404", text: "", isMissing: true };
  if (status < 200 || status >= 300) return unreadable(String(status));
  return judgeText(body, view);
}

async function askCommand(
  world: Pick<World, "run">,
  { checkout, view, signal }: ViewRequest,
  { commandLine, env = {} }: Extract<OrderViewSource["from"], { readonly commandLine: string }>,
): Promise<ViewReading> {
  const { ending, exitCode, stdout, stderr } = await runMerchantCommand(world, {
    commandLine,
    about: checkout,
    env,
    timeoutMs: VIEW_TIMEOUT_MS,
    maxOutputBytes: MAX_ANSWER_BYTES,
    signal,
  });
  if (ending === "exited" && exitCode === 0) return judgeText(stdout, view);
  const said = excerpt(stderr);
  return unreadable(
    english(
      ending === "exited"
        ? QUOTING_RESULTS.exited(`${exitCode ?? "none"}`, said)
        : lostAnswerText(ending, said),
    ),
  );
}

function unreadable(got: string): ViewReading {
  return { says: "unknown", got, text: "", isMissing: false };
}

function judgeText(text: string, { paidWhen }: OrderViewSource): ViewReading {
  return { says: paidWhen.test(text) ? "paid" : "not_paid", got: excerpt(text), text, isMissing: false };
}

/** Sends a request to this machine, GET by default. Other addresses count as unreachable. */
export async function sendLocally(
  world: Pick<World, "send">,
  target: ControlTarget,
  wanted: {
    readonly method?: "GET" | "POST";
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly signal: AbortSignal;
  },
): Promise<OutboundResult> {
  const allowed = parseDrillTarget(target, wanted.url);
  if (!allowed.ok) return { ok: false, failure: "unreachable", message: allowed.refusal.message };
  const { url, addresses } = allowed.value;
  const { method = "GET", headers, body, signal } = wanted;
  const request = {
    method,
    url,
    headers,
    ...(body === undefined ? {} : { body }),
    timeoutMs: VIEW_TIMEOUT_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
    ...(addresses === null ? {} : { addresses }),
    signal,
  };
  // A POST creates a checkout: it is sent once, and over a new connection, so that a lost answer is the shop's.
  if (method === "POST") return world.send(request);
  const answer = await world.send({ ...request, connection: "kept" });
  // The shop may have ended, or closed the connection, since the answer before.
  const isStale = !answer.ok && answer.onKept === true && answer.failure === "connection_lost";
  return isStale ? world.send({ ...request, connection: "fresh" }) : answer;
}
