import { parseJson } from "../../src/core/json.ts";
import { verifyWebhook } from "../../src/core/webhook/verify.ts";
import type { HttpRequest, HttpResponse, ShellCommand, ShellResult } from "../../src/world.ts";
import type { openWebhookSite } from "./webhook-site.ts";

type Site = Awaited<ReturnType<typeof openWebhookSite>>;

type Checkout = {
  readonly id: string;
  readonly order_id: string;
  readonly status: string;
  readonly amount_minor: number;
  readonly currency: string;
  readonly checkout_url: string;
};
type ShopEvent = {
  readonly event_id: string;
  readonly type: string;
  readonly created_at: string;
  readonly sequence: number;
  readonly data: Checkout;
};
type State = { status: string; sequence: number };
type Order = {
  readonly total: number;
  readonly currency: string;
  readonly checkouts: Map<string, State>;
  bookings: string[];
};

const ENDED = new Set(["failed", "cancelled", "expired"]);
/** The statuses of this version; an event with another status has a future type. */
const STATUSES = new Set(["created", "pending", "succeeded", ...ENDED]);
const OK: HttpResponse = { status: 200, headers: {}, body: "" };
const TERMS = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

/**
 * A careful shop in this process, with a key for each attempt and a state for each checkout; each mistake changes one
 * part of the shop.
 */
class OrdersWithoutMarks extends Map<string, Order> {
  private readonly keyOf = (orderId: string): string => orderId.replaceAll(/[^a-z0-9]/gi, "");
  override get(orderId: string): Order | undefined {
    return super.get(this.keyOf(orderId));
  }
  override has(orderId: string): boolean {
    return super.has(this.keyOf(orderId));
  }
  override set(orderId: string, order: Order): this {
    return super.set(this.keyOf(orderId), order);
  }
}

export class CarefulShop {
  readonly orders: Map<string, Order> = new Map();
  readonly seen = new Set<string>();
  private endServing: (() => void) | undefined;

  readonly site: Pick<Site, "harness" | "sandbox" | "retrieve">;

  constructor(site: Pick<Site, "harness" | "sandbox" | "retrieve">) {
    this.site = site;
  }

  stateOf({ checkouts }: Order): string {
    const all = [...checkouts.values()].map(({ status }) => status);
    return all.includes("succeeded") ? "paid" : (all.at(-1) ?? "new");
  }

  fits(order: Order, { amount_minor: amount, currency }: Checkout): boolean {
    return amount === order.total && currency === order.currency;
  }

  know(orderId: string): void {
    if (!this.orders.has(orderId)) this.orders.set(orderId, newOrder());
  }

  async create(orderId: string, key: string, description?: string): Promise<Checkout | undefined> {
    const answer = await this.site.sandbox().request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": key },
      body: JSON.stringify({ order_id: orderId, ...TERMS, description }),
    });
    // A fault may have cut the answer off.
    return (parseJson(String(answer.body)) as { readonly data?: Checkout } | undefined)?.data;
  }

  async buy(orderId: string): Promise<string | undefined> {
    const order = this.orders.get(orderId) ?? newOrder();
    this.orders.set(orderId, order);
    const attempt = [...order.checkouts.values()].filter(({ status }) => this.hasEnded(status)).length + 1;
    const made = await this.create(orderId, `${orderId}-attempt-${attempt}`);
    if (made !== undefined && !order.checkouts.has(made.id))
      order.checkouts.set(made.id, { status: "created", sequence: 0 });
    return made?.checkout_url;
  }

  hasEnded(status: string): boolean {
    return ENDED.has(status);
  }

  move(order: Order, { sequence, data: { id, status } }: ShopEvent): void {
    if (sequence > (order.checkouts.get(id)?.sequence ?? 0)) order.checkouts.set(id, { status, sequence });
  }

  /** Handles a verified event; returns the status of the answer. */
  async take(event: ShopEvent): Promise<number> {
    const order = this.orders.get(event.data.order_id);
    if (order === undefined || this.seen.has(event.event_id) || !this.fits(order, event.data)) return 200;
    if (!STATUSES.has(event.data.status)) return 200;
    this.seen.add(event.event_id);
    this.move(order, event);
    if (event.data.status === "succeeded" && !order.bookings.includes(event.data.id))
      order.bookings.push(event.data.id);
    return 200;
  }

  async welcome(_query: URLSearchParams): Promise<void> {}

  started(): void {}

  /** Called at each start of the shop. */
  booted(): void {}

  /** Ends the shop's process from inside. */
  fall(): void {
    this.endServing?.();
  }

  async answer({ target, rawHeaders: headers, body }: HttpRequest): Promise<HttpResponse> {
    const { pathname, searchParams } = new URL(target, "http://localhost");
    if (pathname === "/hooks") {
      const secrets = [this.site.sandbox().ready.signing_secret];
      const now = this.site.harness.clock.now();
      const verdict = verifyWebhook({ rawBody: body, headers, secrets, now });
      if (!verdict.ok) return { ...OK, status: 400 };
      const event = JSON.parse(Buffer.from(body).toString("utf8")) as ShopEvent;
      return { ...OK, status: event.data.order_id === undefined ? 200 : await this.take(event) };
    }
    if (pathname === "/thanks") {
      await this.welcome(searchParams);
      return OK;
    }
    const order = this.orders.get(pathname.slice("/orders/".length));
    if (order === undefined) return { ...OK, status: 404 };
    const { bookings, total } = order;
    const shown = {
      status: this.stateOf(order),
      times: bookings.length,
      amount_minor: bookings.length * total,
    };
    return { ...OK, body: JSON.stringify(shown) };
  }

  /**
   * Installs the shop's commands: `serve` opens the shop on the port in PORT until it is ended; any other creates an
   * order.
   */
  open(): void {
    const { harness } = this.site;
    const program = {
      answer: (request: HttpRequest) => this.answer(request),
      refuse: () => ({ ...OK, status: 400 }),
    };
    const exited = (exitCode: number, stdout = ""): ShellResult => ({
      ending: "exited",
      exitCode,
      stdout,
      stderr: "",
    });
    const serve = async (port: number, signal: AbortSignal | undefined): Promise<ShellResult> => {
      const ended = Promise.withResolvers<ShellResult>();
      signal?.addEventListener("abort", () => ended.resolve({ ...exited(0), ending: "aborted" }));
      this.endServing = () => ended.resolve(exited(1));
      this.booted();
      harness.occupy(port, program);
      const result = await ended.promise;
      harness.vacate(port);
      return result;
    };
    harness.setShell(async ({ commandLine, env, signal }: ShellCommand): Promise<ShellResult> => {
      if (commandLine === "serve") return serve(Number(env["PORT"]), signal);
      const url = await this.buy(env["CHECKOUT_ORDER_ID"] ?? "");
      return url === undefined ? exited(1) : exited(0, `${url}\n`);
    });
    this.started();
  }
}

