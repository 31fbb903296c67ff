import { expect, test } from "vitest";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";
import { linesOf } from "../support/portal-story.ts";

/** The number of orders, all in one store, which share its clock. */
const ORDERS = 50;
/** The average number of random steps for each order. */
const STEPS = 5;
const TERMS = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

type Told = {
  readonly at: string;
  readonly what: string;
  readonly of: string | null;
  readonly text: string;
  readonly attempts?: readonly unknown[];
};

/** A store with two endpoints, whose receivers give the answers of the test. */
async function openStore() {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const portal = await signedIn(harness, sandbox);
  const answers = [204, 500];
  for (const [index, port] of [3000, 3001].entries()) {
    harness.occupy(port, {
      answer: () => Promise.resolve({ status: answers[index] ?? 204, headers: {}, body: "no" }),
      refuse: () => ({ status: 400, headers: {}, body: "" }),
    });
    await harness.run(["endpoints", "add", `http://localhost:${port}/hooks`]);
  }
  let keys = 0;
  const create = async (orderId: string, more: object = {}): Promise<string | undefined> => {
    keys += 1;
    const headers = { "Idempotency-Key": `key-number-${keys}` };
    const body = JSON.stringify({ ...TERMS, order_id: orderId, ...more });
    const made = await sandbox.request({ path: "/v1/orders", headers, body });
    return (JSON.parse(String(made.body)) as { readonly data?: { readonly id: string } }).data?.id;
  };
  const read = async <Value>(...line: readonly string[]): Promise<Value> =>
    JSON.parse((await harness.run([...line, "--json"])).stdout) as Value;
  return { harness, sandbox, portal, answers, create, read };
}

type Opened = Awaited<ReturnType<typeof openStore>>;

/** Runs the step of an order or of the store that a random number selects. */
async function happen(
  { harness, sandbox, portal, answers, create }: Opened,
  { id, orderId }: { readonly id: string; readonly orderId: string },
  draw: number,
): Promise<void> {
  const pay = (outcome: string) => portal.post(`${portal.home}/checkouts/${id}/pay`, { outcome });
  const steps = [
    () => pay("declined"),
    () => pay("declined"),
    () => pay("succeeded"),
    () => pay("cancelled"),
    () => sandbox.request({ path: `/v1/checkout-sessions/${id}` }),
    () => create(orderId, { amount_minor: 0 }),
    () => harness.clock.sleep(1000),
    () => harness.clock.sleep(60_000),
    () => portal.post(`${portal.home}/clock`, { action: "advance", by: "7m" }),
    () => harness.run(["sandbox", "clock", "set", "2026-01-15T12:00:00Z"]),
    async () => void answers.push(answers.shift() ?? 204),
  ];
  await steps[Math.floor(draw * steps.length)]?.();
}

test(`for random histories, a checkout's page and explain show the same lines in the same order, with every attempt once (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  for (let batch = 0; batch < size(1, 10); batch += 1) {
    const store = await openStore();
    const { portal, create, read, harness } = store;
    const orders: { readonly id: string; readonly orderId: string }[] = [];
    while (orders.length < ORDERS) {
      const orderId = `order-number-${orders.length}`;
      orders.push({ id: (await create(orderId)) ?? "", orderId });
    }
    for (let step = 0; step < ORDERS * STEPS; step += 1) {
      const order = orders[Math.floor(random() * ORDERS)];
      if (order !== undefined) await happen(store, order, random());
    }
    await harness.clock.sleep(1000);
    let [attempts, setBack] = [0, 0];
    for (const { id, orderId } of orders) {
      const { entries } = await read<{ readonly entries: readonly Told[] }>("explain", id);
      expect([id, linesOf(await portal.get(`${portal.home}/checkouts/${id}`))]).toEqual([
        id,
        entries.map(({ at: time, text, of }) => ({
          at: time,
          text: text.replace(/ +/g, " "),
          isUnder: of !== null,
        })),
      ]);
      const [first] = entries;
      let before = first?.at ?? "";
      for (const { at: time, what } of entries) {
        if (what !== "clock") expect([id, before <= time]).toEqual([id, true]);
        before = time;
      }
      const { deliveries } = await read<{
        readonly deliveries: readonly { readonly attempts: readonly unknown[] }[];
      }>("deliveries", "list", "--order-id", orderId, "--limit", "100");
      const kept = deliveries.reduce((sum, one) => sum + one.attempts.length, 0);
      expect([id, entries.flatMap((one) => one.attempts ?? []).length]).toEqual([id, kept]);
      attempts += kept;
      setBack += entries.filter(({ what }) => what === "clock").length;
    }
    expect(attempts).toBeGreaterThan(ORDERS * 4);
    expect(setBack).toBeGreaterThan(0);
  }
});
