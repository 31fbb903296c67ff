import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EPHEMERAL } from "../support/harness.ts";
import { EVENT_TYPES } from "../../src/core/checkout/event-types.ts";
import { part } from "../support/campaign.ts";
import { CarefulShop, EVENT_MISTAKES, MISTAKES } from "../support/mistaken-shop.ts";
import type { World } from "../../src/world.ts";
import { openWebhookSite } from "../support/webhook-site.ts";

const SECTION = {
  serve: "serve",
  endpoint: "/hooks",
  create: "create-order",
  order_view: "/orders/{order_id}",
  paid_when: '"status":"paid"',
  return_url: "/thanks",
};

type Report = {
  readonly items: readonly {
    readonly part: string;
    readonly verdict: string;
    readonly drill_id: string | null;
  }[];
  readonly broken: readonly { readonly history: string; readonly invariant: string }[];
  readonly not_judged: readonly { readonly history: string | null; readonly reason: string }[];
};

const REFUSED = { status: 400, headers: {}, body: "" };

/** Judges a served shop by some histories; returns the broken and the unjudged histories. */
async function judge(Shop: typeof CarefulShop, histories: readonly string[], settle = "10s") {
  const site = await openWebhookSite(EPHEMERAL);
  new Shop(site).open();
  writeFileSync(join(site.harness.cwd, "checkout.config.json"), JSON.stringify({ shop: SECTION }));
  const only = histories.flatMap((name) => ["--only", name]);
  const line = [
    "checklist",
    "run",
    "--trust-config",
    "--settle",
    settle,
    "--budget",
    "1h",
    "--json",
    ...only,
  ];
  const { code, stdout, stderr } = await site.harness.run(line);
  const due = await site.harness.run(["deliveries", "list", "--state", "due", "--json"]);
  await site.stop();
  if (stdout === "") throw new Error(stderr);
  const { broken, not_judged: open } = JSON.parse(stdout) as Report;
  const unclear = open.filter(({ history }) => history !== null);
  const { deliveries: left } = JSON.parse(due.stdout) as { readonly deliveries: readonly unknown[] };
  return {
    code,
    left: left.length,
    findings: broken.map(({ history, invariant }) => `${history}: ${invariant}`),
    unclear,
  };
}

class ConstantKey extends CarefulShop {
  override create(orderId: string): ReturnType<CarefulShop["create"]> {
    return super.create(orderId, "constant-key");
  }
}

test("a shop that uses one idempotency key for all creates fails checklist run, and the failed drills are recorded", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = new ConstantKey(site);
  shop.open();
  site.harness.occupy(3000, { answer: (request) => shop.answer(request), refuse: () => REFUSED });
  await site.addEndpoint("http://localhost:3000/hooks");
  const options = ["--create", "create-order", "--order-view", "http://localhost:3000/orders/{order_id}"];
  const line = ["checklist", "run", ...options, "--paid-when", SECTION.paid_when, "--quick", "--json"];
  const { code, stdout, stderr } = await site.harness.run(line);
  await site.stop();
  expect([code, stderr]).toEqual([1, expect.not.stringContaining("endpoints changed")]);
  const { items } = JSON.parse(stdout) as Pick<Report, "items">;
  expect(items.map(({ part: name, verdict, drill_id: id }) => [name, verdict, id !== null])).toEqual([
    ["duplicates", "failed", true],
    ["browser-return", "unknown", false],
    ["idempotency", "failed", true],
    ["webhooks", "passed", true],
  ]);
});

const HELD = { code: 0, left: 0, findings: [], unclear: [] };

test("an order whose first create is refused because of its key breaks one_key", async () => {
  const { findings } = await judge(ConstantKey, ["payment_again"]);
  expect(findings).toEqual(["payment_again: one_key"]);
});

test("checklist run repeats no create whose key was refused", async () => {
  let createCount = 0;
  class NewKeyForEachCreate extends CarefulShop {
    override create(orderId: string): ReturnType<CarefulShop["create"]> {
      createCount += 1;
      return super.create(orderId, `create-${createCount}`);
    }
  }
  const { findings } = await judge(NewKeyForEachCreate, ["answer_lost"]);
  // The plain purchase, the create whose answer is lost, and its retry.
  expect([findings, createCount]).toEqual([["answer_lost: one_key"], 3]);
});

