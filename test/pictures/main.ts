/**
 * Makes the pictures of the documents, from the real program in a real Chromium: `npm run pictures`. The store's clock
 * begins at the same moment in every run; ids differ between runs.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../support/browser.ts";
import { terminalPage } from "./terminal.ts";

const PROGRAM = join(import.meta.dirname, "../../bin/checkout.cjs");
const PICTURES = join(import.meta.dirname, "../../fixtures/pictures");
const BEGIN = "2026-01-15T12:04:31Z";
/** Maximum wait for a page or for a process, in milliseconds. */
const PATIENCE_MS = 20_000;

type Started = { readonly output: () => string; readonly stop: () => Promise<void> };
type Ready = { readonly base_url: string; readonly api_key: string; readonly control_token: string };

const cwd = mkdtempSync(join(tmpdir(), "checkout-pictures-"));
const running: ChildProcess[] = [];
const shop = await openReceiver();
const browser = await launchBrowser();
try {
  mkdirSync(PICTURES, { recursive: true });
  await makePictures(browser);
} finally {
  await browser.close();
  for (const child of running) child.kill("SIGKILL");
  shop.close();
  rmSync(cwd, { recursive: true, force: true });
}

async function makePictures(chromium: Browser): Promise<void> {
  const sandbox = begin(["sandbox", "start", "--json", "--port", String(await freePort(4242))]);
  await until("the sandbox is ready", () => sandbox.output().includes("\n"));
  const ready = JSON.parse(sandbox.output()) as Ready;
  await run(["sandbox", "clock", "set", BEGIN]);
  const listen = begin(["listen", "--forward", shop.address], { FORCE_COLOR: "1" });
  await until("it listens", () => listen.output().includes("is ready"));
  const { id, checkout_url: address } = await sell(ready, 1999);
  const page = await newPage(chromium, { width: 480, height: 720 });
  await page.goto(address);
  await page.screenshot({ path: join(PICTURES, "payment.png"), fullPage: true });
  await page.click("button.primary");
  await page.click("a:has-text('Open the sandbox wallet here')");
  await page.click("button:has-text('Pay €19.99')");
  await until("all is delivered", () => shop.taken() >= 3);
  await sell(ready, 2999);
  await sleep(500);
  await photographTimeline(await newPage(chromium, { width: 1200, height: 800 }), ready, id);
  const terminal = await newPage(chromium, { width: 1280, height: 300 });
  const typed = `$ npx checkout listen --forward ${shop.address}`;
  await terminal.setContent(terminalPage(`${typed}\n${listen.output()}`));
  await terminal.locator("pre").screenshot({ path: join(PICTURES, "listen.png") });
  await listen.stop();
  await sandbox.stop();
}

async function newPage(
  chromium: Browser,
  viewport: { readonly width: number; readonly height: number },
): Promise<Page> {
  const page = await chromium.newPage({
    viewport,
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
  });
  page.setDefaultTimeout(PATIENCE_MS);
  return page;
}

/** Takes a picture of the page of a checkout, as a signed-in user. */
async function photographTimeline(page: Page, ready: Ready, id: string): Promise<void> {
  const answer = await fetch(`${new URL(ready.base_url).origin}/__sandbox/portal/sign-ins`, {
    method: "POST",
    headers: { authorization: `Bearer ${ready.control_token}`, "content-type": "application/json" },
    body: "{}",
  });
  const { data } = (await answer.json()) as { readonly data: { readonly sign_in_url: string } };
  await page.goto(data.sign_in_url);
  await page.waitForURL(/\/(connect|overview)$/);
  const shown = await page.goto(page.url().replace(/\/(connect|overview)$/, `/checkouts/${id}`));
  if (shown?.status() !== 200) throw new Error(`the page of a checkout was answered ${shown?.status()}`);
  await page.locator("main").screenshot({ path: join(PICTURES, "timeline.png") });
}

/** Creates the order of the pictures; another amount makes the same request a conflict. */
async function sell({ base_url: baseUrl, api_key: key }: Ready, amount: number) {
  const answer = await fetch(`${baseUrl}/orders`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": "order-1001-first-try",
    },
    body: JSON.stringify({
      order_id: "order-1001",
      amount_minor: amount,
      currency: "EUR",
      payment_method: "alipay_plus",
      description: "Two concert tickets",
    }),
  });
  const { data } = (await answer.json()) as {
    readonly data?: { readonly id: string; readonly checkout_url: string };
  };
  return data ?? { id: "", checkout_url: "" };
}

/** A merchant's receiver, which fails once, at the event of the payment. */
async function openReceiver() {
  let taken = 0;
  let failed = false;
  const server = createServer((incoming, answer) => {
    let body = "";
    incoming.setEncoding("utf8").on("data", (text: string) => (body += text));
    incoming.on("end", () => {
      const fails = !failed && body.includes('"order.succeeded"');
      failed ||= fails;
      if (!fails) taken += 1;
      answer.writeHead(fails ? 500 : 204).end(fails ? "TypeError: order is undefined" : undefined);
    });
  });
  const port = await freePort(3000);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `http://localhost:${port}/hooks`,
    taken: () => taken,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The port that the documents name, or another port if it is taken. */
async function freePort(wanted: number): Promise<number> {
  const server = createServer().listen(wanted, "127.0.0.1");
  const isFree = await Promise.race([
    once(server, "listening").then(() => true),
    once(server, "error").then(() => false),
  ]);
  const port = isFree ? (server.address() as AddressInfo).port : 0;
  server.close();
  return isFree ? port : freePort(0);
}

function begin(args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const gone = once(child, "close");
  const stop = async (): Promise<void> => {
    child.kill("SIGINT");
    await gone;
  };
  return { output: () => output, stop };
}

async function run(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd, stdio: "ignore" });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}`);
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let waited = 0; !isTrue(); waited += 50) {
    if (waited > PATIENCE_MS) throw new Error(`it did not happen: ${what}`);
    await sleep(50);
  }
}
