import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import type { Sandbox } from "../src/testing/testing.ts";
import { launchBrowser } from "./support/browser.ts";
import { projectOf } from "./support/kit-projects.ts";

const ROOT = join(import.meta.dirname, "..");
const TSC = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const run = promisify(execFile);

/** The snippets of the section, each by what only it says. */
const SNIPPETS = {
  "using.ts": "await using",
  "closing.ts": "sandbox.close()",
  "shop.test.ts": "testing/vitest",
  "playwright.ts": "testing/playwright",
  "node.test.ts": "testing/node",
  "mounted.ts": "hono.all",
} as const;

const [, section = ""] = /^## In a test suite\n([\s\S]*?)^## /m.exec(README) ?? [];
const blocks = Array.from(section.matchAll(/```ts\n([\s\S]*?)```/g), ([, block = ""]) => block);
const files = Object.fromEntries(
  Object.entries(SNIPPETS).map(([name, only]) => [name, blocks.find((block) => block.includes(only)) ?? ""]),
);

/** What the snippet of Playwright needs of it where it is not installed. */
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

/** What the snippet of Express needs of it: its types are not installed. */
const EXPRESS = `
import type { IncomingMessage, ServerResponse } from "node:http";
type Sent = IncomingMessage & { originalUrl: string };
type Answer = ServerResponse & { status(code: number): Answer };
declare function express(): { use(paths: string[], answer: (req: Sent, res: Answer) => Promise<void>): void };
export default express;
`;

function project(): string {
  const packages = ["@types", "vitest", "hono", "express", "playwright-core"];
  return projectOf({ ...files, "package.json": `{ "type": "module" }` }, packages);
}

test("every snippet about test suites is one of those that are run, and has the types of the package", async () => {
  expect(new Set(Object.values(files)).size).toBe(blocks.length);
  const folder = project();
  writeFileSync(join(folder, "playwright.d.ts"), PLAYWRIGHT);
  writeFileSync(join(folder, "express.d.ts"), EXPRESS);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: ["node"],
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "dom"],
    module: "nodenext",
    skipLibCheck: true,
    // So that packages are found from here, though links lead elsewhere.
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

test("the snippets run: by themselves, by vitest and by node:test", async () => {
  const cwd = project();
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  // Node 22 does not know it.
  const plain = ["closing.ts", ...(process.version.startsWith("v22.") ? [] : ["using.ts"])];
  const programs = [...plain.map((name) => [name]), ["--test", "node.test.ts"]];
  for (const args of [...programs, [vitest, "run", "--root", cwd, "shop"]]) {
    const { stderr } = await run(process.execPath, args, { cwd, env, timeout: 120_000 });
    expect([args, stderr]).toEqual([args, ""]);
  }
});

test("the snippet of Playwright shows the order in a browser", async () => {
  const { startSandbox } = (await import(
    pathToFileURL(join(ROOT, "dist/testing.mjs")).href
  )) as typeof import("../src/testing/testing.ts");
  const sandbox = await startSandbox();
  const browser = await launchBrowser();
  onTestFinished(async () => {
    await browser.close();
    await sandbox.close();
  });
  const [, body = ""] =
    /async \(\{ page, store \}\) => \{([\s\S]*)\}\);/.exec(files["playwright.ts"] ?? "") ?? [];
  const isVisible = (locator: { readonly waitFor: () => Promise<void> }) => ({
    toBeVisible: () => locator.waitFor(),
  });
  const Body = Object.getPrototypeOf(async () => undefined).constructor as FunctionConstructor;
  await Body("page", "store", "expect", body)(await browser.newPage(), sandbox.store, isVisible);
  expect((await sandbox.store.events.list()).map(({ type }) => type)).toEqual(["order.created"]);
});

test("an application that mounts the sandbox answers as it does: Hono, Express, Next.js", async () => {
  const cwd = project();
  const port = await freePort();
  const mounted = join(cwd, "mounted.ts");
  writeFileSync(mounted, readFileSync(mounted, "utf8").replaceAll("3000", String(port)));
  type Answers = (request: Request) => Response | Promise<Response>;
  const parts = (await import(/* @vite-ignore */ pathToFileURL(mounted).href)) as {
    readonly sandbox: Sandbox;
    readonly hono: { readonly fetch: Answers };
    readonly app: Parameters<typeof createServer>[1];
    readonly GET: Answers;
    readonly POST: Answers;
  };
  const { sandbox, hono, app, GET, POST } = parts;
  const server = createServer(app).listen(port, "127.0.0.1");
  onTestFinished(async () => {
    server.close();
    await sandbox.close();
  });
  await new Promise((resolve) => server.once("listening", resolve));
  const next: Answers = (request) => (request.method === "GET" ? GET : POST)(request);
  for (const [name, answer] of Object.entries({ hono: hono.fetch, express: fetch, next })) {
    const headers = {
      Authorization: `Bearer ${sandbox.store.apiKey}`,
      "Content-Type": "application/json",
      "Idempotency-Key": `the-key-of-${name}`,
    };
    const body = JSON.stringify({ order_id: name, price_id: "price_coffee" });
    const url = `http://127.0.0.1:${port}/v1/orders`;
    const created = await answer(new Request(url, { method: "POST", headers, body }));
    const { data } = (await created.json()) as { readonly data: { readonly checkout_url: string } };
    const page = await answer(new Request(data.checkout_url));
    expect([name, created.status, page.status, await page.text()]).toEqual([
      name,
      201,
      200,
      expect.stringContaining(name),
    ]);
  }
});

/** A port that nothing listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return address !== null && typeof address === "object" ? address.port : 0;
}
