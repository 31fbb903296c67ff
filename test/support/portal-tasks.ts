import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { english, type Words } from "../../src/core/language.ts";
import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import { PAYMENT_TEXTS } from "../../src/sandbox/pages/payment/texts.ts";
import { CHECKOUTS_TEXTS } from "../../src/sandbox/pages/portal/checkout/texts.ts";
import { LAUNCH_TEXTS } from "../../src/sandbox/pages/portal/readiness/texts.ts";
import {
  CATALOG_TEXTS,
  CLOCK_TEXTS,
  CONNECT_TEXTS,
  FAULTS_TEXTS,
  KEYS_TEXTS,
  NOTICE_TEXTS,
  STORES_TEXTS,
} from "../../src/sandbox/pages/portal/store/texts.ts";
import { COMMON_TEXTS, FRAME_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { WEBHOOK_TEXTS } from "../../src/sandbox/pages/portal/webhook/texts.ts";
import { deliveryCause } from "./delivery-causes.ts";
import { inOrder } from "./in-order.ts";
import type { Hand } from "./portal-hand.ts";

/** The store of a task, with actions of its merchant's programs. */
type TaskStore = {
  /** Creates an order with v1 from these fields and defaults; the order may be refused. */
  readonly order: (order: Readonly<Record<string, unknown>>, key?: string) => Promise<void>;
  /** Adds an endpoint with one of the receivers. */
  readonly endpoint: (path: keyof typeof RECEIVERS) => Promise<void>;
  /** Adds an endpoint that accepts everything, and records the findings of a webhook drill about it. */
  readonly drilled: () => Promise<void>;
  readonly receiver: (path: keyof typeof RECEIVERS) => string;
};

/** Sends a request as the merchant's program does: posts a body with a token, and returns the answer. */
type Ask = (
  path: string,
  sent: { readonly token: string; readonly body: unknown; readonly key?: string },
) => Promise<unknown>;

/** Creates a new store of a sandbox for a task; `receivers` is the origin of its receivers. */
export async function createTaskStore(
  ask: Ask,
  {
    name,
    receivers,
    controlToken,
  }: { readonly name: string; readonly receivers: string; readonly controlToken: string },
): Promise<{ readonly storeId: string; readonly store: TaskStore }> {
  const stores = "/__sandbox/stores";
  const made = (await ask(stores, { token: controlToken, body: { name: name.slice(0, 60) } })) as {
    readonly data: { readonly store_id: string; readonly api_key: string };
  };
  const { store_id: storeId, api_key: token } = made.data;
  let orders = 0;
  const usual = {
    amount_minor: 1999,
    currency: "EUR",
    payment_method: "alipay_plus",
    description: "Two concert tickets",
  };
  const add = async (path: keyof typeof RECEIVERS): Promise<string> => {
    const body = { url: `${receivers}${path}` };
    const added = await ask(`${stores}/${storeId}/endpoints`, { token: controlToken, body });
    return (added as { readonly data: { readonly id: string } }).data.id;
  };
  const store: TaskStore = {
    order: async (order, key) => {
      orders += 1;
      await ask("/v1/orders", { token, body: { ...usual, ...order }, key: key ?? `order-number-${orders}` });
    },
    receiver: (path) => `${receivers}${path}`,
    endpoint: async (path) => void (await add(path)),
    drilled: async () => {
      const id = await add("/takes");
      const cause = englishOf(factOf("takes_all", id));
      const steps = ["bad_signature", "wrong_secret", "changed_byte", "no_signature"].map((step) => ({
        name: step,
        passed: false,
        expected: "4xx",
        got: "204 after 1 ms",
        cause,
        reference: null,
      }));
      const body = { kind: "webhook", subject: `${id} ${receivers}/takes`, steps };
      await ask(`${stores}/${storeId}/drills`, { token: controlToken, body });
    },
  };
  return { storeId, store };
}

/** The receivers of the tasks by path, with the status of each answer. */
export const RECEIVERS = { "/takes": 204, "/fails": 500 } as const;

/** A task in the portal: it begins on the first page of a store, and ends when a text is visible. */
export type PortalTask = {
  readonly name: string;
  /** Maximum number of clicks. */
  readonly maxClicks: number;
  readonly prepare?: (store: TaskStore) => Promise<void>;
  readonly act: (hand: Hand, store: TaskStore) => Promise<void>;
  readonly ends: string | RegExp;
  /** Whether the task changes the browser's stored data, and so needs a separate profile. */
  readonly changesBrowser?: boolean;
};

/** Addresses that no endpoint can have. */
const WRONG_URLS = [
  "localhost:3000/hooks",
  "/hooks",
  "ftp://localhost/hooks",
  "http://",
  "http://localhost:99999/hooks",
  "http://user:word@localhost:3000/hooks",
  "http://localhost:3000/hooks#part",
  "http://0x7f.1/hooks",
] as const;

const refusedOrder = async ({ order }: TaskStore): Promise<void> => {
  await order({ order_id: "order-1001" });
  await order({ order_id: "order-1002", amount_minor: 0 });
};

const failingDelivery = async ({ order, endpoint }: TaskStore): Promise<void> => {
  await endpoint("/fails");
  await order({ order_id: "order-1001" });
};

/** The entries of the menu of a store. */
const MENU = {
  requests: english(FRAME_TEXTS.requests),
  webhooks: english(FRAME_TEXTS.webhooks),
  checkouts: english(FRAME_TEXTS.checkouts),
  clock: english(FRAME_TEXTS.clock),
  launch: english(FRAME_TEXTS.launch),
  catalog: english(FRAME_TEXTS.catalog),
  faults: english(FRAME_TEXTS.faults),
  keys: english(FRAME_TEXTS.keys),
  stores: english(FRAME_TEXTS.stores),
};
const OUTCOMES = CHECKOUTS_TEXTS.outcomes;

const openOrder = ({ order }: TaskStore): Promise<void> => order({ order_id: "order-1001" });

/** Matches a text that consists of these words. */
function whole(words: Words): RegExp {
  return new RegExp(`^${english(words)}$`);
}

/** The tasks for which people open the portal. */
export const PORTAL_TASKS: readonly PortalTask[] = [
  {
    name: "find why an order was refused, by the list",
    maxClicks: 2,
    prepare: refusedOrder,
    act: async (hand) => {
      await hand.menu(MENU.requests);
      await hand.row("order-1002");
    },
    ends: inOrder("amount_minor", / 0$/),
  },
  {
    name: "find why an order was refused, by search",
    maxClicks: 2,
    prepare: refusedOrder,
    act: (hand) => hand.search("order-1002"),
    ends: inOrder("amount_minor", / 0$/),
  },
  {
    name: "find why a delivery fails",
    maxClicks: 2,
    prepare: failingDelivery,
    act: async (hand) => {
      await hand.menu(MENU.webhooks);
      await hand.row("order.created");
    },
    ends: inOrder(deliveryCause("5xx")),
  },
  {
    name: "replay an event",
    maxClicks: 3,
    prepare: failingDelivery,
    act: async (hand) => {
      await hand.menu(MENU.webhooks);
      await hand.row("order.created");
      await hand.click(english(WEBHOOK_TEXTS.replay));
    },
    ends: inOrder(WEBHOOK_TEXTS.notices.done.replayed("{at}"), "500"),
  },
  {
    name: "decline a payment",
    maxClicks: 3,
    prepare: openOrder,
    act: async (hand) => {
      await hand.menu(MENU.checkouts);
      await hand.click("order-1001");
      await hand.click(english(OUTCOMES.declined));
    },
    ends: inOrder(
      CHECKOUTS_TEXTS.done("{at}"),
      COMMON_TEXTS.statuses.pending,
      EXPLAIN_SENTENCES.last.declined(4),
    ),
  },
  {
    name: "let an order expire by the clock",
    maxClicks: 3,
    prepare: openOrder,
    act: async (hand) => {
      await hand.menu(MENU.clock);
      await hand.click("+6h");
      await hand.click(inOrder(CLOCK_TEXTS.became(1), COMMON_TEXTS.statuses.expired));
    },
    ends: english(EXPLAIN_SENTENCES.lastBy.clock),
  },
  {
    name: "compare the two requests of a 409",
    maxClicks: 2,
    prepare: async ({ order }) => {
      await order({ order_id: "order-1001" }, "the-same-key");
      await order({ order_id: "order-1001", amount_minor: 2999 }, "the-same-key");
    },
    act: async (hand) => {
      await hand.menu(MENU.requests);
      await hand.row("409");
      await hand.sees(/^1999$/);
    },
    ends: /^2999$/,
  },
  {
    name: "add an endpoint after eight wrong addresses",
    maxClicks: 11,
    act: async (hand, { receiver }) => {
      await hand.menu(MENU.webhooks);
      for (const url of WRONG_URLS) {
        await hand.type("url", url);
        await hand.isRefused(english(WEBHOOK_TEXTS.add), "url");
      }
      await hand.type("url", receiver("/takes"));
      await hand.click(english(WEBHOOK_TEXTS.add));
    },
    ends: /: 204/,
  },
  {
    name: "read the cause that the webhook drill has shown",
    maxClicks: 2,
    prepare: ({ drilled }) => drilled(),
    act: async (hand) => {
      await hand.menu(MENU.launch);
      await hand.click(inOrder(LAUNCH_TEXTS.steps(0, 4)), "details.result");
    },
    ends: inOrder(LAUNCH_TEXTS.failedSteps(4), englishOf(factOf("takes_all"))),
  },
  {
    name: "pause an endpoint and enable it",
    maxClicks: 4,
    prepare: ({ endpoint }) => endpoint("/takes"),
    act: async (hand) => {
      await hand.menu(MENU.webhooks);
      await hand.click(/\/takes$/);
      await hand.click(english(WEBHOOK_TEXTS.pause));
      await hand.sees(whole(WEBHOOK_TEXTS.endpointStates.paused));
      await hand.click(english(WEBHOOK_TEXTS.enable));
    },
    ends: whole(WEBHOOK_TEXTS.endpointStates.enabled),
  },
  {
    name: "rotate the secret of an endpoint",
    maxClicks: 4,
    prepare: ({ endpoint }) => endpoint("/takes"),
    act: async (hand) => {
      await hand.menu(MENU.webhooks);
      await hand.click(/\/takes$/);
      await hand.click(english(WEBHOOK_TEXTS.rotate));
      await hand.click(english(WEBHOOK_TEXTS.rotateSure));
    },
    ends: english(WEBHOOK_TEXTS.shownOnce),
  },
  {
    name: "add a price that is refused first",
    maxClicks: 6,
    act: async (hand) => {
      await hand.menu(MENU.catalog);
      await hand.type("price_id", "oolong");
      await hand.type("amount_minor", "7.50");
      await hand.type("currency", "EUR");
      await hand.isRefused(english(CATALOG_TEXTS.addNow), "amount_minor");
      await hand.type("amount_minor", "750");
      await hand.click(english(CATALOG_TEXTS.addNow));
    },
    ends: /^oolong$/,
  },
  {
    name: "add a fault by its action and see it hit",
    maxClicks: 5,
    act: async (hand, { order }) => {
      await hand.menu(MENU.faults);
      await hand.click("status", "#add");
      await hand.click(english(FAULTS_TEXTS.addNow));
      await order({ order_id: "order-1001" });
      await hand.menu(MENU.requests);
      await hand.row("order-1001");
    },
    ends: /^POST \/v1\/orders .*\(status\)/,
  },
  {
    name: "make a key and revoke it",
    maxClicks: 4,
    act: async (hand) => {
      await hand.menu(MENU.keys);
      await hand.click(english(KEYS_TEXTS.createNow));
      await hand.sees(english(CONNECT_TEXTS.newKey));
      await hand.click(english(KEYS_TEXTS.revoke), "tbody tr:last-child");
      await hand.click(english(KEYS_TEXTS.revokeNow));
    },
    ends: whole(KEYS_TEXTS.revoked),
  },
  {
    name: "switch the language",
    maxClicks: 1,
    changesBrowser: true,
    act: (hand) => hand.click("中文"),
    ends: CONNECT_TEXTS.steps[1],
  },
  {
    name: "find an order by a part of its description",
    maxClicks: 2,
    prepare: async ({ order }) => {
      await order({ order_id: "order-1001", description: "Two concert tickets" });
      await order({ order_id: "order-1002", description: "Oolong from the high mountain" });
    },
    act: (hand) => hand.search("high mountain"),
    ends: "Oolong from the high mountain",
  },
  {
    name: "pay on the payment page and return",
    maxClicks: 6,
    prepare: openOrder,
    act: async (hand) => {
      await hand.menu(MENU.checkouts);
      await hand.click("order-1001");
      const tab = await hand.openTab(inOrder(CHECKOUTS_TEXTS.openPage));
      await tab.click(inOrder(/^\s*/, PAYMENT_TEXTS.payWith.alipay_plus));
      await tab.click(english(PAYMENT_TEXTS.openWallet));
      await tab.click(inOrder(/^\s*/, PAYMENT_TEXTS.confirm, "€19.99"));
      await tab.sees(english(PAYMENT_TEXTS.result.succeeded));
      await tab.close();
    },
    ends: /order\.succeeded/,
  },
  {
    name: "create a test order from the empty list",
    maxClicks: 2,
    act: async (hand) => {
      await hand.menu(MENU.checkouts);
      await hand.click(english(CHECKOUTS_TEXTS.create), "details.test-order");
    },
    ends: inOrder(COMMON_TEXTS.testOrderMade("{order}")),
  },
  {
    name: "take a snapshot and restore it",
    maxClicks: 6,
    prepare: openOrder,
    act: async (hand, { order }) => {
      await hand.menu(MENU.stores);
      await hand.type("name", "before-the-sale", "form[action$='/snapshots']");
      await hand.click(english(STORES_TEXTS.snapshotStore));
      await hand.sees(english(NOTICE_TEXTS.taken("before-the-sale")));
      await order({ order_id: "order-1002" });
      await hand.click(english(STORES_TEXTS.restore), "#snapshots tr:has-text('before-the-sale')");
      await hand.click(english(STORES_TEXTS.restoreNow));
      await hand.sees(english(NOTICE_TEXTS.restored(1)));
      await hand.menu(MENU.checkouts);
      await hand.misses("order-1002");
    },
    ends: "order-1001",
  },
  {
    name: "skip a drill for a week",
    maxClicks: 4,
    act: async (hand) => {
      await hand.menu(MENU.launch);
      await hand.click(english(LAUNCH_TEXTS.waive), "#drill-duplicates");
      await hand.type("reason", "Our shop books by hand", "#drill-duplicates");
      await hand.click(english(LAUNCH_TEXTS.waiveNow), "#drill-duplicates");
    },
    ends: /Our shop books by hand/,
  },
  {
    name: "sign out everywhere",
    maxClicks: 3,
    changesBrowser: true,
    act: async (hand) => {
      await hand.click(english(FRAME_TEXTS.session));
      await hand.click(english(FRAME_TEXTS.signOutEverywhere));
      await hand.click(english(FRAME_TEXTS.signOutEverywhereSure));
    },
    ends: english(FRAME_TEXTS.signInHint),
  },
];
