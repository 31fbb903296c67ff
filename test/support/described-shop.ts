import { parseJson } from "../../src/core/json.ts";
import type { Dialect } from "../../src/core/shape/dialect.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import type { HttpRequest, HttpResponse, ShellCommand, ShellResult } from "../../src/world.ts";
import type { HookEvent } from "./order-shops.ts";
import type { openWebhookSite } from "./webhook-site.ts";

type Site = Awaited<ReturnType<typeof openWebhookSite>>;

/** The differences of a shop from a plain shop. */
export type ShopKind = {
  /** The `Cookie` header that the shop's pages need. */
  readonly cookie?: string;
  /** The order_id that the shop generates for a cart; default: the cart's id. */
  readonly orderIdOf?: (cartId: string) => string;
  /** Time from an event to its booking, in milliseconds. */
  readonly late?: number;
  /** Time that the shop's only worker needs for an event, in milliseconds. */
  readonly jobMs?: number;
  /** The number of bookings of a payment, default 1. */
  readonly books?: number;
  /** The dialect that the shop reads; default: the sandbox's own names. */
  readonly dialect?: Dialect;
  /** Whether the shop has no endpoint, and asks the API about the payment when its view is opened. */
  readonly polls?: true;
  /** Whether another payment method of the form makes another order. */
  readonly hasOrderPerMethod?: true;
  /** Whether a customer with an open order, kept in a cookie, is led to it in place of the order that he buys. */
  readonly keepsOpenOrder?: true;
};

const OK: HttpResponse = { status: 200, headers: {}, body: "" };
const PAGE_HEAD = "<title>A shop that sells tea, coffee and cups</title>";
const NOT_FOUND: HttpResponse = { status: 404, headers: {}, body: "" };

/**
 * A correct shop: a page to buy on, a command `create-order`, a receiver, a view of orders in JSON and a return page.
 * The command `serve` opens the shop on the port in PORT until it is ended; `open` opens the shop on port 3000.
 */
