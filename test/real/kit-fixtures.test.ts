import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import vm from "node:vm";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Sandbox, Store } from "../../src/testing/testing.ts";
import { writeProject } from "../support/kit-projects.ts";
import { expectStories, suiteOf } from "../support/kit-suite.ts";
import { inOrder } from "../support/in-order.ts";

const ROOT = join(import.meta.dirname, "../..");
const JEST = "30.5.2";

/** Runs a script; returns its output. The end of the script shows that the sandbox was closed. */
function runScript(cwd: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined, NODE_TEST_CONTEXT: undefined };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, env, timeout: 120_000 }, (_failed, stdout, stderr) =>
      resolve(`${stdout}\n${stderr}`),
    );
  });
}

// vitest is tested in test/real/documents-kit.test.ts, where one process of vitest runs all snippets.
test("under node:test each test gets its own store, and a failed test prints the store's story, with import and require", async () => {
  const timeout = { options: "{ timeout: 500 }," };
  const name = `"hosted-checkout/testing/node"`;
  const todo = `
test("is to do", { todo: "later" }, async ({ store }) => {
  await store.orders.create(ORDER);
  throw new Error("not yet");
});`;
  const suites = ["createStoreTest", `createRequire(import.meta.url)(${name}).createStoreTest`].map(
    (create) => `{${suiteOf(`const test = ${create}();`, timeout)}${todo}}`,
  );
  const imports = `import { createRequire } from "node:module";\nimport { createStoreTest } from ${name};`;
  const cwd = writeProject({ "both.mjs": [imports, ...suites].join("\n") });
  const output = await runScript(cwd, ["--test", "--test-reporter=spec", "both.mjs"]);
  for (const count of ["pass 8", "fail 2", "cancelled 2", "todo 2"]) expect(output).toContain(count);
  expectStories(output, 2);
});

test("the kit works in jest without dynamic import, or in a simulated jest if jest is not installed", async () => {
  const start = `const test = require("hosted-checkout/testing/jest").createStoreTest();`;
  const cwd = writeProject({
    "shop.test.js": suiteOf(start, { after: ", 500" }),
    "jest.config.json": JSON.stringify({ transform: {}, verbose: true, rootDir: "." }),
  });
  const jest = await jestFromRegistry();
  const args =
    jest === undefined
      ? [join(import.meta.dirname, "../support/jest-stand-in.cjs"), "shop.test.js"]
      : [jest, "--config", "jest.config.json", "--runInBand"];
  const output = await runScript(cwd, args);
  const marks = output.match(/^ *[✓✕]/gm)?.map((mark) => mark.trim());
  expect([args[0], output, marks]).toEqual([args[0], output, ["✓", "✓", "✓", "✕", "✕", "✓"]]);
  expect(output).toMatch(/Exceeded timeout of 500 ms/);
  expectStories(output);
});

test("Playwright gets a sandbox for each worker and a store for each test", async () => {
  const { createStoreTest } = createRequire(import.meta.url)(
    join(ROOT, "dist/testing-playwright.cjs"),
  ) as typeof import("../../src/testing/fixtures/playwright.ts");
  const print = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => print.mockRestore());
  type Fixtures = {
    readonly sandbox: readonly [Fixture<Sandbox>, { readonly scope: string }];
    readonly store: Fixture<Store>;
  };
  type Fixture<Value> = (
    fixtures: object,
    use: (value: Value) => Promise<void>,
    info?: { readonly status: string; readonly expectedStatus: string },
  ) => Promise<void>;
  let fixtures: Fixtures | undefined;
  const base = { extend: (given: Fixtures) => void (fixtures = given) };
  createStoreTest(base as never, { port: null });
  const [sandboxOf, { scope }] = fixtures?.sandbox ?? [undefined, { scope: "" }];
  expect(scope).toBe("worker");
  // Playwright reads the dependencies of a fixture from the text of its function.
  expect(String(sandboxOf)).toMatch(/^async \(\{\s*\}, use\)/);
  expect(String(fixtures?.store)).toMatch(/^async \(\{ ?sandbox ?\}, use, info\)/);
  let used: Sandbox | undefined;
  await sandboxOf?.({}, async (sandbox) => {
    used = sandbox;
    for (const status of ["passed", "failed", "timedOut"]) {
      const info = { status, expectedStatus: "passed" };
      let own: Store | undefined;
      await fixtures?.store(
        { sandbox },
        async (store) => {
          own = store;
          await store.orders.create({ order_id: `order-${status}`, price_id: "price_coffee" });
        },
        info,
      );
      await expect(own?.events.list()).rejects.toMatchObject({ status: 404 });
    }
  });
  const told = print.mock.calls.map(([text]) => String(text));
  expect(told.map((text) => /\border-(\w+)/.exec(text)?.[1])).toEqual(["failed", "timedOut"]);
  await expect(used?.createStore()).rejects.toMatchObject({ name: "Error" });
});

test("the kit refuses an older Node and Bun, and names the Node version that it needs", () => {
  const kit = readFileSync(join(ROOT, "dist/testing.cjs"), "utf8");
  for (const [versions, found] of [
    [{ node: "20.20.2" }, "20.20.2"],
    [{ node: "22.21.9" }, "22.21.9"],
    [{ node: "24.3.0", bun: "1.4.5" }, "Bun"],
  ] as const)
    expect(() => vm.runInNewContext(kit, { process: { versions } })).toThrow(inOrder("22.22.2", found));
});

/** The program of jest, installed from the registry the first time; undefined if it cannot be installed. */
async function jestFromRegistry(): Promise<string | undefined> {
  const cache = join(ROOT, "node_modules/.cache");
  const folder = join(cache, `jest-${JEST}`);
  const program = join(folder, "node_modules/jest/bin/jest.js");
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  const unfinished = mkdtempSync(`${folder}.new-`);
  writeFileSync(join(unfinished, "package.json"), "{}");
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"];
  const shell = process.platform === "win32";
  const isThere = await new Promise<boolean>((resolve) => {
    execFile(
      "npm",
      ["install", ...options, `jest@${JEST}`],
      { cwd: unfinished, shell, timeout: 60_000 },
      (error) => resolve(error === null),
    );
  });
  if (isThere && !existsSync(folder)) renameSync(unfinished, folder);
  else rmSync(unfinished, { recursive: true, force: true });
  return existsSync(program) ? program : undefined;
}