test("an event that the shop refuses in the plain purchase is delivered again after about a second", async () => {
  const times: number[] = [];
  class Redirects extends CarefulShop {
    override take(): Promise<number> {
      times.push(this.site.harness.clock.monotonic());
      return Promise.resolve(302);
    }
  }
  const { findings } = await judge(Redirects, ["payment_again"]);
  const [firstAt = 0, secondAt = Infinity] = times;
  expect([findings, secondAt - firstAt < 2500]).toEqual([["plain_purchase: takes_events"], true]);
});

test("a correct shop passes every history of checklist run that finds a planted mistake, and receives every delivery that the run held back", async () => {
  expect(await judge(CarefulShop, Object.keys(MISTAKES))).toEqual(HELD);
});

test("a shop that also books events of unknown orders passes checklist run", async () => {
  class OpenBooks extends CarefulShop {
    override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      this.know(event.data.order_id);
      return super.take(event);
    }
  }
  expect(await judge(OpenBooks, Object.keys(MISTAKES))).toEqual(HELD);
});

test("a shop that never sells an order a second time, even if the first payment failed, passes checklist run", async () => {
  class SoldOnce extends CarefulShop {
    override hasEnded(): boolean {
      return false;
    }
  }
  expect(await judge(SoldOnce, Object.keys(MISTAKES))).toEqual(HELD);
});

test("a shop that generates its own order_ids passes checklist run", async () => {
  class OwnNumbers extends CarefulShop {
    private readonly carts = new Map<string, string>();
    override buy(cart: string): Promise<string | undefined> {
      const number = this.carts.get(cart) ?? `W-${5001 + this.carts.size}`;
      this.carts.set(cart, number);
      return super.buy(number);
    }
  }
  expect(await judge(OwnNumbers, Object.keys(MISTAKES))).toEqual(HELD);
});

test("a shop that processes final events a second after its answer passes checklist run", async () => {
  class LaterEnds extends CarefulShop {
    override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      if (!this.hasEnded(event.data.status)) return super.take(event);
      this.site.harness.clock.after(1000, () => void super.take(event));
      return 200;
    }
  }
  expect(await judge(LaterEnds, Object.keys(MISTAKES))).toEqual(HELD);
});

class LosesAttempts extends CarefulShop {
  override create(orderId: string, key: string): ReturnType<CarefulShop["create"]> {
    const [attempt = "1"] = /\d+$/.exec(key) ?? [];
    return super.create(attempt === "1" ? orderId : `${orderId}-${attempt}`, key);
  }
}

test("a shop whose second attempt appends a number to the order_id passes checklist run", async () => {
  class NumberedAttempts extends LosesAttempts {
    override take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      const { order_id: orderId } = event.data;
      const cart = this.orders.has(orderId) ? orderId : orderId.replace(/-\d+$/, "");
      return super.take({ ...event, data: { ...event.data, order_id: cart } });
    }
  }
  expect(await judge(NumberedAttempts, Object.keys(MISTAKES))).toEqual(HELD);
});

test("a shop whose second attempt has an unrelated order_id passes checklist run", async () => {
  class UnrelatedAttempts extends CarefulShop {
    private readonly carts = new Map<string, string>();
    override create(orderId: string, key: string): ReturnType<CarefulShop["create"]> {
      const [attempt = "1"] = /\d+$/.exec(key) ?? [];
      if (attempt === "1") return super.create(orderId, key);
      const ownId = `${attempt}00${[...this.orders.keys()].indexOf(orderId)}`;
      this.carts.set(ownId, orderId);
      return super.create(ownId, key);
    }
    override take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      const { order_id: orderId } = event.data;
      const cart = this.carts.get(orderId) ?? orderId;
      return super.take({ ...event, data: { ...event.data, order_id: cart } });
    }
  }
  expect(await judge(UnrelatedAttempts, Object.keys(MISTAKES))).toEqual(HELD);
});