export function describedShop(
  { harness, sandbox, retrieve }: Pick<Site, "harness" | "sandbox" | "retrieve">,
  {
    cookie,
    orderIdOf = (cartId) => cartId,
    late = 0,
    jobMs = 0,
    books = 1,
    dialect,
    polls,
    keepsOpenOrder,
    hasOrderPerMethod,
  }: ShopKind = {},
) {
  const orders = new Map<string, { id: string; status: string; times: number; amount: number }>();
  const seen = new Set<string>();
  const requests: HttpRequest[] = [];
  const served: number[] = [];
  let workerFreeAt = 0;

  const buy = async (cartId: string): Promise<string> => {
    const orderId = orderIdOf(cartId);
    const answer = await sandbox().request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": `shop-${orderId}` },
      body: JSON.stringify({ order_id: orderId, price_id: "price_coffee" }),
    });
    if (answer.isDropped === true) throw new Error("the answer was lost");
    const made = parseJson(String(answer.body)) as { data: { id: string; amount_minor: number } } | undefined;
    if (made === undefined) throw new Error("the answer was cut off");
    const { data } = made;
    const known = orders.get(orderId);
    orders.set(orderId, known ?? { id: data.id, status: "open", times: 0, amount: data.amount_minor });
    return orderId;
  };

  const book = ({ event_id: eventId, type, data }: HookEvent): void => {
    const order = orders.get(data.order_id);
    if (seen.has(eventId) || order === undefined || order.id !== data.id) return;
    seen.add(eventId);
    const pay = (): void => void Object.assign(order, { status: "paid", times: order.times + books });
    const now = harness.clock.now();
    workerFreeAt = Math.max(workerFreeAt, now) + jobMs;
    const delay = late + workerFreeAt - now;
    if (type.endsWith(".succeeded")) return delay === 0 ? pay() : harness.clock.after(delay, pay);
  };

  const hook = ({ body, rawHeaders: headers }: HttpRequest): HttpResponse => {
    const secrets = [sandbox().ready.signing_secret];
    const names = dialect === undefined ? {} : { dialect };
    const verdict = verifyWebhook({ rawBody: body, headers, secrets, now: harness.clock.now(), ...names });
    if (!verdict.ok) return { ...OK, status: 400 };
    const event = verdict.event as HookEvent;
    if (event.data.order_id !== undefined) book(event);
    return OK;
  };

  const headerOf = ({ rawHeaders }: HttpRequest, name: string): string =>
    rawHeaders[rawHeaders.indexOf(name) + 1] ?? "";
  const isSignedIn = (request: HttpRequest): boolean =>
    cookie === undefined || headerOf(request, "Cookie").split("; ").includes(cookie);

  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    requests.push(request);
    const { pathname, searchParams } = new URL(request.target, "http://localhost");
    if (pathname === "/hooks") return hook(request);
    if (!isSignedIn(request)) return { status: 302, headers: { Location: "/login" }, body: "" };
    if (pathname === "/buy" && request.method === "POST") {
      const form = new URLSearchParams(Buffer.from(request.body).toString("utf8"));
      const keptId = /open=([^;]+)/.exec(headerOf(request, "Cookie"))?.[1] ?? "";
      const keptOrder = keepsOpenOrder === true ? orders.get(keptId) : undefined;
      if (keptOrder?.status === "open")
        return { status: 303, headers: { Location: `/orders/${keptId}?session=${keptOrder.id}` }, body: "" };
      const suffix = hasOrderPerMethod === true && form.get("method") === "wechat_pay" ? "-W" : "";
      const orderId = await buy(`${form.get("cart") ?? ""}${suffix}`).catch(() => undefined);
      if (orderId === undefined) return { ...OK, status: 502 };
      const headers = { Location: `/orders/${orderId}`, "Set-Cookie": `open=${orderId}` };
      return { status: 303, headers, body: "" };
    }
    if (pathname === "/thanks") {
      const order = orders.get(searchParams.get("order_id") ?? "");
      return { ...OK, body: order === undefined ? "unknown" : (await retrieve(order.id)).status };
    }
    const order = orders.get(pathname.replace(/^\/(orders|pages)\//, ""));
    if (order === undefined) return NOT_FOUND;
    if (polls === true && order.status === "open" && (await retrieve(order.id)).status === "succeeded")
      Object.assign(order, { status: "paid", times: order.times + books });
    const { status, times, amount } = order;
    if (pathname.startsWith("/pages/"))
      return {
        ...OK,
        body: `<html><head>${PAGE_HEAD}</head><body><b>Your order is ${status}</b></body></html>`,
      };
    return { ...OK, body: JSON.stringify({ status, times, amount_minor: amount }) };
  };

  const program = { answer, refuse: () => NOT_FOUND };
  const exited = (exitCode: number, stdout = ""): ShellResult => ({
    ending: "exited",
    exitCode,
    stdout,
    stderr: "",
  });
  const serve = async (port: number, signal: AbortSignal | undefined): Promise<ShellResult> => {
    served.push(port);
    harness.occupy(port, program);
    const ended = Promise.withResolvers<void>();
    signal?.addEventListener("abort", () => ended.resolve());
    await ended.promise;
    harness.vacate(port);
    return { ...exited(0), ending: "aborted", exitCode: null };
  };
  const run = async ({ commandLine, env, signal }: ShellCommand): Promise<ShellResult> => {
    if (commandLine === "create-order")
      return exited(0, `created ${await buy(env["CHECKOUT_ORDER_ID"] ?? "")}\n`);
    if (commandLine === "view")
      return exited(0, orders.get(env["CHECKOUT_ORDER_ID"] ?? "")?.status ?? "none");
    if (commandLine === "serve") return serve(Number(env["PORT"]), signal);
    return exited(commandLine === "restart" ? 0 : 127);
  };
  harness.setShell(run);
  return {
    open: () => harness.occupy(3000, program),
    orders,
    requests: requests as readonly HttpRequest[],
    /** The ports on which the shop was served, in order of its starts. */
    served: served as readonly number[],
  };
}