function newOrder(): Order {
  const { amount_minor: total, currency } = TERMS;
  return { total, currency, checkouts: new Map(), bookings: [] };
}

/** Moves a paid order to another state after five seconds; its mistakes guard only the state `paid`. */
class CompletedShop extends CarefulShop {
  protected readonly completed = new Set<string>();

  /** Whether an event with this status makes a completed order unpaid. */
  reopens(_status: string): boolean {
    return false;
  }

  override take(event: ShopEvent): Promise<number> {
    const { order_id: orderId, status } = event.data;
    if (status === "succeeded") this.site.harness.clock.after(5000, () => this.completed.add(orderId));
    if (this.completed.has(orderId) && this.reopens(status)) {
      const states = this.orders.get(orderId)?.checkouts.values() ?? [];
      for (const state of states) state.status = "created";
    }
    return super.take(event);
  }
}

/** Repeats its questions by a timer in memory, which a restart ends; an event of the order makes it ask again. */
class RetriesInMemory extends CarefulShop {
  private starts = 0;

  override booted(): void {
    this.starts += 1;
  }

  override async take(event: ShopEvent): Promise<number> {
    const { starts } = this;
    const settle = async (): Promise<void> => {
      if (this.starts !== starts) return;
      if ((await this.site.retrieve(event.data.id)).status !== "") await super.take(event);
      else this.site.harness.clock.after(500, () => void settle());
    };
    await settle();
    return 200;
  }
}

