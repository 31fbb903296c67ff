import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { isInstalled } from "../tools.ts";
import { run } from "./run.ts";

const SHOPS = ["node", "python", "php", "go", "java"] as const;
/** Debian packages for the shops' languages, except Node. */
const PACKAGES = ["python3", "php-cli", "php-sqlite3", "golang-go", "default-jdk-headless"];
const INSTALL = `apt-get install --yes --no-install-recommends ${PACKAGES.join(" ")}`;

/** Judges the shop in the current folder; the last line says how many histories held. */
const TRIAL = `set -eu
checkout sandbox start --detach --port 0 > start.log
trap 'checkout sandbox stop > stop.log' EXIT
checkout checklist run --trust-config > run.log 2>&1 || { cat run.log; exit 1; }
grep -o '[0-9]* held' run.log
`;

/** Installs the languages only where apt-get is available. */
export function tryShops(folder: string, tarball: string): string {
  if (isInstalled("apt-get")) run("sh", ["-c", `${INSTALL} || { apt-get update && ${INSTALL}; }`]);
  const project = join(folder, "whole-shops");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  run("npm", ["install", resolve(tarball), `express@${packageJson.devDependencies.express}`], project);
  const path = `PATH=${join(project, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`;
  const results = SHOPS.map((name) => {
    const shop = join(project, name);
    cpSync(join(project, "node_modules/hosted-checkout/fixtures/shops", name), shop, { recursive: true });
    return `${name}: ${run("env", [path, "sh", "-c", TRIAL], shop)}`;
  });
  return results.join(", ");
}
