import { crc32 } from "node:zlib";
import { hash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseCredentials } from "../../src/core/state-files.ts";
import type { HttpRequest, HttpResponse, ShellResult, World } from "../../src/world.ts";
import type { Harness } from "./harness.ts";

/** The data and functions with which a merchant's program buys one order. */
type Purchase = {
  readonly orderId: string;
  /** Sends a create once; returns the status, or undefined without an answer or without the whole body of a 201. */
  readonly post: (key: string | readonly string[] | null, change?: Change) => Promise<number | undefined>;
  /** Like `post`, but with the store's own API key, as if the program reads it from a file. */
  readonly postAsStore: (key: string, change?: Change) => Promise<number | undefined>;
  /** Waits for some milliseconds. */
  readonly pause: (milliseconds: number) => Promise<void>;
  /** Runs an action later, even after the client has ended. */
  readonly later: (milliseconds: number, act: () => void) => void;
  /** The client's notes, shared by all its runs. */
  readonly disk: Map<string, string>;
  /** Different in each run. */
  readonly pid: number;
  /** Milliseconds; different in each run. */
  readonly startedAt: number;
  /** A new random text each time. */
  readonly random: () => string;
};

/**
 * A merchant's program that creates the order of a purchase; returns its exit code, or "timeout" if it does not end.
 */
export type Client = (purchase: Purchase) => Promise<number | "timeout">;

type NamedClient = { readonly name: string; readonly client: Client };

const ORDER = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
const MAX_ATTEMPTS = 4;

/**
 * Repeats an attempt, at most MAX_ATTEMPTS times, until its answer is not 429 or 5xx; exit code 0 if an order was
 * created.
 */
async function retrying(
  { pause }: Pick<Purchase, "pause">,
  attempt: (number: number) => Promise<number | undefined>,
): Promise<number> {
  for (let number = 1; number <= MAX_ATTEMPTS; number += 1) {
    const status = await attempt(number);
    if (status === 429) await pause(1000);
    else if (status !== undefined && status < 500) return status === 201 ? 0 : 1;
  }
  return 1;
}

/** A client that makes a key once in each run. */
function keyedBy(keyOf: (purchase: Purchase) => string): Client {
  return (purchase) => {
    const key = keyOf(purchase);
    return retrying(purchase, () => purchase.post(key));
  };
}

/** Returns the stored value of a name. If a name has no value, stores this value and returns it. */
function stored(disk: Map<string, string>, name: string, value: string): string {
  disk.set(name, disk.get(name) ?? value);
  return disk.get(name) ?? value;
}

/** Keeps a random key for each order, until this many milliseconds after the start of the run that used it last. */
function keptFor(milliseconds: number): Client {
  return (purchase) => {
    const { disk, orderId, random, post, startedAt } = purchase;
    const [kept, at] = disk.get(orderId)?.split(" ") ?? [];
    const key = kept !== undefined && startedAt - Number(at) < milliseconds ? kept : random();
    disk.set(orderId, `${key} ${startedAt}`);
    return retrying(purchase, () => post(key));
  };
}

/** Keeps a random key for each order. */
export const rightClient = keyedBy(({ disk, orderId, random }) => stored(disk, orderId, random()));

/** Derives each key from its order, with the maximum length of a key. */
export const longKeysClient = keyedBy(({ orderId }) => `purchase-of-${orderId}-`.padEnd(128, "x"));