test("a shop that first answers an event, and then asks the API until the API answers, passes checklist run", async () => {
  class AsksLater extends CarefulShop {
    override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      const ask = async (): Promise<void> => {
        const { status } = await this.site.retrieve(event.data.id);
        if (status === "") this.site.harness.clock.after(500, () => void ask());
        else await super.take(event);
      };
      void ask();
      return 200;
    }
  }
  expect(
    await judge(AsksLater, [
      "bought_during_payment.payment_then_new_type.webhook_without_api",
      "third_early.payment_then_new_type.webhook_cut_answer",
    ]),
  ).toEqual(HELD);
});

test("a shop that asks the API about each event, and answers 503 while the API does not answer, passes the histories with a restart", async () => {
  class AsksFirst extends CarefulShop {
    override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      const { status } = await this.site.retrieve(event.data.id);
      return status === "" ? 503 : super.take(event);
    }
  }
  expect(await judge(AsksFirst, ["restart_in_outage", "restart_in_return"])).toEqual(HELD);
});

/** Takes the payment of a second attempt only after a pending event. */
class NeedsPending extends CarefulShop {
  protected readonly refusal: number = 200;
  private readonly ended = new Set<string>();
  override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
    const { order_id: orderId, status } = event.data;
    if (this.hasEnded(status)) this.ended.add(orderId);
    else if (status === "pending") this.ended.delete(orderId);
    return status === "succeeded" && this.ended.has(orderId) ? this.refusal : super.take(event);
  }
}

test("a late booking in one history hides no mistake in a combination of histories", async () => {
  class LateOnce extends NeedsPending {
    private readonly delayedIds = new Set<string>();
    private paymentCount = 0;
    override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      if (this.delayedIds.has(event.event_id)) return 200;
      const isPayment = event.data.status === "succeeded" && !this.seen.has(event.event_id);
      if (isPayment) this.paymentCount += 1;
      if (!isPayment || this.paymentCount !== 2) return super.take(event);
      this.delayedIds.add(event.event_id);
      this.site.harness.clock.after(11_000, () => void super.take(event));
      return 200;
    }
  }
  const { code, findings } = await judge(LateOnce, ["payment_first", "second_failed.payment_first"], "3s");
  expect([code, findings]).toEqual([1, ["second_failed.payment_first: booked_when_paid"]]);
});

test("checklist run reduces a broken combination with a refused event to the smallest combination that still breaks", async () => {
  class AsksForAnother extends NeedsPending {
    protected override readonly refusal = 503;
  }
  const { findings } = await judge(AsksForAnother, [
    "second_failed",
    "second_failed.return_half.payment_alone.webhook_slow_api",
  ]);
  expect(findings).toEqual(["second_failed.payment_alone: takes_events"]);
});

test("a shop that forgets bookings at a restart, and books pending payments, breaks two rules in one checklist run", async () => {
  class ForgetsAndBooksPending extends CarefulShop {
    override booted(): void {
      for (const order of this.orders.values()) order.checkouts.clear();
    }
    override take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      const { order_id: orderId, id, status } = event.data;
      if (status === "pending")
        this.site.harness.clock.after(8000, () => this.orders.get(orderId)?.bookings.push(id));
      return super.take(event);
    }
  }
  const { findings } = await judge(ForgetsAndBooksPending, ["restart_after_answer", "pending_long"]);
  expect(findings).toEqual(["restart_after_answer: booked_when_paid", "pending_long: never_unpaid"]);
});

