import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { gzipSync } from "node:zlib";
import { median, medianRatio, type Figure } from "./figures.ts";
import { measureIdle, ticks } from "./idle.ts";
import { openFilled } from "./lists.ts";
import { addDeliveries, sender, signIn } from "./portal.ts";
import type { Bench, Sandbox } from "./processes.ts";

/** How many checkouts are in the store whose pages are loaded. */
const CHECKOUTS = 100_000;
const MAX_PAGE_MS = 20;
/** Without the files that all pages share, as a proxy would compress it. */
const MAX_PAGE_KB = 30;
const LOADS = 150;
/** Pages that have the same shape are loaded once: one checkout, one request. */
const MAX_SHAPES = 60;

/** Who looks at a store while it is loaded: four streams to a session. */
const VIEWERS = { checkouts: 12, requests: 12, checkout: 10, webhooks: 8, store: 8 };
const STREAMS_OF_SESSION = 4;
/** Long enough for news that do not end to be told at their own pace. */
const ROUND = { connections: 32, warmMs: 2000, measureMs: 2000 };
const ROUNDS = 6;
const MIN_RATIO = 0.97;

const IDLE_STREAMS = 8;

/** Creates in a second, and the processor time of the sandbox for each. */
type Round = { readonly perSecond: number; readonly msEach: number };

type Viewer = { readonly end: () => void; readonly loads: () => number };

/** The portal: its pages over 100,000 checkouts, what those who look at it cost a create, and what it keeps. */
export async function measureViewers(bench: Bench): Promise<Figure[]> {
  const pages = await measurePages(bench);
  const sandbox = await bench.startSandbox(bench.newPath("portal"));
  const idle = await measureIdlePortal(sandbox);
  return [...pages, ...idle, ...(await measureCreates(bench, sandbox))];
}

async function measurePages(bench: Bench): Promise<Figure[]> {
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
      // The first ones warm the program up.
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

/** The pages that links of the portal lead to, by their shape: what a page is, whatever it is about. */
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

/** Creates with everybody looking on, against creates with nobody, in turn. */
async function measureCreates(bench: Bench, sandbox: Sandbox): Promise<Figure[]> {
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
    for (const { end } of viewers) end();
    loads += viewers.reduce((sum, viewer) => sum + viewer.loads(), 0);
    results[isWatched ? "watched" : "alone"].push(result);
  };
  for (let round = 0; round < ROUNDS; round += 1) {
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
    // On a busy machine it says more than the rate does.
    compared("processor time of a create with 50 viewers", "msEach", { unit: "ms" }),
    { name: "pages that viewers loaded meanwhile", value: loads / ROUNDS, unit: "x" },
  ];
}

function usedTicks({ pid }: Sandbox): number {
  return process.platform === "linux" ? ticks(pid) : Number.NaN;
}

/** What a page of each kind asks for when something has changed: a list says how far it was seen. */
const PAGES: Readonly<Record<string, string | undefined>> = {
  webhooks: "/webhooks",
  checkouts: "/checkouts?seen=0",
  requests: "/requests?seen=0",
};

async function openViewers(sandbox: Sandbox, ids: readonly string[]): Promise<Viewer[]> {
  const topics = Object.entries(VIEWERS).flatMap(([kind, count]) =>
    Array.from({ length: count }, (_one, index) => ({ kind, id: ids[index] ?? "" })),
  );
  const viewers: Viewer[] = [];
  for (let at = 0; at < topics.length; at += STREAMS_OF_SESSION) {
    const browser = await openBrowser(sandbox);
    for (const { kind, id } of topics.slice(at, at + STREAMS_OF_SESSION)) {
      const page = kind === "checkout" ? `/checkouts/${id}` : (PAGES[kind] ?? "/connect");
      const query = kind === "checkout" ? `topic=checkout&id=${id}` : `topic=${kind}`;
      viewers.push(await browser.follow(`/live?${query}`, page));
    }
  }
  return viewers;
}

/** What is kept for pages and streams that nobody asks anything of. */
async function measureIdlePortal(sandbox: Sandbox): Promise<Figure[]> {
  const viewers: Viewer[] = [];
  for (let at = 0; at < IDLE_STREAMS; at += STREAMS_OF_SESSION) {
    const browser = await openBrowser(sandbox);
    for (const [, address] of await shapesOf(browser)) await browser.get(address);
    for (let count = 0; count < STREAMS_OF_SESSION; count += 1)
      viewers.push(await browser.follow("/live?topic=store", "/connect"));
  }
  const figures = await measureIdle(sandbox, `portal and ${IDLE_STREAMS} streams open`);
  for (const { end } of viewers) end();
  return figures;
}

type Page = { readonly status: number; readonly type: string; readonly text: string };
type Browser = {
  readonly home: string;
  readonly get: (address: string) => Promise<Page>;
  /** Follows a stream, and loads a page each time that it has changed, as a browser does. */
  readonly follow: (stream: string, page: string) => Promise<Viewer>;
};

/** A browser profile that is signed in to the portal: six connections, kept alive. */
async function openBrowser(sandbox: Sandbox): Promise<Browser> {
  const { port, storeId } = sandbox;
  const agent = new Agent({ keepAlive: true, maxSockets: 6 });
  const send = sender(sandbox, agent);
  const { cookie, portal } = await signIn(sandbox, send);
  const headers = { host: `localhost:${port}`, cookie, "accept-language": "en" };
  const home = `${portal}/${storeId}`;
  const get: Browser["get"] = async (address) => {
    const { statusCode: status = 0, headers: got, text } = await send(address, { headers });
    return { status, type: got["content-type"] ?? "", text };
  };
  return {
    home,
    get,
    follow: async (stream, page) => {
      const sent = request({ agent, host: "127.0.0.1", port, path: home + stream, headers }).end();
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      if (answer.statusCode !== 200) throw new Error(`${stream} was answered ${answer.statusCode}`);
      let loads = 0;
      answer.setEncoding("utf8").on("data", (text: string) => {
        if (!text.includes("event: changed")) return;
        loads += 1;
        void get(home + page);
      });
      answer.on("error", () => undefined);
      return { end: () => void answer.destroy(), loads: () => loads };
    },
  };
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