/** Clients that repeat a create with its key, by different means. */
export const GOOD_CLIENTS: readonly NamedClient[] = [
  { name: "a random key, stored for each order", client: rightClient },
  { name: "the order id is the key", client: keyedBy(({ orderId }) => `order:${orderId}`) },
  {
    name: "a key and the body, stored together",
    client: ({ disk, orderId, random, post, pause }) => {
      const key = stored(disk, orderId, random());
      const description = stored(disk, `${orderId} text`, `bought as ${random()}`);
      return retrying({ pause }, () => post(key, { description }));
    },
  },
  {
    name: "the key is a count of all purchases, stored",
    client: keyedBy(({ disk, orderId }) => stored(disk, orderId, `purchase-${disk.size + 1000}`)),
  },
  {
    name: "sends everything a hundred times more, to be very sure",
    client: async ({ orderId, post, pause }) => {
      const key = `order:${orderId}`;
      let exitCode = await retrying({ pause }, () => post(key));
      for (let again = 0; again < 100; again += 1) if ((await post(key)) === 201) exitCode = 0;
      return exitCode;
    },
  },
  {
    name: "sends everything once more, to be sure",
    client: async ({ orderId, post, pause }) => {
      const key = `order:${orderId}`;
      const first = await retrying({ pause }, () => post(key));
      return first === 0 ? retrying({ pause }, () => post(key)) : first;
    },
  },
  {
    name: "buys a price of the catalog, with a description",
    client: ({ orderId, post, pause }) => {
      const description = "another body under the same key";
      const terms = { amount_minor: undefined, currency: undefined, payment_method: undefined };
      return retrying({ pause }, () =>
        post(`order:${orderId}`, { ...terms, price_id: "price_coffee", description }),
      );
    },
  },
  {
    name: "gives up with exit code 1, and is run again",
    client: async ({ post, orderId }) => Number((await post(`order:${orderId}`)) !== 201),
  },
  {
    name: "gives up with its key stored, and is run again",
    client: async ({ post, orderId, disk, random }) =>
      Number((await post(stored(disk, orderId, random()))) !== 201),
  },
  {
    name: "sends again after a lost connection alone, and leaves a 503 to the next run",
    client: async ({ post, orderId }) => {
      const key = `order:${orderId}`;
      let status: number | undefined;
      for (let number = 1; number <= MAX_ATTEMPTS && status === undefined; number += 1)
        status = await post(key);
      return Number(status !== 201);
    },
  },
  { name: "a digest of the order id is the key", client: keyedBy(({ orderId }) => hash("sha256", orderId)) },
  {
    name: "the order id backwards is the key",
    client: keyedBy(({ orderId }) => `key-${Array.from(orderId).toReversed().join("")}`),
  },
  {
    name: "the order id and the amount are the key",
    client: keyedBy(({ orderId }) => `${orderId}:${ORDER.amount_minor}`),
  },
  {
    name: "waits longer each time",
    client: ({ post, orderId, pause }) =>
      retrying({ pause }, async (number) => {
        await pause(100 * 2 ** number);
        return post(`order:${orderId}`);
      }),
  },
  {
    name: "waits longer than it is told",
    client: ({ post, orderId, pause }) =>
      retrying({ pause: (milliseconds) => pause(5 * milliseconds) }, () => post(`order:${orderId}`)),
  },
  {
    name: "comes a little early after a 429, once",
    client: ({ post, orderId, pause }) =>
      retrying({ pause: () => pause(600) }, () => post(`order:${orderId}`)),
  },
  {
    name: "waits a millisecond after a 429",
    client: async ({ post, orderId, pause }) => {
      for (let number = 0; number < 30; number += 1) {
        if ((await post(`order:${orderId}`)) === 201) return 0;
        await pause(1);
      }
      return 1;
    },
  },
  {
    name: "does not wait after a 429",
    client: async ({ post, orderId }) => {
      for (let number = 0; number < 30; number += 1) {
        const status = await post(`order:${orderId}`);
        if (status === 201) return 0;
      }
      return 1;
    },
  },
  {
    name: "does not wait after a 429, and ends with 1 at its fifth attempt",
    client: async ({ post, orderId }) => {
      for (let number = 0; number < 5; number += 1) {
        const status = await post(`order:${orderId}`);
        if (status === 201) return 0;
      }
      return 1;
    },
  },
  {
    name: "the key contains a comma",
    client: keyedBy(({ orderId }) => `order:${orderId}, and its shop`),
  },
];