test("an interrupted checklist run reports a broken combination, even if other histories have not ended", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const { harness } = site;
  let interrupt: () => void = () => undefined;
  const [, BooksTwice = CarefulShop] = MISTAKES["second_failed.return_same_moment"] ?? [];
  class Interrupted extends BooksTwice {
    override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      const answered = await super.take(event);
      const { bookings = [] } = this.orders.get(event.data.order_id) ?? {};
      if (bookings.length > 1) harness.clock.after(2500, interrupt);
      return answered;
    }
  }
  new Interrupted(site).open();
  writeFileSync(join(harness.cwd, "checkout.config.json"), JSON.stringify({ shop: SECTION }));
  const only = ["--only", "second_failed.return_same_moment", "--only", "api_refuses"];
  const onStop: World["onStop"] = (stop) => {
    interrupt = () => stop("SIGINT");
    return () => undefined;
  };
  const line = ["checklist", "run", "--trust-config", "--json", ...only];
  const { code, stdout } = await harness.run(line, { world: { onStop } });
  const { broken } = JSON.parse(stdout) as Report;
  expect([code, broken.map(({ history }) => history)]).toEqual([130, ["second_failed.return_same_moment"]]);
});

const AGAIN = ["second_cancelled", "second_failed", "third_attempt", "second_each", "bought_again_open"];

test("a shop whose later attempts are separate orders, each with its own view, passes checklist run", async () => {
  class SeparateOrders extends CarefulShop {
    override async buy(cart: string): Promise<string | undefined> {
      const hasEnded = (id: string): boolean =>
        [...(this.orders.get(id)?.checkouts.values() ?? [])].some(({ status }) => this.hasEnded(status));
      const ids = [cart, `${cart}-2`, `${cart}-3`];
      return super.buy(ids.find((id) => !hasEnded(id)) ?? `${cart}-4`);
    }
  }
  expect(await judge(SeparateOrders, AGAIN)).toEqual(HELD);
});

test("a shop whose answers name a customer or other orders passes checklist run", async () => {
  const customer = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
  class NamesCustomer extends CarefulShop {
    override create(orderId: string, key: string): ReturnType<CarefulShop["create"]> {
      return super.create(orderId, key, `customer ${customer}`);
    }
    override async buy(orderId: string): Promise<string | undefined> {
      return (await super.buy(orderId)) && `order ${orderId} of customer ${customer}`;
    }
  }
  class ListsOrders extends CarefulShop {
    private readonly urls = new Set<string>();
    override async buy(orderId: string): Promise<string | undefined> {
      const url = await super.buy(orderId);
      if (url !== undefined) this.urls.add(url);
      return url && [url, ...[...this.urls].slice(-20)].join(" ");
    }
  }
  for (const Shop of [NamesCustomer, ListsOrders])
    expect(await judge(Shop, [...AGAIN, "orders_bought_at_once"])).toEqual(HELD);
});

test("a shop that loses payments of attempts with their own order_id fails checklist run, whether or not the shop's answer names the checkout", async () => {
  class NamesNothing extends LosesAttempts {
    override async buy(orderId: string): Promise<string | undefined> {
      return (await super.buy(orderId)) && "thank you";
    }
  }
  for (const Shop of [LosesAttempts, NamesNothing])
    expect((await judge(Shop, ["second_failed", "second_cancelled"])).findings).toEqual([
      "second_failed: booked_when_paid",
      "second_cancelled: booked_when_paid",
    ]);
});

test("a shop that keeps the checkout in a variable shared by all requests fails checklist run when customers buy at the same time", async () => {
  class SharedVariable extends CarefulShop {
    private checkoutUrl: Promise<string | undefined> | undefined;
    override async buy(orderId: string): Promise<string | undefined> {
      this.checkoutUrl = super.buy(orderId);
      await super.buy(orderId);
      return this.checkoutUrl;
    }
  }
  const { code, findings } = await judge(SharedVariable, ["orders_bought_at_once"]);
  expect([code, findings]).toEqual([1, ["orders_bought_at_once: one_order"]]);
});

test("a shop that appends a suffix to the order_id passes checklist run, although its newest order_id leaves no room for the suffix", async () => {
  class Suffixed extends CarefulShop {
    override buy(cart: string): Promise<string | undefined> {
      return super.buy(`${cart}-attempt-1`);
    }
    override started(): void {
      void super.create("order-10012002-attempt-1", "key-of-an-earlier-run");
    }
  }
  expect(await judge(Suffixed, ["payment_again", "second_failed"])).toEqual(HELD);
});

