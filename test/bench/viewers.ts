import { Agent } from "node:http";
import { gzipSync } from "node:zlib";
import { median, medianRatio, type Figure } from "./figures.ts";
import { measureIdle, processorTicks } from "./idle.ts";
import { openFilled } from "./lists.ts";
import { addDeliveries, sender, signIn } from "./portal.ts";
import type { Bench, Sandbox } from "./processes.ts";

const CHECKOUTS = 100_000;
const MAX_PAGE_MS = 20;
/** Maximum size of a page as a proxy would compress it, without the files that all pages share. */
const MAX_PAGE_KB = 30;
const LOADS = 150;
/** Maximum number of measured pages; of pages with the same shape, such as two checkouts, only one is measured. */
const MAX_SHAPES = 60;

/** The number of viewers of each page while the store is under load; some viewers share a browser profile. */
const VIEWERS = { checkouts: 12, requests: 12, checkout: 10, webhooks: 8, store: 8 };
const PAGES_OF_BROWSER = 4;
/** Interval at which an open page asks whether it has changed. */
const ASKS_EVERY_MS = 1000;
/** In sum longer than the five seconds after which an open page of a busy store is loaded again. */
const ROUND = { connections: 32, warmMs: 2000, measureMs: 5000 };
const ROUNDS = 6;
const MIN_RATIO = 0.95;

/** Creates per second, and the sandbox's processor time for each create. */
type Round = { readonly perSecond: number; readonly msEach: number };

type Viewer = {
  /** Sends no more requests, and waits for the requests in flight. */
  readonly end: () => Promise<void>;
  readonly loads: () => number;
};

/** The cost of open pages of the portal: while nothing changes, and for a create. */
export async function measureViewers(bench: Bench, rounds = ROUNDS): Promise<Figure[]> {
  const sandbox = await bench.startSandbox(bench.newPath("portal"));
  const idle = [await measureIdlePortal(sandbox, 1), await measureIdlePortal(sandbox, 8)];
  return [...idle.flat(), ...(await measureCreates(bench, sandbox, rounds))];
}

/** The times and sizes of portal pages in a store with 100,000 checkouts. */
export async function measurePages(bench: Bench): Promise<Figure[]> {
  const { sandbox } = await openFilled(bench, CHECKOUTS, addDeliveries);
  await createOne(sandbox);
  const browser = await openBrowser(sandbox);
  const figures: Figure[] = [];
  for (const [shape, address] of await shapesOf(browser)) {
    const times: number[] = [];
    let size = 0;
    for (let count = 0; count < LOADS; count += 1) {
      const began = performance.now();
      const { text } = await browser.get(address);
      // The first rounds warm the program up.
      if (count >= LOADS / 10) times.push(performance.now() - began);
      else if (size === 0) size = gzipSync(text).length / 1024;
    }
    const sorted = times.toSorted((left, right) => left - right);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
    figures.push({ name: `${shape} p99`, value: p99, unit: "ms", target: { atMost: MAX_PAGE_MS } });
    figures.push({
      name: `${shape} compressed`,
      value: size,
      unit: "KB",
      target: { atMost: MAX_PAGE_KB },
    });
  }
  await sandbox.stop();
  return figures;
}