/** Broken clients, which fail the idempotency drill as described in `broken.table.ts`. */
export const BROKEN_CLIENTS: readonly NamedClient[] = [
  { name: "one key for all purchases", client: keyedBy(() => "the-key-of-our-shop") },
  {
    name: "the beginning of the order id is the key",
    client: keyedBy(({ orderId }) => `order:${orderId.slice(0, 4)}`),
  },
  {
    name: "the price is the key",
    client: keyedBy(() => `order-of-${ORDER.amount_minor}-${ORDER.currency}`),
  },
  {
    name: "one stored key for all purchases",
    client: keyedBy(({ disk, random }) => stored(disk, "key", random())),
  },
  { name: "a count in memory is the key", client: keyedBy(() => "purchase-1") },
  {
    name: "the time is the key",
    client: keyedBy(({ startedAt }) => `at-${startedAt}`),
  },
  {
    name: "the order id and the time are the key",
    client: keyedBy(({ orderId, startedAt }) => `${orderId}-${startedAt}`),
  },
  {
    name: "the time in seconds is the key",
    client: keyedBy(({ startedAt }) => `order-at-${Math.floor(startedAt / 1000)}`),
  },
  {
    name: "the order id and the time in seconds are the key",
    client: keyedBy(({ orderId, startedAt }) => `${orderId}-${Math.floor(startedAt / 1000)}`),
  },
  {
    name: "the process id is the key",
    client: keyedBy(({ pid }) => `process-${pid}`),
  },
  { name: "a random key in memory", client: keyedBy(({ random }) => random()) },
  {
    name: "stores its key when there is an answer",
    client: async ({ disk, orderId, random, post, pause }) => {
      const key = disk.get(orderId) ?? random();
      const code = await retrying({ pause }, () => post(key));
      disk.set(orderId, key);
      return code;
    },
  },
  {
    name: "thinks that what it has begun is done",
    client: ({ disk, orderId, random, post, pause }) => {
      if (disk.has(orderId)) return Promise.resolve(0);
      const key = stored(disk, orderId, random());
      return retrying({ pause }, () => post(key));
    },
  },
  {
    name: "buys again when it is started again",
    client: ({ disk, orderId, random, post, pause }) => {
      const isAgain = disk.has(orderId);
      disk.set(orderId, "begun");
      const key = random();
      return retrying({ pause }, () => post(key, isAgain ? { order_id: `${orderId}-again` } : {}));
    },
  },
  {
    name: "buys something else when it is started again",
    client: ({ post, random, pause }) => {
      const key = random();
      return retrying({ pause }, () => post(key, { order_id: key.slice(0, 8) }));
    },
  },
  {
    name: "makes one purchase in its life",
    client: async ({ disk, orderId, post, pause }) => {
      if (disk.has("done")) return 0;
      const code = await retrying({ pause }, () => post(`order:${orderId}`));
      disk.set("done", orderId);
      return code;
    },
  },
  {
    name: "a new key per attempt",
    client: ({ post, random, pause }) => retrying({ pause }, () => post(random())),
  },
  {
    name: "no key",
    client: ({ post, pause }) => retrying({ pause }, () => post(null)),
  },
  {
    name: "no key from the second attempt on",
    client: ({ post, random, pause }) =>
      retrying({ pause }, (number) => post(number === 1 ? random() : null)),
  },
  {
    name: "the attempt number in the key",
    client: ({ post, orderId, pause }) => retrying({ pause }, (number) => post(`order:${orderId}:${number}`)),
  },
  {
    name: "the attempt number in the body",
    client: ({ post, orderId, pause }) =>
      retrying({ pause }, (number) => post(`order:${orderId}`, { description: `try ${number}` })),
  },
  {
    name: "another price for each attempt",
    client: ({ post, orderId, pause }) =>
      retrying({ pause }, (number) => post(`order:${orderId}`, { amount_minor: 2000 + number })),
  },
  {
    name: "gives up, and reports success",
    client: async ({ post, orderId }) => {
      await post(`order:${orderId}`);
      return 0;
    },
  },
  {
    name: "another purchase for each attempt",
    client: ({ post, orderId, random, pause }) =>
      retrying({ pause }, (number) => post(random(), { order_id: `${orderId}-${number}` })),
  },
  {
    name: "buys twice",
    client: async ({ post, orderId, pause }) => {
      await retrying({ pause }, () => post(`order:${orderId}`));
      return retrying({ pause }, () => post(`order:${orderId}:2`, { order_id: `${orderId}-2` }));
    },
  },
  {
    name: "buys twice, the second time after a hundred attempts",
    client: async ({ post, orderId, pause }) => {
      const first = await retrying({ pause }, () => post(`order:${orderId}`));
      for (let again = 0; again < 100; again += 1) await post(`order:${orderId}`);
      await post(`order:${orderId}:2`, { order_id: `another-${orderId}` });
      return first;
    },
  },
  {
    name: "buys twice, the second time with another API key of the store",
    client: async ({ post, postAsStore, orderId, pause }) => {
      const first = await retrying({ pause }, () => post(`order:${orderId}`));
      await postAsStore(`order:${orderId}:2`, { order_id: `${orderId}-2` });
      return first;
    },
  },
  {
    name: "reports a failure instead of trying again",
    client: async ({ post, orderId, pause }) => {
      let tries = 0;
      const code = await retrying({ pause }, (number) => {
        tries = number;
        return post(`order:${orderId}`);
      });
      return tries > 1 ? 3 : code;
    },
  },
  ...(
    [
      ["the last four characters of the order id are the key", (id: string) => `order-${id.slice(-4)}`],
      [
        "the sum of the digits is the key",
        (id: string) => `order-sum-${Array.from(id).reduce((sum, one) => sum + (Number(one) || 0), 0)}`,
      ],
      [
        "the sorted characters of the order id are the key",
        (id: string) => Array.from(id).toSorted().join(""),
      ],
      ["the letters of the order id are the key", (id: string) => `key-of-${id.replaceAll(/\d/g, "")}`],
      ["the length of the order id is the key", (id: string) => `order-of-${id.length}-characters`],
      ["the order id without its last digit is the key", (id: string) => `key-${id.slice(0, -1)}`],
      ["the order id in lower case is the key", (id: string) => `key-${id.toLowerCase()}`],
      ["the number in the order id is the key", (id: string) => `key-no-${Number(id.replaceAll(/\D/g, ""))}`],
    ] as const
  ).map(([name, keyOf]): NamedClient => ({
    name,
    client: keyedBy(({ orderId }) => keyOf(orderId)),
  })),
  {
    name: "deletes its key after five lost answers",
    client: async ({ disk, orderId, random, post }) => {
      const key = stored(disk, orderId, random());
      for (let number = 1; number <= 5; number += 1) {
        const status = await post(key);
        if (status !== undefined) return Number(status !== 201);
      }
      disk.delete(orderId);
      return 1;
    },
  },
  {
    name: "deletes its key when it fails",
    client: async ({ disk, orderId, random, post }) => {
      const status = await post(stored(disk, orderId, random()));
      if (status !== 201) disk.delete(orderId);
      return Number(status !== 201);
    },
  },
  {
    name: "the order id without zeros is the key",
    client: keyedBy(({ orderId }) => `key-${orderId.replaceAll("0", "")}`),
  },
  {
    name: "the order id without its signs and in capitals is the key",
    client: keyedBy(({ orderId }) => `key-${orderId.replaceAll(/\W/g, "").toUpperCase()}`),
  },
  {
    name: "one of four keys",
    client: keyedBy(({ orderId }) => {
      const sum = Array.from(orderId).reduce((all, one) => (all * 31 + Number(one.codePointAt(0))) % 4, 0);
      return `bucket-${sum}-of-four`;
    }),
  },
  {
    name: "the process in the description",
    client: (purchase) =>
      retrying(purchase, () =>
        purchase.post(`order:${purchase.orderId}`, { description: `by ${purchase.pid}` }),
      ),
  },
  {
    name: "an order and a session with one key",
    client: async (purchase) => {
      const key = `order:${purchase.orderId}`;
      const code = await retrying(purchase, () => purchase.post(key));
      await purchase.post(key, { path: "/v1/checkout-sessions" });
      return code;
    },
  },
  {
    name: "goes over to sessions after a 429",
    client: (purchase) => {
      let change = {};
      return retrying(purchase, async () => {
        const status = await purchase.post(`order:${purchase.orderId}`, change);
        if (status === 429) change = { path: "/v1/checkout-sessions" };
        return status;
      });
    },
  },
  {
    name: "a new key per attempt, and takes a 409 for success",
    client: (purchase) =>
      retrying(purchase, async () => {
        const status = await purchase.post(purchase.random());
        return status === 409 ? 201 : status;
      }),
  },
  {
    name: "keeps its key for two seconds",
    client: keptFor(2000),
  },
  {
    name: "takes a 429 for an answer",
    client: (purchase) =>
      retrying(purchase, async () => {
        const status = await purchase.post(`order:${purchase.orderId}`);
        return status === 429 ? 201 : status;
      }),
  },
  {
    name: "a new key after a 503",
    client: ({ post, orderId, pause, random }) => {
      let key = `order:${orderId}`;
      return retrying({ pause }, async () => {
        const status = await post(key);
        if (status === 503) key = random();
        return status;
      });
    },
  },
  {
    name: "a new key after a 429",
    client: ({ post, orderId, pause, random }) => {
      let key = `order:${orderId}`;
      return retrying({ pause }, async () => {
        const status = await post(key);
        if (status === 429) key = random();
        return status;
      });
    },
  },
  {
    name: "a new key after silence",
    client: ({ post, orderId, pause, random }) => {
      let key = `order:${orderId}`;
      let lost = 0;
      return retrying({ pause }, async () => {
        const status = await post(key);
        if (status === undefined) lost += 1;
        if (lost === 2) key = random();
        return status;
      });
    },
  },
  {
    name: "takes a 503 for a refusal, and reports success",
    client: ({ post, orderId, pause }) =>
      retrying({ pause }, async () => {
        const status = await post(`order:${orderId}`);
        return status === 503 ? 201 : status;
      }),
  },
  {
    name: "gives up with a key in memory, and is run again",
    client: async ({ post, random }) => Number((await post(random())) !== 201),
  },
  {
    name: "sends again once, and reports success whatever came of it",
    client: async ({ post, orderId }) => {
      const key = `order:${orderId}`;
      if ((await post(key)) !== 201) await post(key);
      return 0;
    },
  },
  {
    name: "creates once more with a new key when the order is made",
    client: async ({ post, orderId, pause, random }) => {
      const code = await retrying({ pause }, () => post(`order:${orderId}`));
      await post(random());
      return code;
    },
  },
  {
    name: "makes a session too, with a key of its own",
    client: async ({ post, orderId, pause }) => {
      const code = await retrying({ pause }, () => post(`order:${orderId}`));
      await post(`session:${orderId}`, { path: "/v1/checkout-sessions" });
      return code;
    },
  },
  {
    name: "sends the retry to the sessions",
    client: ({ post, orderId, pause }) =>
      retrying({ pause }, (number) =>
        post(`order:${orderId}`, number === 1 ? {} : { path: "/v1/checkout-sessions" }),
      ),
  },
  {
    name: "the amount as a text in the retry",
    client: ({ post, orderId, pause }) =>
      retrying({ pause }, (number) => post(`order:${orderId}`, number === 1 ? {} : { amount_minor: "1999" })),
  },
  {
    name: "the time in the description",
    client: ({ post, orderId, pause, random }) =>
      retrying({ pause }, () => post(`order:${orderId}`, { description: `bought at ${random()}` })),
  },
  {
    name: "two keys in two headers",
    client: ({ post, orderId, pause, random }) =>
      retrying({ pause }, () => post([`order:${orderId}`, random()])),
  },
  {
    name: "a key of seven characters",
    client: ({ post, orderId, pause }) => retrying({ pause }, () => post(orderId.slice(-7))),
  },
  {
    name: "waits for an answer for ever",
    client: async ({ orderId, post, pause }) => {
      const status = await post(`order:${orderId}`);
      if (status === 429) await pause(1000);
      return status === 201 ? 0 : "timeout";
    },
  },
  {
    name: "hangs in its second purchase",
    client: (purchase) => {
      const { disk, orderId, post } = purchase;
      if (stored(disk, "the first", orderId) !== orderId) return Promise.resolve("timeout");
      return retrying(purchase, () => post(`order:${orderId}`));
    },
  },
  {
    name: "does not end when its order is made",
    client: async ({ post, orderId, pause }) => {
      await retrying({ pause }, () => post(`order:${orderId}`));
      return "timeout";
    },
  },
  {
    name: "exit code 0 after five attempts without an answer",
    client: async ({ orderId, post, pause }) => {
      for (let number = 0; number < 5; number += 1) {
        const status = await post(`order:${orderId}`);
        if (status === 429) await pause(1000);
        if (status === 201) return 0;
      }
      return 0;
    },
  },
];