test("a shop that refuses a payment event and accepts the retry fails checklist run for the refusal, not for a late view", async () => {
  class RefusesFirst extends CarefulShop {
    private readonly refusedIds = new Set<string>();
    override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
      if (event.data.status !== "succeeded" || this.refusedIds.has(event.event_id)) return super.take(event);
      this.refusedIds.add(event.event_id);
      return 400;
    }
  }
  const { code, findings } = await judge(RefusesFirst, ["payment_again"]);
  expect([code, findings]).toEqual([1, ["plain_purchase: takes_events"]]);
});

test.each(["first", "last"])(
  "a return page that checks only the %s session_id of its address, and asks the API about the other, breaks never_unpaid",
  async (checked) => {
    class MixedSessions extends CarefulShop {
      override async welcome(query: URLSearchParams): Promise<void> {
        const ids = query.getAll("session_id");
        const [checkedId = "", askedId = ""] =
          checked === "first" ? [ids[0], ids.at(-1)] : [ids.at(-1), ids[0]];
        const order = this.orders.get(query.get("order_id") ?? "");
        if (order?.checkouts.has(checkedId) !== true) return;
        if ((await this.site.retrieve(askedId)).status === "succeeded") order.bookings = [checkedId];
      }
    }
    const { code, findings } = await judge(MixedSessions, ["return_other_session"]);
    expect([code, findings]).toEqual([1, ["return_other_session: never_unpaid"]]);
  },
);

test.each(["'", '"'])(
  "a return page that allows SQL injection with %s in the order_id breaks never_unpaid",
  async (quote) => {
    class OrderIdInSql extends CarefulShop {
      override async welcome(query: URLSearchParams): Promise<void> {
        const [orderId = "", rest] = (query.get("order_id") ?? "").split(quote);
        const sessionId = query.get("session_id") ?? "";
        const order = this.orders.get(orderId);
        if (order === undefined || (rest === undefined && !order.checkouts.has(sessionId))) return;
        if ((await this.site.retrieve(sessionId)).status === "succeeded") order.bookings = [sessionId];
      }
    }
    const { code, findings } = await judge(OrderIdInSql, ["return_other_session"]);
    expect([code, findings]).toEqual([1, ["return_other_session: never_unpaid"]]);
  },
);

test.each(["cancelled", "failed"])(
  "a shop that closes an order because its return page receives status=%s does not book the payment",
  async (status) => {
    class BelievesEnds extends CarefulShop {
      private readonly closedIds = new Set<string>();
      override async welcome(query: URLSearchParams): Promise<void> {
        if (query.get("status") === status) this.closedIds.add(query.get("order_id") ?? "");
      }
      override async take(event: Parameters<CarefulShop["take"]>[0]): Promise<number> {
        return this.closedIds.has(event.data.order_id) ? 200 : super.take(event);
      }
    }
    const { code, findings } = await judge(BelievesEnds, ["return_otherwise"]);
    expect([code, findings]).toEqual([1, ["return_otherwise: booked_when_paid"]]);
  },
);

for (const [history, [invariant, Shop]] of Object.entries(MISTAKES))
  test(`a shop with a mistake in the history ${history} breaks only ${invariant}`, async () => {
    const { code, findings } = await judge(Shop, [history]);
    expect([code, findings]).toEqual([1, [`${history}: ${invariant}`]]);
  });

/** The histories with events of other orders and checkouts. */
const OF_OTHERS =
  "payment_first unknown_type declined_attempt payment_failed order_expired order_cancelled twin_case other_checkouts unknown_order second_failed other_end_late".split(
    " ",
  );
const EVENT_ROWS = Object.entries(EVENT_MISTAKES).flatMap(([effect, { mayBe, make }]) =>
  EVENT_TYPES.filter(
    (type) => type !== "webhook.test" && !(mayBe === "of_a_payment" && type.endsWith(".succeeded")),
  ).map((type) => ({ effect, type, Shop: make((event) => event.type === type) })),
);

test.each(part(EVENT_ROWS, 20))("a shop that mishandles $type fails: it $effect", async ({ Shop }) => {
  const { code, findings } = await judge(Shop, OF_OTHERS);
  expect([code, findings.length > 0]).toEqual([1, true]);
});
