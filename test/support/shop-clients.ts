import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseCredentials } from "../../src/core/state-files.ts";
import type { HttpRequest, ShellResult, World } from "../../src/world.ts";
import type { Harness } from "./harness.ts";

/** What a merchant's program has at hand to buy one order. */
export type Purchase = {
  readonly orderId: string;
  /** One try of a create; its status, or undefined if no answer came. */
  readonly post: (key: string | null, change?: object) => Promise<number | undefined>;
  /** The same with the store's own API key, as from a file of the program's own. */
  readonly postAsStore: (key: string, change?: object) => Promise<number | undefined>;
  /** What it wrote down: all runs of a client have the same disk. */
  readonly disk: Map<string, string>;
  /** Different in each run. */
  readonly pid: number;
  /** Milliseconds; different in each run. */
  readonly startedAt: number;
  /** A new random text each time. */
  readonly random: () => string;
};

/** A merchant's program that creates the order of a purchase; it returns its exit code. */
export type Client = (purchase: Purchase) => Promise<number>;

/** A client and its name. */
export type NamedClient = { readonly name: string; readonly client: Client };

const ORDER = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
const MAX_TRIES = 4;

/** Tries until there is an answer; the exit code is 0 for an order. */
async function retrying(attempt: (number: number) => Promise<number | undefined>): Promise<number> {
  for (let number = 1; number <= MAX_TRIES; number += 1) {
    const status = await attempt(number);
    if (status !== undefined && status !== 429 && status < 500) return status === 201 ? 0 : 1;
  }
  return 1;
}

/** A client whose key is made in a way of its own, once a run. */
function keyedBy(keyOf: (purchase: Purchase) => string): Client {
  return (purchase) => {
    const key = keyOf(purchase);
    return retrying(() => purchase.post(key));
  };
}

/** What a purchase wrote down first. */
function stored(disk: Map<string, string>, name: string, value: string): string {
  disk.set(name, disk.get(name) ?? value);
  return disk.get(name) ?? value;
}

/** Keeps a random key for each order. */
export const rightClient = keyedBy(({ disk, orderId, random }) => stored(disk, orderId, random()));

/** Names each key after its order, as long as a key can be. */
export const longKeysClient = keyedBy(({ orderId }) => `purchase-of-${orderId}-`.padEnd(128, "x"));

/** Clients that repeat a create with its key, each in a way of its own. */
export const GOOD_CLIENTS: readonly NamedClient[] = [
  { name: "a random key, stored for each order", client: rightClient },
  { name: "the order id is the key", client: keyedBy(({ orderId }) => `order:${orderId}`) },
  {
    name: "a key and the body, stored together",
    client: ({ disk, orderId, random, post }) => {
      const key = stored(disk, orderId, random());
      const description = stored(disk, `${orderId} text`, `bought as ${random()}`);
      return retrying(() => post(key, { description }));
    },
  },
  {
    name: "the key is a count of all purchases, stored",
    client: keyedBy(({ disk, orderId }) => stored(disk, orderId, `purchase-${disk.size + 1000}`)),
  },
  {
    name: "sends everything a hundred times more, to be very sure",
    client: async ({ orderId, post }) => {
      const key = `order:${orderId}`;
      const first = await retrying(() => post(key));
      for (let again = 0; again < 100; again += 1) await post(key);
      return first;
    },
  },
  {
    name: "sends everything once more, to be sure",
    client: async ({ orderId, post }) => {
      const key = `order:${orderId}`;
      const first = await retrying(() => post(key));
      return first === 0 ? retrying(() => post(key)) : first;
    },
  },
];

/** A client that is wrong, with the steps that it fails and the beginning of what the drill says of each. */
export type BrokenClient = NamedClient & { readonly faults: Readonly<Record<string, string>> };

const REPORTS_FAILURE = "reports a failure althou";
const ONE_FOR_ALL = { own_key: "uses one key for differe" };
const ENDS_BADLY = { client_ended: REPORTS_FAILURE };
const NEW_AFTER_CRASH = { same_key_again: "makes a new key when it ", restarted_ended: REPORTS_FAILURE };
const MORE_ORDERS = { one_order: "makes more than one orde", one_order_again: "makes more than one orde" };