/** Broken clients whose fault no drill can detect in its time; the reasons are in `broken.table.ts`. */
export const UNSEEN_CLIENTS: readonly NamedClient[] = [
  {
    name: "the order id and the day are the key",
    client: keyedBy(({ orderId, startedAt }) => `${orderId}-${Math.floor(startedAt / 86_400_000)}`),
  },
  {
    name: "the order id and the hour are the key",
    client: keyedBy(({ orderId, startedAt }) => `${orderId}-${Math.floor(startedAt / 3_600_000)}`),
  },
  {
    name: "one of a million keys",
    client: keyedBy(({ orderId }) => `bucket-${crc32(orderId) % 1_000_000}-of-a-million`),
  },
  {
    name: "keeps its key for a minute",
    client: keptFor(60_000),
  },
];

/** The parts of a client, each right or wrong. */
export type Parts = {
  /** The client's key for a purchase. */
  readonly keyOf: (purchase: Purchase) => string;
  /** The key after an answer without success. */
  readonly after: (key: string, purchase: Purchase, status: number | undefined) => string;
  /** The number of attempts before the client gives up. */
  readonly tries: number;
  /** The client's wait for a Retry-After of one second, in milliseconds. */
  readonly waits: number;
  /** The client's action after its order was created. */
  readonly afterwards: (purchase: Purchase) => Promise<unknown>;
  /** The client's exit code. */
  readonly ends: (made: boolean) => number;
};

