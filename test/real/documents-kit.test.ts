import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import type { Checkout, Sandbox } from "../../src/testing/testing.ts";
import { blocksIn } from "../support/documents.ts";
import { writeProject } from "../support/kit-projects.ts";
import { expectStories, suiteOf } from "../support/kit-suite.ts";
import { heldPort } from "../support/ports.ts";
import { sharedBrowser } from "../support/shop.ts";

const ROOT = join(import.meta.dirname, "../..");
const TSC = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const run = promisify(execFile);

/** The files of the snippets, each with a text that only its snippet contains. */
const SNIPPETS = {
  "using.ts": "await using",
  "closing.ts": "sandbox.close()",
  "shop.test.ts": "createStoreTest().extend",
  "recipes.test.ts": "./shop-fixture.ts",
  "explore.test.ts": "await explore({",
  "receiver.test.ts": "store.receiver()",
  "playwright.ts": "testing/playwright",
  "node.test.ts": "testing/node",
  "mounted.ts": "new Hono",
} as const;

const blocks = blocksIn("ts").map(({ code }) => code);
const files = Object.fromEntries(
  Object.entries(SNIPPETS).map(([name, only]) => [name, blocks.find((block) => block.includes(only)) ?? ""]),
);

/** The application that `shop.test.ts` tests: it creates orders, and books the payments in its webhooks. */
const SHOP = `
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { StoreEnv } from "hosted-checkout/testing";
import { verifyWebhook } from "hosted-checkout/webhooks";

export type Shop = Awaited<ReturnType<typeof startShop>>;

export async function startShop(env: StoreEnv) {
  const orders = new Map<string, string>();
  const server = createServer(async (request, response) => {
    const rawBody = Buffer.concat(await request.toArray());
    const secrets = env.CHECKOUT_SIGNING_SECRET;
    const verdict = verifyWebhook({ rawBody, headers: request.rawHeaders, secrets });
    if (!verdict.ok) return response.writeHead(400).end(verdict.code);
    const { event } = verdict;
    if (event.type === "order.succeeded") orders.set(event.data.order_id, "paid");
    response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: "http://127.0.0.1:" + (server.address() as AddressInfo).port,
    statusOf: async (orderId: string) => orders.get(orderId),
    buy: async (orderId: string) => {
      const headers = {
        Authorization: "Bearer " + env.CHECKOUT_API_KEY,
        "Content-Type": "application/json",
        "Idempotency-Key": orderId + "-attempt-1",
      };
      const body = JSON.stringify({ order_id: orderId, price_id: "price_coffee" });
      const answer = await fetch(env.CHECKOUT_BASE_URL + "/orders", { method: "POST", headers, body });
      if (answer.status !== 201) throw new Error("no order: " + answer.status);
      return ((await answer.json()) as { data: { id: string; checkout_url: string } }).data;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
`;

/** The fixture of `shop.test.ts`, in a separate file. */
const FIXTURE = (files["shop.test.ts"]?.split("\ntest(")[0] ?? "").replace("const test", "export const test");

/** The part of Playwright that the snippet uses, for machines without Playwright. */
const PLAYWRIGHT = `
import type { Page } from "playwright-core";
interface TestType<TestArgs extends {}, WorkerArgs extends {}> {
  (name: string, run: (args: TestArgs & WorkerArgs) => Promise<void>): void;
  extend<T extends {}, W extends {}>(fixtures: object): TestType<TestArgs & T, WorkerArgs & W>;
}
export type { TestType };
export declare const test: TestType<{ page: Page }, {}>;
export declare function expect(locator: ReturnType<Page["getByText"]>): { toBeVisible(): Promise<void> };
`;

/** The part of Express's types that the snippet uses, because `@types/express` is not installed. */
const EXPRESS = `
import type { IncomingMessage, ServerResponse } from "node:http";
type Sent = IncomingMessage & { originalUrl: string };
type Answer = ServerResponse & { status(code: number): Answer };
declare function express(): { use(paths: string[], answer: (req: Sent, res: Answer) => Promise<void>): void };
export default express;
`;