/** The mistakes, by the history that finds each: the broken invariant, and the shop. */
export const MISTAKES: Readonly<Record<string, readonly [invariant: string, shop: typeof CarefulShop]>> = {
  other_amount: [
    "never_unpaid",
    class extends CarefulShop {
      override fits(order: Order, { amount_minor: amount, currency }: Checkout): boolean {
        return Math.floor(amount / 100) === Math.floor(order.total / 100) && currency === order.currency;
      }
    },
  ],
  other_terms_first: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly places = new Set<string>();
      override async take(event: ShopEvent): Promise<number> {
        const place = `${event.type} ${event.data.order_id}`;
        if (this.places.has(place)) return 200;
        this.places.add(place);
        return super.take(event);
      }
    },
  ],
  events_late: [
    "booked_when_paid",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        const ageMs = this.site.harness.clock.now() - Date.parse(event.created_at);
        return ageMs > 300_000 ? 200 : super.take(event);
      }
    },
  ],
  unknown_type: [
    "final_stays",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        const isUnknown = !STATUSES.has(event.data.status);
        const order = this.orders.get(event.data.order_id);
        if (isUnknown && order?.bookings.length === 1) order.checkouts.clear();
        return super.take(event);
      }
    },
  ],
  second_then_events: [
    "booked_once",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        const order = this.orders.get(event.data.order_id);
        const isSecond = [...(order?.checkouts.keys() ?? [])].indexOf(event.data.id) > 0;
        if (isSecond && !STATUSES.has(event.data.status)) order?.bookings.push(event.event_id);
        return super.take(event);
      }
    },
  ],
  second_each: [
    "recovery",
    class extends CarefulShop {
      override hasEnded(status: string): boolean {
        return status === "failed";
      }
    },
  ],
  second_cancelled: [
    "one_key",
    class extends CarefulShop {
      override create(orderId: string, key: string): Promise<Checkout | undefined> {
        return super.create(orderId, `one-key-${orderId}`, key);
      }
    },
  ],
  forged_payment: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly blocked = new Set<string>();
      // Also records the events that it refuses, as if it verified them too late.
      override async answer(request: HttpRequest): Promise<HttpResponse> {
        const answered = await super.answer(request);
        const event = parseJson(Buffer.from(request.body).toString("utf8")) as ShopEvent | undefined;
        if (answered.status === 400 && event !== undefined) this.blocked.add(event.event_id);
        return answered;
      }
      override take(event: ShopEvent): Promise<number> {
        return this.blocked.has(event.event_id) ? Promise.resolve(200) : super.take(event);
      }
    },
  ],
  events_overlap: [
    "booked_when_paid",
    class extends CarefulShop {
      private finish: () => void = () => undefined;
      // The handler of a pending event waits until another event arrives or the view is requested; then it overwrites
      // the status and the bookings that were stored meanwhile.
      override async take(event: ShopEvent): Promise<number> {
        const order = this.orders.get(event.data.order_id);
        if (event.data.status !== "pending" || order === undefined || this.seen.has(event.event_id)) {
          const answered = await super.take(event);
          this.finish();
          return answered;
        }
        this.seen.add(event.event_id);
        await new Promise<void>((resolve) => {
          this.finish = resolve;
        });
        order.checkouts.set(event.data.id, { status: "pending", sequence: event.sequence });
        order.bookings = [];
        return 200;
      }
      override answer(request: HttpRequest): Promise<HttpResponse> {
        if (request.target.startsWith("/orders/")) this.finish();
        return super.answer(request);
      }
    },
  ],
  second_early: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly closed = new Set<string>();
      // Asks the API before a second purchase; any reported end closes the order, whichever attempt has ended.
      override async buy(orderId: string): Promise<string | undefined> {
        const order = this.orders.get(orderId);
        const last = [...(order?.checkouts.keys() ?? [])].at(-1);
        const status = last === undefined ? "" : (await this.site.retrieve(last)).status;
        if (last !== undefined && this.hasEnded(status)) order?.checkouts.set(last, { status, sequence: 99 });
        this.closed.delete(orderId);
        return super.buy(orderId);
      }
      override take(event: ShopEvent): Promise<number> {
        const { order_id: orderId, status } = event.data;
        if (ENDED.has(status) && !this.seen.has(event.event_id)) this.closed.add(orderId);
        return this.closed.has(orderId) && status === "succeeded" ? Promise.resolve(200) : super.take(event);
      }
    },
  ],
  third_attempt: [
    "recovery",
    class extends CarefulShop {
      override create(orderId: string, key: string): Promise<Checkout | undefined> {
        return super.create(orderId, key.endsWith("-1") ? key : `${orderId}-retry`);
      }
    },
  ],
  second_answer_cut: [
    "one_key",
    class extends CarefulShop {
      private sent = 0;
      override create(orderId: string, key: string): Promise<Checkout | undefined> {
        this.sent += 1;
        return super.create(orderId, key.endsWith("-1") ? key : `${key}-${this.sent}`);
      }
    },
  ],
  second_at_once: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly closed = new Set<string>();
      private sent = 0;
      // Each click on a second attempt has its own key, and a refused attempt closes the order.
      override async create(orderId: string, key: string): Promise<Checkout | undefined> {
        this.sent += 1;
        const made = await super.create(orderId, key.endsWith("-1") ? key : `${key}-${this.sent}`);
        if (made === undefined) this.closed.add(orderId);
        return made;
      }
      override take(event: ShopEvent): Promise<number> {
        return this.closed.has(event.data.order_id) ? Promise.resolve(200) : super.take(event);
      }
    },
  ],
  bought_again_open: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly closed = new Set<string>();
      // Abandons a checkout about which the API does not answer.
      override async buy(orderId: string): Promise<string | undefined> {
        for (const id of this.orders.get(orderId)?.checkouts.keys() ?? [])
          if ((await this.site.retrieve(id)).status === "") this.closed.add(id);
        return super.buy(orderId);
      }
      override take(event: ShopEvent): Promise<number> {
        return this.closed.has(event.data.id) ? Promise.resolve(200) : super.take(event);
      }
    },
  ],
  second_after_others: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly made = new Set<string | undefined>();
      private readonly closed = new Set<string>();
      override async create(orderId: string, key: string): Promise<Checkout | undefined> {
        const made = await super.create(orderId, key);
        this.made.add(made?.id);
        return made;
      }
      override async take(event: ShopEvent): Promise<number> {
        const { id, order_id: orderId, status } = event.data;
        if (!this.made.has(id) && ENDED.has(status)) this.closed.add(orderId);
        return this.closed.has(orderId) ? 200 : super.take(event);
      }
    },
  ],
  return_other_session: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly links = new Map<string, string>();
      override async welcome(query: URLSearchParams): Promise<void> {
        this.links.set(query.get("session_id") ?? "", query.get("order_id") ?? "");
      }
      override take(event: ShopEvent): Promise<number> {
        const { data } = event;
        return super.take({
          ...event,
          data: { ...data, order_id: this.links.get(data.id) ?? data.order_id },
        });
      }
    },
  ],
  return_other_terms: [
    "never_unpaid",
    class extends CarefulShop {
      override async welcome(query: URLSearchParams): Promise<void> {
        const id = query.get("session_id") ?? "";
        const order = this.orders.get(query.get("order_id") ?? "");
        if (order !== undefined && (await this.site.retrieve(id)).status === "succeeded")
          order.bookings = [id];
      }
    },
  ],
  return_second: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly closed = new Set<string>();
      override async welcome(query: URLSearchParams): Promise<void> {
        const orderId = query.get("order_id") ?? "";
        const order = this.orders.get(orderId);
        if (order !== undefined && ENDED.has(this.stateOf(order))) this.closed.add(orderId);
      }
      override async take(event: ShopEvent): Promise<number> {
        return this.closed.has(event.data.order_id) ? 200 : super.take(event);
      }
    },
  ],
  other_currency: [
    "never_unpaid",
    class extends CarefulShop {
      override fits(order: Order, { amount_minor: amount }: Checkout): boolean {
        return amount === order.total;
      }
    },
  ],
  events_alike: [
    "booked_when_paid",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        return super.take({ ...event, event_id: event.event_id.slice(8) });
      }
    },
  ],
  unknown_order: [
    "takes_events",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        return this.orders.has(event.data.order_id) ? super.take(event) : 404;
      }
    },
  ],
  created_early: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly unknown = new Set<string>();
      private readonly made = new Set<string>();
      override async create(orderId: string, key: string): Promise<Checkout | undefined> {
        const made = await super.create(orderId, key);
        if (made !== undefined) this.made.add(made.id);
        return made;
      }
      override async take(event: ShopEvent): Promise<number> {
        const { id, order_id: orderId } = event.data;
        if (!this.made.has(id) && this.orders.has(orderId)) this.unknown.add(id);
        return this.unknown.has(id) ? 200 : super.take(event);
      }
    },
  ],
  conflict: [
    "never_unpaid",
    class extends CarefulShop {
      override async buy(orderId: string): Promise<string | undefined> {
        const order = this.orders.get(orderId);
        if (order?.bookings.length === 1) return "/thanks";
        const url = await super.buy(orderId);
        const made = this.orders.get(orderId);
        if (url === undefined) made?.checkouts.set(orderId, { status: "succeeded", sequence: 1 });
        if (url === undefined) made?.bookings.push(orderId);
        return url;
      }
    },
  ],
  look_alikes: [
    "never_unpaid",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        const plain = event.data.order_id.normalize("NFD").replaceAll(/\p{M}/gu, "");
        return super.take({ ...event, data: { ...event.data, order_id: plain } });
      }
    },
  ],
  same_numbers: [
    "never_unpaid",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        const number = event.data.order_id.replace(/^0+(?=\d+$)/, "");
        return super.take({ ...event, data: { ...event.data, order_id: number } });
      }
    },
  ],
  other_end_late: [
    "final_stays",
    class extends CarefulShop {
      private readonly closed = new Set<string>();
      override async take(event: ShopEvent): Promise<number> {
        const { order_id: orderId, status } = event.data;
        const isNew = !this.seen.has(event.event_id);
        const answered = await super.take(event);
        if (isNew && ENDED.has(status)) this.closed.add(orderId);
        if (isNew && status === "succeeded") this.closed.delete(orderId);
        return answered;
      }
      override stateOf(order: Order): string {
        const [id] = [...this.orders].find(([, one]) => one === order) ?? [""];
        return this.closed.has(id) ? "cancelled" : super.stateOf(order);
      }
    },
  ],
  return_pending: [
    "never_unpaid",
    class extends CarefulShop {
      override async welcome(query: URLSearchParams): Promise<void> {
        const order = this.orders.get(query.get("order_id") ?? "");
        if (order !== undefined && this.stateOf(order) === "pending") order.bookings = ["pending"];
      }
    },
  ],
  bought_again_paid: [
    "one_order",
    class extends CarefulShop {
      override async buy(orderId: string): Promise<string | undefined> {
        const order = this.orders.get(orderId);
        if (order === undefined || this.stateOf(order) !== "paid") return super.buy(orderId);
        return (await this.create(`${orderId}-2`, `again-${orderId}`))?.checkout_url;
      }
    },
  ],
  webhook_without_api: [
    "booked_when_paid",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        // Answers 200, and gives up if the API does not answer.
        const { status } = await this.site.retrieve(event.data.id);
        return status === "" ? 200 : super.take(event);
      }
    },
  ],
  api_refuses: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly closed = new Set<string>();
      override async take(event: ShopEvent): Promise<number> {
        const { id, status } = event.data;
        if (status === "created" && (await this.site.retrieve(id)).status === "") this.closed.add(id);
        return this.closed.has(id) ? 200 : super.take(event);
      }
    },
  ],
  many_at_once: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly counts = new Map<number, number>();
      // Handles the first ten payments of a moment; answers 200 to further payments, and drops them.
      override async take(event: ShopEvent): Promise<number> {
        if (event.data.status !== "succeeded") return super.take(event);
        const now = this.site.harness.clock.now();
        const count = (this.counts.get(now) ?? 0) + 1;
        this.counts.set(now, count);
        return count > 10 ? 200 : super.take(event);
      }
    },
  ],
  webhook_api_refuses: [
    "booked_when_paid",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        const { status } = await this.site.retrieve(event.data.id);
        return status === "" && event.data.status === "succeeded" ? 200 : super.take(event);
      }
    },
  ],
  webhook_after_question: [
    "booked_once",
    class extends CarefulShop {
      override started(): void {
        this.site.harness.clock.after(1000, () => void this.ask());
      }
      private async ask(): Promise<void> {
        const { clock } = this.site.harness;
        for (const order of this.orders.values())
          for (const [id, state] of order.checkouts) {
            if (ENDED.has(state.status) || order.bookings.includes(id)) continue;
            if ((await this.site.retrieve(id)).status !== "succeeded") continue;
            clock.after(400, () => {
              order.bookings.push(id);
              state.status = "succeeded";
            });
          }
        clock.after(1000, () => void this.ask());
      }
    },
  ],
  restart_after_answer: [
    "booked_when_paid",
    class extends CarefulShop {
      // A restart loses all bookings, because they were in memory.
      override booted(): void {
        for (const order of this.orders.values()) {
          order.bookings = [];
          for (const state of order.checkouts.values()) state.status = "created";
        }
      }
    },
  ],
  restart_second_attempt: [
    "booked_when_paid",
    class extends CarefulShop {
      // Keeps its open attempts in memory; after a start, only the first attempt of each order.
      private attempts = new Set<string>();
      override booted(): void {
        this.attempts = new Set(
          [...this.orders.values()].map(({ checkouts }) => [...checkouts.keys()][0] ?? ""),
        );
      }
      override async create(orderId: string, key: string): Promise<Checkout | undefined> {
        const made = await super.create(orderId, key);
        if (made !== undefined) this.attempts.add(made.id);
        return made;
      }
      override take(event: ShopEvent): Promise<number> {
        const { id, status } = event.data;
        return status === "succeeded" && !this.attempts.has(id) ? Promise.resolve(200) : super.take(event);
      }
    },
  ],
  restart_after_return: [
    "booked_once",
    class extends CarefulShop {
      // Keeps the booked checkouts in memory.
      private readonly booked = new Set<string>();
      override booted(): void {
        this.booked.clear();
      }
      private book(orderId: string | null, id: string): void {
        if (!this.booked.has(id)) this.orders.get(orderId ?? "")?.bookings.push(id);
        this.booked.add(id);
      }
      override async welcome(query: URLSearchParams): Promise<void> {
        const id = query.get("session_id") ?? "";
        if ((await this.site.retrieve(id)).status === "succeeded") this.book(query.get("order_id"), id);
      }
      override async take({ event_id: eventId, data }: ShopEvent): Promise<number> {
        if (data.status === "succeeded" && !this.seen.has(eventId)) this.book(data.order_id, data.id);
        this.seen.add(eventId);
        return 200;
      }
      override stateOf({ bookings }: Order): string {
        return bookings.length > 0 ? "paid" : "open";
      }
    },
  ],
  "second_failed.payment_first": [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly ended = new Set<string>();
      // An ended order can be paid only after a pending event of its next attempt.
      override async take(event: ShopEvent): Promise<number> {
        const { order_id: orderId, status } = event.data;
        if (this.hasEnded(status)) this.ended.add(orderId);
        else if (status === "pending") this.ended.delete(orderId);
        return status === "succeeded" && this.ended.has(orderId) ? 200 : super.take(event);
      }
    },
  ],
  "second_failed.return_same_moment": [
    "booked_once",
    class extends CarefulShop {
      // The return page locks the order_id, and the webhook the id of the checkout.
      override async welcome(query: URLSearchParams): Promise<void> {
        const order = this.orders.get(query.get("order_id") ?? "");
        const wasBooked = (order?.bookings.length ?? 0) > 0;
        const id = query.get("session_id") ?? "";
        if ((order?.checkouts.size ?? 0) < 2 || wasBooked) return;
        if ((await this.site.retrieve(id)).status === "succeeded") order?.bookings.push(id);
      }
    },
  ],
  bought_during_payment: [
    "booked_when_paid",
    class extends CarefulShop {
      // Writes what it read before it sent its create again.
      override async buy(orderId: string): Promise<string | undefined> {
        const order = this.orders.get(orderId);
        const [id, state] = [...(order?.checkouts.entries() ?? [])].at(-1) ?? [];
        const url = await super.buy(orderId);
        if (id !== undefined && state !== undefined) order?.checkouts.set(id, { ...state });
        return url;
      }
    },
  ],
  payment_then_new_type: [
    "booked_once",
    class extends CarefulShop {
      // Books every event with this status, whatever its type says.
      override async take(event: ShopEvent): Promise<number> {
        const isOther = !event.type.endsWith(".succeeded") && event.data.status === "succeeded";
        if (isOther) this.orders.get(event.data.order_id)?.bookings.push(event.event_id);
        return super.take(event);
      }
    },
  ],
  "second_failed.payment_alone": [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly current = new Map<string, string>();
      // The last created event decides which checkout can be paid.
      override async take(event: ShopEvent): Promise<number> {
        const { order_id: orderId, id, status } = event.data;
        if (status === "created") this.current.set(orderId, id);
        return status === "succeeded" && this.current.get(orderId) !== id ? 200 : super.take(event);
      }
    },
  ],
  payment_again: [
    "booked_once",
    class extends CarefulShop {
      private readonly headerIds = new Set<string>();
      private isKnown = false;
      // Knows an event by the id in its header, which is not signed.
      override answer(request: HttpRequest): Promise<HttpResponse> {
        const at = request.rawHeaders.findIndex((name) => name.toLowerCase() === "checkout-event-id");
        const id = request.rawHeaders[at + 1] ?? "";
        if (at < 0) return super.answer(request);
        this.isKnown = this.headerIds.has(id);
        this.headerIds.add(id);
        const { event_id: ownId } = parseJson(Buffer.from(request.body).toString()) as ShopEvent;
        return super.answer({ ...request, rawHeaders: request.rawHeaders.with(at + 1, ownId) });
      }
      override take(event: ShopEvent): Promise<number> {
        const order = this.orders.get(event.data.order_id);
        const isSeen = this.seen.has(event.event_id);
        if (isSeen && !this.isKnown && event.data.status === "succeeded") order?.bookings.push("again");
        return super.take(event);
      }
    },
  ],
  fifth_attempt: [
    "recovery",
    class extends CarefulShop {
      override create(orderId: string, key: string): Promise<Checkout | undefined> {
        return super.create(orderId, key.replace(/[4-9]$/, "3"));
      }
    },
  ],
  stop_in_outage: ["booked_when_paid", RetriesInMemory],
  restart_while_asked: [
    "booked_when_paid",
    class extends CarefulShop {
      private starts = 0;
      override booted(): void {
        this.starts += 1;
      }
      // Answers a payment, then asks the API; only memory knows of the question.
      override async take(event: ShopEvent): Promise<number> {
        if (event.data.status !== "succeeded") return super.take(event);
        const { starts } = this;
        const finish = (): void => {
          if (this.starts === starts) void super.take(event);
        };
        this.site.harness.clock.after(700, finish);
        return 200;
      }
    },
  ],
  twin_marks: [
    "never_unpaid",
    class extends CarefulShop {
      // Order_ids that differ only in punctuation are one order.
      override readonly orders = new OrdersWithoutMarks();
    },
  ],
  pending_in_outage: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly failed = new Set<string>();
      // Asks about a pending payment, and takes an error of the API for its end.
      override take(event: ShopEvent): Promise<number> {
        const { id, status } = event.data;
        const ask = async (): Promise<void> => {
          if ((await this.site.retrieve(id)).status === "") this.failed.add(id);
        };
        if (status === "pending") this.site.harness.clock.after(1000, () => void ask());
        return this.failed.has(id) ? Promise.resolve(200) : super.take(event);
      }
    },
  ],
  restart_while_repeated: [
    "booked_when_paid",
    class extends CarefulShop {
      private starts = 0;
      private handled = new Map<string, () => void>();
      override booted(): void {
        this.starts += 1;
        for (const end of this.handled.values()) end();
        this.handled.clear();
      }
      // The repetition of an event that is still handled is answered with 2xx; only memory knows of it.
      override async take(event: ShopEvent): Promise<number> {
        const { event_id: eventId, data } = event;
        const { starts } = this;
        if (this.handled.has(eventId)) return 200;
        if (data.status === "succeeded" && !this.seen.has(eventId))
          await new Promise<void>((resolve) => {
            this.handled.set(eventId, resolve);
            this.site.harness.clock.after(700, resolve);
          });
        this.handled.delete(eventId);
        return this.starts === starts ? super.take(event) : 503;
      }
    },
  ],
  second_numbered: [
    "one_key",
    class extends CarefulShop {
      override create(orderId: string, key: string): ReturnType<CarefulShop["create"]> {
        const [attempt = "1"] = /\d+$/.exec(key) ?? [];
        return super.create(orderId, attempt === "1" ? orderId : `${orderId}${attempt}`);
      }
    },
  ],
  paid_while_pending: [
    "booked_when_paid",
    class extends CarefulShop {
      private unlock: (() => void) | undefined;
      // The handler of a pending event locks its order until another event arrives or the view is requested; an event
      // that finds the order locked is answered and skipped.
      override async take(event: ShopEvent): Promise<number> {
        if (this.unlock !== undefined) {
          this.unlock();
          return 200;
        }
        if (event.data.status === "pending" && !this.seen.has(event.event_id)) {
          await new Promise<void>((resolve) => {
            this.unlock = resolve;
          });
          this.unlock = undefined;
        }
        return super.take(event);
      }
      override stateOf(order: Parameters<CarefulShop["stateOf"]>[0]): string {
        this.unlock?.();
        return super.stateOf(order);
      }
    },
  ],
  pending_long: [
    "never_unpaid",
    class extends CarefulShop {
      override take(event: ShopEvent): Promise<number> {
        const { order_id: orderId, id, status } = event.data;
        if (status === "pending")
          this.site.harness.clock.after(8000, () => this.orders.get(orderId)?.bookings.push(id));
        return super.take(event);
      }
    },
  ],
  later_events: [
    "final_stays",
    class extends CompletedShop {
      override reopens(status: string): boolean {
        return status === "pending";
      }
    },
  ],
  "third_early.later_first_events": [
    "final_stays",
    class extends CompletedShop {
      override reopens(status: string): boolean {
        return this.hasEnded(status);
      }
      // Learns of the end from the API, before its event arrives.
      override async buy(orderId: string): Promise<string | undefined> {
        for (const [id, state] of this.orders.get(orderId)?.checkouts ?? [])
          state.status = (await this.site.retrieve(id)).status || state.status;
        return super.buy(orderId);
      }
    },
  ],
  later_return: [
    "booked_once",
    class extends CompletedShop {
      override async welcome(query: URLSearchParams): Promise<void> {
        const orderId = query.get("order_id") ?? "";
        if (this.completed.has(orderId)) this.orders.get(orderId)?.bookings.push("again");
      }
    },
  ],
  later_purchase: [
    "one_order",
    class extends CompletedShop {
      override async buy(orderId: string): Promise<string | undefined> {
        if (!this.completed.has(orderId)) return super.buy(orderId);
        return (await this.create(`${orderId}-2`, `${orderId}-again`))?.checkout_url;
      }
    },
  ],
  restart_in_outage: ["booked_when_paid", RetriesInMemory],
  restart_in_return: [
    "takes_events",
    class extends CarefulShop {
      private starts = 0;
      private readonly claims = new Set<string>();
      override booted(): void {
        this.starts += 1;
      }
      override async welcome(query: URLSearchParams): Promise<void> {
        const { starts } = this;
        const orderId = query.get("order_id") ?? "";
        this.claims.add(orderId);
        await this.site.retrieve(query.get("session_id") ?? "");
        // A killed process leaves its claim.
        if (this.starts === starts) this.claims.delete(orderId);
      }
      override async take(event: ShopEvent): Promise<number> {
        return this.claims.has(event.data.order_id) ? 503 : super.take(event);
      }
    },
  ],
  restart_at_event: [
    "takes_events",
    class extends CarefulShop {
      private starts = 0;
      override booted(): void {
        this.starts += 1;
      }
      override async take(event: ShopEvent): Promise<number> {
        return this.starts > 1 ? 503 : super.take(event);
      }
    },
  ],
  restart_before_payment: [
    "booked_when_paid",
    class extends CarefulShop {
      private cancelled = new Set<string>();
      override booted(): void {
        const open = [...this.orders].filter(([, { bookings }]) => bookings.length === 0);
        this.cancelled = new Set(open.map(([id]) => id));
      }
      override async take(event: ShopEvent): Promise<number> {
        return this.cancelled.has(event.data.order_id) ? 200 : super.take(event);
      }
    },
  ],
  much_later: [
    "booked_once",
    class extends CarefulShop {
      private readonly toldAt = new Map<string, number>();
      override async take(event: ShopEvent): Promise<number> {
        const now = this.site.harness.clock.now();
        const toldAt = this.toldAt.get(event.event_id) ?? now;
        this.toldAt.set(event.event_id, toldAt);
        if (now - toldAt > 30_000) this.orders.get(event.data.order_id)?.bookings.push(event.data.id);
        return super.take(event);
      }
    },
  ],
  api_away: [
    "booked_when_paid",
    class extends CarefulShop {
      override async take(event: ShopEvent): Promise<number> {
        // Answers 202, and asks the API for eight seconds before it gives up.
        const { status } = await this.site.retrieve(event.data.id);
        if (status !== "") return super.take(event);
        let tries = 0;
        const ask = async (): Promise<void> => {
          const isTold = (await this.site.retrieve(event.data.id)).status !== "";
          tries += 1;
          if (isTold) await super.take(event);
          else if (tries < 8) this.site.harness.clock.after(1000, () => void ask());
        };
        this.site.harness.clock.after(1000, () => void ask());
        return 202;
      }
    },
  ],
  paid_late: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly placedAt = new Map<string, number>();
      override async take(event: ShopEvent): Promise<number> {
        const { order_id: orderId, status } = event.data;
        const now = this.site.harness.clock.now();
        if (!this.placedAt.has(orderId)) this.placedAt.set(orderId, now);
        const isOver = now - (this.placedAt.get(orderId) ?? now) > 10_000;
        return isOver && status === "succeeded" ? 200 : super.take(event);
      }
    },
  ],
  outage: [
    "booked_when_paid",
    class extends CarefulShop {
      private misses = 0;
      private closedUntil = 0;
      override async take(event: ShopEvent): Promise<number> {
        const now = this.site.harness.clock.now();
        if (now < this.closedUntil) return 200;
        const { status } = await this.site.retrieve(event.data.id);
        this.misses = status === "" ? this.misses + 1 : 0;
        if (this.misses >= 3) this.closedUntil = now + 30_000;
        return status === "" ? 503 : super.take(event);
      }
    },
  ],
  return_half: [
    "booked_when_paid",
    class extends CarefulShop {
      private readonly lockedAt = new Map<string, number>();
      override async welcome(query: URLSearchParams): Promise<void> {
        this.lockedAt.set(query.get("order_id") ?? "", this.site.harness.clock.now());
      }
      override async take(event: ShopEvent): Promise<number> {
        const isLocked = this.lockedAt.get(event.data.order_id) === this.site.harness.clock.now();
        return isLocked ? 200 : super.take(event);
      }
    },
  ],
  return_during_pending: [
    "booked_when_paid",
    class extends CarefulShop {
      private endWait: (() => void) | undefined;
      private hasPayment = false;
      // Writes the pending status that it read, over a later status.
      override async welcome(query: URLSearchParams): Promise<void> {
        const id = query.get("session_id") ?? "";
        const { status } = await this.site.retrieve(id);
        if (status !== "pending") return;
        if (!this.hasPayment)
          await new Promise<void>((resolve) => {
            this.endWait = resolve;
          });
        this.orders.get(query.get("order_id") ?? "")?.checkouts.set(id, { status, sequence: 0 });
      }
      override async take(event: ShopEvent): Promise<number> {
        const answer = await super.take(event);
        if (event.data.status === "succeeded") {
          this.hasPayment = true;
          this.endWait?.();
        }
        return answer;
      }
    },
  ],
  bought_after_return: [
    "recovery",
    class extends CarefulShop {
      private readonly givenUp = new Set<string>();
      // Begins another attempt although the first can still be paid.
      override async welcome(query: URLSearchParams): Promise<void> {
        const { status } = await this.site.retrieve(query.get("session_id") ?? "");
        if (status === "created") this.givenUp.add(query.get("order_id") ?? "");
      }
      override create(orderId: string, key: string): ReturnType<CarefulShop["create"]> {
        return super.create(orderId, this.givenUp.has(orderId) ? `${key}-again` : key);
      }
    },
  ],
  return_otherwise: [
    "stays_up",
    class extends CarefulShop {
      override async welcome(query: URLSearchParams): Promise<void> {
        if (!query.has("session_id")) this.fall();
      }
    },
  ],
};