type Part<Value> = readonly [name: string, part: Value];

/** Parts of correct clients; any combination of them makes a correct client. */
export const RIGHT_PARTS: { readonly [Name in keyof Parts]: readonly Part<Parts[Name]>[] } = {
  keyOf: [
    ["the order id", ({ orderId }) => `order:${orderId}`],
    ["a digest", ({ orderId }) => hash("sha256", orderId)],
    ["stored", ({ disk, orderId, random }) => stored(disk, orderId, random())],
  ],
  after: [["the same", (key) => key]],
  tries: [
    ["once", 1],
    ["twice", 2],
    ["five times", 5],
  ],
  waits: [
    ["as told", 1000],
    ["longer", 4000],
  ],
  afterwards: [
    ["nothing", () => Promise.resolve()],
    ["the same once more", ({ orderId, post, disk }) => post(disk.get("last key") ?? `order:${orderId}`)],
  ],
  ends: [["0 where it is made", (made) => Number(!made)]],
};

/** Wrong parts, by the mistake; each of them makes any client with two attempts wrong. */
export const WRONG_PARTS: { readonly [Name in keyof Parts]: readonly Part<Parts[Name]>[] } = {
  keyOf: [
    ["random in memory", ({ random }) => random()],
    ["the process", ({ pid }) => `process-${pid}`],
    ["the last four", ({ orderId }) => `order-${orderId.slice(-4)}`],
    ["lower case", ({ orderId }) => `order-${orderId.toLowerCase()}`],
    ["the number", ({ orderId }) => `order-no-${Number(orderId.replaceAll(/\D/g, ""))}`],
    ["without its end", ({ orderId }) => `order-${orderId.slice(0, -1)}`],
    ["one for all", () => "the-key-of-our-shop"],
  ],
  after: [["a new one", (_key, { random }) => random()]],
  tries: [],
  // A client that sends once per run never retries too early.
  waits: [],
  afterwards: [["a second create", ({ post, random }) => post(random())]],
  // With a third attempt, a client would get the answer, and exit code 0 would be correct.
  ends: [["always 0", () => 0]],
};