function createProject(): string {
  const packages = ["@types", "vitest", "hono", "@hono/node-server", "express", "playwright-core"];
  return writeProject(
    { ...files, "shop.ts": SHOP, "shop-fixture.ts": FIXTURE, "package.json": `{ "type": "module" }` },
    packages,
  );
}

test("every documented test-suite snippet belongs to a file in these tests, and type-checks against the package", async () => {
  expect(new Set(Object.values(files)).size).toBe(blocks.length);
  const folder = createProject();
  writeFileSync(join(folder, "playwright.d.ts"), PLAYWRIGHT);
  writeFileSync(join(folder, "express.d.ts"), EXPRESS);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    types: ["node"],
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "dom"],
    module: "nodenext",
    skipLibCheck: true,
    // Packages are resolved from this folder, even if links lead elsewhere.
    preserveSymlinks: true,
    paths: { "@playwright/test": ["./playwright.d.ts"], express: ["./express.d.ts"] },
  };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: Object.keys(SNIPPETS) }),
  );
  const compiled = await run(process.execPath, [TSC, "--project", folder]).catch((error: unknown) => error);
  expect(compiled).toMatchObject({ stdout: "" });
});

test("the documented test-suite snippets run as scripts and under node:test", async () => {
  const cwd = createProject();
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  // Node 22 does not support `await using`.
  const plain = ["closing.ts", ...(process.version.startsWith("v22.") ? [] : ["using.ts"])];
  // The output of node:test itself is tested in test/real/kit-fixtures.test.ts.
  const imports = [...plain, "node.test.ts"].map((name) => `await import("./${name}");`).join("");
  const args = ["--input-type=module", "-e", imports];
  const { stdout, stderr } = await run(process.execPath, args, { cwd, env, timeout: 120_000 });
  expect([stderr, stdout]).toEqual(["", expect.stringMatching(/pass [1-9]\d*\n.*fail 0\n/s)]);
});

test("vitest runs the documented snippets with a store for each test, and prints the store's story if a test fails", async () => {
  const cwd = createProject();
  const start = `import { createStoreTest } from "hosted-checkout/testing/vitest";\nconst test = createStoreTest();`;
  writeFileSync(join(cwd, "fixture.test.mjs"), suiteOf(start, { after: ", 500" }));
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  // A single worker loads the kit once instead of once per file.
  const args = [vitest, "run", "--root", cwd, "--no-isolate", "--maxWorkers=1", "--reporter=verbose"];
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined };
  const failed = run(process.execPath, [...args, "shop", "recipes", "receiver", "explore", "fixture"], {
    cwd,
    env,
    timeout: 120_000,
  });
  const { code, stdout, stderr } = await failed.then(
    (ended) => ({ ...ended, code: 0 }),
    (error: unknown) => error as { readonly code: number; readonly stdout: string; readonly stderr: string },
  );
  const output = `${stdout}\n${stderr}`;
  expect([code, output]).toEqual([1, expect.stringMatching(/Test Files +1 failed \| 4 passed \(5\)/)]);
  // Four of the six tests of the fixture pass, and all tests of the snippets.
  const passed = output.match(/^ *✓ .*$/gm) ?? [];
  expect(passed.filter((line) => line.includes("fixture.test.mjs"))).toHaveLength(4);
  expect(output).toMatch(new RegExp(`Tests +2 failed \\| ${passed.length} passed`));
  expect(output.match(/^stderr \| (?!fixture\.test\.mjs).*$/gm)).toBe(null);
  expect(output).toContain("stderr | fixture.test.mjs > throws");
  expectStories(output);
});