/** Clients that are wrong, and fail the idempotency drill. */
export const BROKEN_CLIENTS: readonly BrokenClient[] = [
  { name: "one key for all purchases", faults: ONE_FOR_ALL, client: keyedBy(() => "the-key-of-our-shop") },
  {
    name: "the beginning of the order id is the key",
    faults: ONE_FOR_ALL,
    client: keyedBy(({ orderId }) => `order:${orderId.slice(0, 4)}`),
  },
  {
    name: "the price is the key",
    faults: ONE_FOR_ALL,
    client: keyedBy(() => `order-of-${ORDER.amount_minor}-${ORDER.currency}`),
  },
  {
    name: "one stored key for all purchases",
    faults: ONE_FOR_ALL,
    client: keyedBy(({ disk, random }) => stored(disk, "key", random())),
  },
  { name: "a count in memory is the key", faults: ONE_FOR_ALL, client: keyedBy(() => "purchase-1") },
  {
    name: "the time is the key",
    faults: NEW_AFTER_CRASH,
    client: keyedBy(({ startedAt }) => `at-${startedAt}`),
  },
  {
    name: "the order id and the time are the key",
    faults: NEW_AFTER_CRASH,
    client: keyedBy(({ orderId, startedAt }) => `${orderId}-${startedAt}`),
  },
  {
    name: "the time in seconds is the key",
    faults: ONE_FOR_ALL,
    client: keyedBy(({ startedAt }) => `order-at-${Math.floor(startedAt / 1000)}`),
  },
  {
    name: "the order id and the time in seconds are the key",
    faults: NEW_AFTER_CRASH,
    client: keyedBy(({ orderId, startedAt }) => `${orderId}-${Math.floor(startedAt / 1000)}`),
  },
  {
    name: "the process id is the key",
    faults: NEW_AFTER_CRASH,
    client: keyedBy(({ pid }) => `process-${pid}`),
  },
  { name: "a random key in memory", faults: NEW_AFTER_CRASH, client: keyedBy(({ random }) => random()) },
  {
    name: "stores its key when there is an answer",
    faults: NEW_AFTER_CRASH,
    client: async ({ disk, orderId, random, post }) => {
      const key = disk.get(orderId) ?? random();
      const code = await retrying(() => post(key));
      disk.set(orderId, key);
      return code;
    },
  },
  {
    name: "thinks that what it has begun is done",
    faults: { same_key_again: "does not finish what it " },
    client: ({ disk, orderId, random, post }) => {
      if (disk.has(orderId)) return Promise.resolve(0);
      const key = stored(disk, orderId, random());
      return retrying(() => post(key));
    },
  },
  {
    name: "buys again when it is started again",
    faults: { same_key_again: "makes another purchase w", one_order_again: "makes more than one orde" },
    client: ({ disk, orderId, random, post }) => {
      const isAgain = disk.has(orderId);
      disk.set(orderId, "begun");
      const key = random();
      return retrying(() => post(key, isAgain ? { order_id: `${orderId}-again` } : {}));
    },
  },
  {
    name: "buys something else when it is started again",
    faults: { same_key_again: "makes up an order_id at ", one_order_again: "makes more than one orde" },
    client: ({ post, random }) => {
      const key = random();
      return retrying(() => post(key, { order_id: key.slice(0, 8) }));
    },
  },
  {
    name: "makes one purchase in its life",
    faults: { own_key: "makes only one purchase:" },
    client: async ({ disk, orderId, post }) => {
      if (disk.has("done")) return 0;
      const code = await retrying(() => post(`order:${orderId}`));
      disk.set("done", orderId);
      return code;
    },
  },
  {
    name: "a new key for each try",
    faults: { same_key: "makes a new key for each", ...ENDS_BADLY, ...NEW_AFTER_CRASH },
    client: ({ post, random }) => retrying(() => post(random())),
  },
  {
    name: "no key",
    faults: { answer_lost: "sends no Idempotency-Key" },
    client: ({ post }) => retrying(() => post(null)),
  },
  {
    name: "no key from the second try on",
    faults: { same_key: "sends no Idempotency-Key", ...ENDS_BADLY, ...NEW_AFTER_CRASH },
    client: ({ post, random }) => retrying((number) => post(number === 1 ? random() : null)),
  },
  {
    name: "the number of the try in the key",
    faults: { same_key: "makes a new key for each", ...ENDS_BADLY },
    client: ({ post, orderId }) => retrying((number) => post(`order:${orderId}:${number}`)),
  },
  {
    name: "the number of the try in the body",
    faults: { same_key: "sends another body with ", ...ENDS_BADLY },
    client: ({ post, orderId }) =>
      retrying((number) => post(`order:${orderId}`, { description: `try ${number}` })),
  },
  {
    name: "a price that changes with each try",
    faults: { same_key: "sends another body with ", ...ENDS_BADLY },
    client: ({ post, orderId }) =>
      retrying((number) => post(`order:${orderId}`, { amount_minor: 2000 + number })),
  },
  {
    name: "gives up",
    faults: { tried_again: "takes a lost connection ", ...ENDS_BADLY },
    client: async ({ post, orderId }) => Number((await post(`order:${orderId}`)) !== 201),
  },
  {
    name: "gives up, and reports success",
    faults: { tried_again: "takes a lost connection " },
    client: async ({ post, orderId }) => {
      await post(`order:${orderId}`);
      return 0;
    },
  },
  {
    name: "another purchase for each try",
    faults: {
      same_key: "makes a new key and a ne",
      one_order: "makes more than one orde",
      ...NEW_AFTER_CRASH,
    },
    client: ({ post, orderId, random }) =>
      retrying((number) => post(random(), { order_id: `${orderId}-${number}` })),
  },
  {
    name: "buys twice",
    faults: MORE_ORDERS,
    client: async ({ post, orderId }) => {
      await retrying(() => post(`order:${orderId}`));
      return retrying(() => post(`order:${orderId}:2`, { order_id: `${orderId}-2` }));
    },
  },
  {
    name: "buys twice, the second time after a hundred tries",
    faults: MORE_ORDERS,
    client: async ({ post, orderId }) => {
      const first = await retrying(() => post(`order:${orderId}`));
      for (let again = 0; again < 100; again += 1) await post(`order:${orderId}`);
      await post(`order:${orderId}:2`, { order_id: `another-${orderId}` });
      return first;
    },
  },
  {
    name: "buys twice, the second time with another API key of the store",
    faults: MORE_ORDERS,
    client: async ({ post, postAsStore, orderId }) => {
      const first = await retrying(() => post(`order:${orderId}`));
      await postAsStore(`order:${orderId}:2`, { order_id: `${orderId}-2` });
      return first;
    },
  },
  {
    name: "reports a failure where it had to try again",
    faults: ENDS_BADLY,
    client: async ({ post, orderId }) => {
      let tries = 0;
      const code = await retrying((number) => {
        tries = number;
        return post(`order:${orderId}`);
      });
      return tries > 1 ? 3 : code;
    },
  },
];