export function clientOf(parts: Parts): Client {
  return async (purchase) => {
    let key = parts.keyOf(purchase);
    let status: number | undefined;
    for (let number = 0; number < parts.tries && status !== 201; number += 1) {
      status = await purchase.post(key);
      if (status === 429) await purchase.pause(parts.waits);
      if (status !== 201) key = parts.after(key, purchase, status);
    }
    purchase.disk.set("last key", key);
    if (status === 201) await parts.afterwards(purchase);
    return parts.ends(status === 201);
  };
}

/** Runs a client in place of a command line. A kill of the command stops the client, and keeps its disk. */
export function installClient(
  harness: Pick<Harness, "setShell" | "programOn" | "clock" | "cwd">,
  client: Client,
  disk = new Map<string, string>(),
): void {
  let runs = 0;
  harness.setShell(async ({ env, signal }): Promise<ShellResult> => {
    runs += 1;
    const killed = new Promise<void>((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener("abort", () => resolve());
    });
    const postNow = async ({
      env: asked,
      ...wanted
    }: {
      env: Env;
      key: string | readonly string[] | null;
      change: Change;
    }) => {
      const status = await postOrder(harness, asked, wanted);
      // A killed program does nothing more.
      return signal?.aborted === true ? NEVER : status;
    };
    const ended = client({
      orderId: env["CHECKOUT_ORDER_ID"] ?? "",
      post: (key, change = {}) => postNow({ key, change, env }),
      postAsStore: (key, change = {}) =>
        postNow({ key, change, env: { ...env, CHECKOUT_API_KEY: storeKey(harness.cwd) } }),
      pause: (milliseconds) => harness.clock.sleep(milliseconds),
      later: harness.clock.after,
      disk,
      pid: FIRST_PID + runs,
      startedAt: harness.clock.now() + runs,
      random: randomUUID,
    });
    const code = await Promise.race([ended, killed]);
    return code === undefined
      ? { ending: "aborted", exitCode: null, stdout: "", stderr: "" }
      : code === "timeout"
        ? { ending: "timeout", exitCode: null, stdout: "", stderr: "" }
        : { ending: "exited", exitCode: code, stdout: "", stderr: "" };
  });
}