test("the documented Playwright snippet shows the order in a browser", async () => {
  const { startSandbox } = (await import(
    pathToFileURL(join(ROOT, "dist/testing.mjs")).href
  )) as typeof import("../../src/testing/testing.ts");
  const sandbox = await startSandbox();
  const page = await (await sharedBrowser()).newPage();
  onTestFinished(async () => {
    await page.close();
    await sandbox.close();
  });
  const [, body = ""] =
    /async \(\{ page, store \}\) => \{([\s\S]*)\}\);/.exec(files["playwright.ts"] ?? "") ?? [];
  const isVisible = (locator: { readonly waitFor: () => Promise<void> }) => ({
    toBeVisible: () => locator.waitFor(),
  });
  const Body = Object.getPrototypeOf(async () => undefined).constructor as FunctionConstructor;
  await Body("page", "store", "expect", body)(page, sandbox.store, isVisible);
  expect((await sandbox.store.events.list()).map(({ type }) => type)).toEqual(["order.created"]);
});

test("an application that mounts the sandbox in Hono, Express or Next.js answers like the sandbox", async () => {
  const cwd = createProject();
  const port = await heldPort();
  const mounted = join(cwd, "mounted.ts");
  writeFileSync(mounted, readFileSync(mounted, "utf8").replaceAll("3000", String(port)));
  type Answers = (request: Request) => Promise<Response>;
  const { sandbox, hono, app, GET, POST } = (await import(
    /* @vite-ignore */ pathToFileURL(mounted).href
  )) as {
    readonly sandbox: Sandbox;
    readonly hono: Hono;
    readonly app: RequestListener;
    readonly GET: Answers;
    readonly POST: Answers;
  };
  onTestFinished(() => sandbox.close());
  const { store } = sandbox;
  expect(store.env["CHECKOUT_BASE_URL"]).toBe(`http://127.0.0.1:${port}/v1`);
  const create = (name: string): Request => {
    const headers = {
      Authorization: `Bearer ${store.apiKey}`,
      "Content-Type": "application/json",
      "Idempotency-Key": `the-key-of-${name}`,
    };
    const body = JSON.stringify({ order_id: name, price_id: "price_coffee" });
    return new Request(`${store.env["CHECKOUT_BASE_URL"]}/orders`, { method: "POST", headers, body });
  };
  const check = async (name: string, answer: Answers): Promise<void> => {
    const created = await answer(create(name));
    const { data } = (await created.json()) as { readonly data: Checkout };
    const page = await answer(new Request(data.checkout_url));
    const html = await page.text();
    expect([name, created.status, page.status, html]).toEqual([
      name,
      201,
      200,
      expect.stringContaining(name),
    ]);
    const loaded = Array.from(
      html.matchAll(/<(?:link|script|img)[^>]* (?:href|src)="(\/[^"]+)"/g),
      ([, to = ""]) => to,
    );
    expect(loaded.length).toBeGreaterThan(1);
    for (const path of loaded) {
      const asset = await answer(new Request(new URL(path, data.checkout_url)));
      expect([name, path, asset.status, (await asset.text()) === ""]).toEqual([name, path, 200, false]);
    }
    await sandbox.store.faults.add({ action: "lose_answer" });
    await expect(answer(create(name))).rejects.toThrow(TypeError);
    // Hono's server would report a truncated answer on stderr.
    if (name === "hono") return;
    await sandbox.store.faults.add({ action: "truncate" });
    await expect((await answer(create(name))).text()).rejects.toThrow("terminated");
  };
  let serve: RequestListener = app;
  const server = createServer((incoming, response) => serve(incoming, response));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await check("express", (request) => fetch(request));
  const listener = getRequestListener(hono.fetch);
  serve = (incoming, response) => void listener(incoming, response);
  await check("hono", (request) => fetch(request));
  await check("next", (request) => (request.method === "GET" ? GET : POST)(request));
  const order = await store.orders.create({ order_id: "own", price_id: "price_coffee" });
  const page = await sandbox.fetch(order.checkout_url);
  expect([page.status, page.url]).toEqual([200, order.checkout_url]);
});