/** Puts a client in a command line's place. It is cut off where the command is killed, and keeps its disk. */
export function installClient(
  harness: Pick<Harness, "setShell" | "programOn" | "clock" | "cwd">,
  client: Client,
): void {
  const disk = new Map<string, string>();
  let runs = 0;
  harness.setShell(async ({ env, signal }): Promise<ShellResult> => {
    runs += 1;
    const killed = new Promise<void>((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener("abort", () => resolve());
    });
    const postNow = async ({ env: asked, ...wanted }: { env: Env; key: string | null; change: object }) => {
      const status = await postOrder(harness, asked, wanted);
      // A program that was killed does nothing more.
      return signal?.aborted === true ? NEVER : status;
    };
    const ended = client({
      orderId: env["CHECKOUT_ORDER_ID"] ?? "",
      post: (key, change = {}) => postNow({ key, change, env }),
      postAsStore: (key, change = {}) =>
        postNow({ key, change, env: { ...env, CHECKOUT_API_KEY: storeKey(harness.cwd) } }),
      disk,
      pid: FIRST_PID + runs,
      startedAt: harness.clock.now() + runs,
      random: randomUUID,
    });
    const code = await Promise.race([ended, killed]);
    return code === undefined
      ? { ending: "aborted", exitCode: null, stdout: "", stderr: "" }
      : { ending: "exited", exitCode: code, stdout: "", stderr: "" };
  });
}

function storeKey(folder: string): string {
  const text = readFileSync(join(folder, ".checkout/credentials.json"), "utf8");
  return Object.values(parseCredentials(text)?.stores ?? {})[0]?.api_key ?? "";
}

const FIRST_PID = 5000;
const NEVER = new Promise<never>(() => undefined);

type Env = Parameters<World["run"]>[0]["env"];

async function postOrder(
  { programOn }: Pick<Harness, "programOn">,
  env: Env,
  { key, change }: { readonly key: string | null; readonly change: object },
): Promise<number | undefined> {
  const url = new URL(`${env["CHECKOUT_BASE_URL"]}/orders`);
  const headers = {
    Host: url.host,
    Authorization: `Bearer ${env["CHECKOUT_API_KEY"]}`,
    "Content-Type": "application/json",
    ...(key === null ? {} : { "Idempotency-Key": key }),
  };
  const request: HttpRequest = {
    method: "POST",
    target: url.pathname,
    rawHeaders: Object.entries(headers).flat(),
    body: Buffer.from(JSON.stringify({ order_id: env["CHECKOUT_ORDER_ID"], ...ORDER, ...change })),
  };
  const answer = await programOn(Number(url.port))?.answer(request);
  return answer === undefined || answer.dropped === true ? undefined : answer.status;
}