function storeKey(folder: string): string {
  const text = readFileSync(join(folder, ".checkout/credentials.json"), "utf8");
  return Object.values(parseCredentials(text)?.stores ?? {})[0]?.api_key ?? "";
}

const FIRST_PID = 5000;
const NEVER = new Promise<never>(() => undefined);

/** Differences from the request of a correct client: fields of the body, and the path. */
type Change = Readonly<Record<string, unknown>> & { readonly path?: string };

type Env = Parameters<World["run"]>[0]["env"];

async function postOrder(
  { programOn }: Pick<Harness, "programOn">,
  env: Env,
  {
    key,
    change: { path, ...change },
  }: { readonly key: string | readonly string[] | null; readonly change: Change },
): Promise<number | undefined> {
  const url = new URL(`${env["CHECKOUT_BASE_URL"]}/orders`);
  const headers = {
    Host: url.host,
    Authorization: `Bearer ${env["CHECKOUT_API_KEY"]}`,
    "Content-Type": "application/json",
  };
  const keys = key === null ? [] : [key].flat();
  const request: HttpRequest = {
    method: "POST",
    target: path ?? url.pathname,
    rawHeaders: [...Object.entries(headers).flat(), ...keys.flatMap((one) => ["Idempotency-Key", one])],
    body: Buffer.from(JSON.stringify({ order_id: env["CHECKOUT_ORDER_ID"], ...ORDER, ...change })),
  };
  const answer = await programOn(Number(url.port))?.answer(request);
  if (answer === undefined || answer.isDropped === true) return undefined;
  // A client knows a created order only by its answer.
  return answer.status === 201 && !(await isWhole(answer)) ? undefined : answer.status;
}

/** Whether the body of an answer is complete, and is JSON. */
async function isWhole({ body }: HttpResponse): Promise<boolean> {
  try {
    const parts: Uint8Array[] = [];
    if (typeof body === "string" || body instanceof Uint8Array) parts.push(Buffer.from(body));
    else for await (const part of body) parts.push(part);
    return JSON.parse(Buffer.concat(parts).toString("utf8")) !== null;
  } catch {
    // The body was cut off, or is empty.
    return false;
  }
}