/** Addresses of pages to which the portal links, one for each shape, which is the address without its ids. */
async function shapesOf(browser: Browser): Promise<ReadonlyMap<string, string>> {
  const shapes = new Map<string, string>();
  const left = [`${browser.home}/connect`, `${browser.home}/overview`];
  for (let address = left.shift(); address !== undefined; address = left.shift()) {
    const shape = shapeOf(address);
    if (shapes.has(shape) || shapes.size >= MAX_SHAPES) continue;
    const { status, type, text } = await browser.get(address);
    if (status !== 200 || !type.startsWith("text/html")) continue;
    shapes.set(shape, address);
    const links = [...text.matchAll(/href="(\/portal\/[^"#]+)/g)].map(([, link = ""]) => link);
    left.push(...links.map((link) => link.replaceAll("&amp;", "&")));
  }
  return shapes;
}

function shapeOf(address: string): string {
  const [path = "", query = ""] = address.split("?");
  const names = [...new URLSearchParams(query).keys()].toSorted();
  const bare = path
    .replace(/^\/portal\/k-[^/]+\/[0-9a-f-]{36}/, "")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}");
  return names.length === 0 ? bare : `${bare}?${names.join("&")}`;
}

/** Creates with all viewers, compared with creates without viewers, in alternate rounds. */
async function measureCreates(bench: Bench, sandbox: Sandbox, count: number): Promise<Figure[]> {
  const load = bench.startLoad();
  const create = { kind: "create", apiKey: sandbox.apiKey } as const;
  const { ids } = await load({ ...ROUND, port: sandbox.port, traffic: create });
  const results: { readonly watched: Round[]; readonly alone: Round[] } = {
    watched: [],
    alone: [],
  };
  let loads = 0;
  const measure = async (isWatched: boolean): Promise<void> => {
    const viewers = isWatched ? await openViewers(sandbox, ids) : [];
    const before = usedTicks(sandbox);
    const { perSecond } = await load({ ...ROUND, port: sandbox.port, traffic: create });
    const created = (perSecond * (ROUND.warmMs + ROUND.measureMs)) / 1000;
    const result = { perSecond, msEach: ((usedTicks(sandbox) - before) * 10) / created };
    for (const { end } of viewers) await end();
    loads += viewers.reduce((sum, viewer) => sum + viewer.loads(), 0);
    results[isWatched ? "watched" : "alone"].push(result);
  };
  for (let round = 0; round < count; round += 1) {
    await measure(round % 2 === 0);
    await measure(round % 2 !== 0);
  }
  const { watched, alone } = results;
  const compared = (name: string, part: keyof Round, rest: Pick<Figure, "unit" | "target">): Figure => {
    const [with50, without] = [watched, alone].map((rounds) => rounds.map((round) => round[part]));
    if (with50 === undefined || without === undefined) throw new Error("two are measured");
    const baseline = `${median(without).toFixed(3)} alone`;
    return { name, value: median(with50), baseline, ratio: medianRatio(with50, without), ...rest };
  };
  return [
    compared("create with 50 viewers", "perSecond", { unit: "/s", target: { atLeast: MIN_RATIO } }),
    // On a busy machine the processor time is more reliable than the rate.
    compared("processor time of a create with 50 viewers", "msEach", { unit: "ms" }),
    { name: "pages that were shown again to viewers meanwhile", value: loads / count, unit: "x" },
  ];
}

function usedTicks({ pid }: Sandbox): number {
  return process.platform === "linux" ? processorTicks(pid) : Number.NaN;
}

/** The pages of viewers, except a checkout's page; the address of a list contains the newest position seen. */
const FIXED_PAGES: Readonly<Record<string, string | undefined>> = {
  store: "/connect",
  webhooks: "/webhooks",
  checkouts: "/checkouts?seen=0",
  requests: "/requests?seen=0",
};

async function openViewers(sandbox: Sandbox, ids: readonly string[]): Promise<Viewer[]> {
  const topics = Object.entries(VIEWERS).flatMap(([kind, count]) =>
    Array.from({ length: count }, (_one, index) => ({ kind, id: ids[index] ?? "" })),
  );
  const viewers: Viewer[] = [];
  for (let at = 0; at < topics.length; at += PAGES_OF_BROWSER) {
    const browser = await openBrowser(sandbox);
    for (const { kind, id } of topics.slice(at, at + PAGES_OF_BROWSER))
      viewers.push(await browser.follow(FIXED_PAGES[kind] ?? `/checkouts/${id}`));
  }
  return viewers;
}

/** The cost of open pages while nothing changes, after a page of each shape was loaded. */
async function measureIdlePortal(sandbox: Sandbox, count: number): Promise<Figure[]> {
  const viewers: Viewer[] = [];
  const browser = await openBrowser(sandbox);
  for (const [, address] of await shapesOf(browser)) await browser.get(address);
  while (viewers.length < count) viewers.push(await browser.follow("/connect"));
  const figures = await measureIdle(sandbox, `${count} ${count === 1 ? "page" : "pages"} of the portal open`);
  for (const { end } of viewers) await end();
  return figures;
}

type Page = { readonly status: number; readonly type: string; readonly text: string };
type Browser = {
  readonly home: string;
  readonly get: (address: string, tag?: string) => Promise<Page>;
  /** Opens a page and asks each second whether it has changed, as the page does in a browser. */
  readonly follow: (page: string) => Promise<Viewer>;
};

/** A browser profile that is signed in to the portal: six connections, kept alive. */
async function openBrowser(sandbox: Sandbox): Promise<Browser> {
  const { port, storeId } = sandbox;
  const agent = new Agent({ keepAlive: true, maxSockets: 6 });
  const send = sender(sandbox, agent);
  const { cookie, portal } = await signIn(sandbox, send);
  const headers = { host: `localhost:${port}`, cookie, "accept-language": "en" };
  const home = `${portal}/${storeId}`;
  const get: Browser["get"] = async (address, tag) => {
    const own = tag === undefined ? headers : { ...headers, "if-none-match": tag };
    const { statusCode: status = 0, headers: got, text } = await send(address, { headers: own });
    return { status, type: got["content-type"] ?? "", text };
  };
  return {
    home,
    get,
    follow: async (page) => {
      let tag = tagIn(await get(home + page));
      let loads = 0;
      const ask = async (): Promise<void> => {
        const answer = await get(home + page, tag);
        if (answer.status === 304) return;
        tag = tagIn(answer);
        loads += 1;
      };
      const asked = new Set<Promise<void>>();
      const timer = setInterval(() => {
        const asking = ask();
        asked.add(asking);
        void asking.finally(() => asked.delete(asking));
      }, ASKS_EVERY_MS);
      const end = async (): Promise<void> => {
        clearInterval(timer);
        await Promise.all(asked);
      };
      return { end, loads: () => loads };
    },
  };
}

/** The entity tag with which a page asks whether it has changed. */
function tagIn({ status, text }: Page): string {
  const [, tag] = /hx-headers="\{&quot;If-None-Match&quot;:&quot;(.+?)&quot;\}"/.exec(text) ?? [];
  if (tag === undefined) throw new Error(`a page without a tag was answered ${status}`);
  return tag.replaceAll("\\&quot;", '"');
}

async function createOne({ port, apiKey }: Sandbox): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/orders`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": "portal-bench-order",
    },
    body: JSON.stringify({
      order_id: "portal-1",
      amount_minor: 1999,
      currency: "EUR",
      payment_method: "alipay_plus",
    }),
  });
  if (answer.status !== 201) throw new Error(`the order was answered ${answer.status}`);
}