/**
 * Mistakes with events of one type, about any object. With `mayBe: "of_a_payment"`, the shop's action is correct or
 * impossible for events that are payments of the order.
 */
export const EVENT_MISTAKES: Readonly<
  Record<
    string,
    {
      readonly mayBe?: "of_a_payment";
      readonly make: (isOfType: (event: ShopEvent) => boolean) => typeof CarefulShop;
    }
  >
> = {
  "books its order": {
    mayBe: "of_a_payment",
    make: (isOfType) =>
      class extends CarefulShop {
        override async take(event: ShopEvent): Promise<number> {
          const answered = await super.take(event);
          const order = this.orders.get(event.data.order_id);
          if (isOfType(event) && order?.bookings.length === 0) order.bookings.push("");
          return answered;
        }
      },
  },
  "closes its paid order": {
    mayBe: "of_a_payment",
    make: (isOfType) =>
      class extends CarefulShop {
        override async take(event: ShopEvent): Promise<number> {
          const isNew = !this.seen.has(event.event_id);
          const answered = await super.take(event);
          const order = this.orders.get(event.data.order_id);
          if (isNew && isOfType(event) && order !== undefined && this.stateOf(order) === "paid")
            order.checkouts.clear();
          return answered;
        }
      },
  },
  "books the newest order, if its own is unknown": {
    make: (isOfType) =>
      class extends CarefulShop {
        override async take(event: ShopEvent): Promise<number> {
          const newest = [...this.orders.values()].at(-1);
          if (isOfType(event) && !this.orders.has(event.data.order_id)) newest?.bookings.push("");
          return super.take(event);
        }
      },
  },
  "refuses an unknown order": {
    make: (isOfType) =>
      class extends CarefulShop {
        override async take(event: ShopEvent): Promise<number> {
          return isOfType(event) && !this.orders.has(event.data.order_id) ? 404 : super.take(event);
        }
      },
  },
  "refuses a checkout that it has not created": {
    make: (isOfType) =>
      class extends CarefulShop {
        private readonly made = new Set<string>();
        override async create(orderId: string, key: string): Promise<Checkout | undefined> {
          const made = await super.create(orderId, key);
          if (made !== undefined) this.made.add(made.id);
          return made;
        }
        override async take(event: ShopEvent): Promise<number> {
          return isOfType(event) && !this.made.has(event.data.id) ? 422 : super.take(event);
        }
      },
  },
};
