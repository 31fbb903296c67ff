import { execFile } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { builtExecutable } from "../support/built.ts";
import { eventually } from "../support/eventually.ts";
import { fakeBrowser } from "../support/fake-browser.ts";
import { programForm, SOURCE, WITHOUT_NPX, WITHOUT_WORKER, type Form } from "../support/journeys/form.ts";
import { walk } from "../support/journeys/journeys.ts";
import { run } from "../support/program.ts";
import { runScenariosByDocument, SCENARIOS, WORKFLOWS } from "../support/scenarios.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The npm package, as npm installs its tarball in an empty project, without a network. */
async function installedPackage(): Promise<Form> {
  const cwd = tempFolder();
  const npm = async (...words: readonly string[]) =>
    promisify(execFile)("npm", [...words, "--ignore-scripts", "--silent"], { cwd });
  await npm("pack", ROOT);
  writeFileSync(join(cwd, "package.json"), '{ "private": true }\n');
  const tarball = `./hosted-checkout-${packageJson.version}.tgz`;
  const offline = ["--offline", "--no-audit", "--no-fund"];
  await npm("install", ...offline, tarball, join(ROOT, "node_modules/better-sqlite3"));
  const command = [process.execPath, join(cwd, "node_modules/.bin/checkout")];
  return programForm({ name: "npm package", command, hosted: WITHOUT_NPX });
}

/** The executable, alone in a folder and without Node. */
async function loneExecutable(): Promise<Form> {
  const command = [join(tempFolder(), "checkout-on-its-own")];
  copyFileSync((await builtExecutable()).file, command[0] ?? "");
  const variables = { XDG_CACHE_HOME: tempFolder(), PATH: "" };
  return programForm({ name: "executable", command, variables, hosted: WITHOUT_WORKER });
}

test("the sources walk every journey in this process", async () => {
  expect(await walk(SOURCE)).toEqual([]);
});

test("the npm package walks every journey, installed in an empty project from its tarball", async () => {
  expect(await walk(await installedPackage())).toEqual([]);
});

test("the executable walks every journey, alone in a folder and without Node", async () => {
  expect(await walk(await loneExecutable())).toEqual([]);
});

const CREATE = ["orders", "create", "--order-id", "order-1001", "--price-id", "price_bento", "--json"];
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

test("the single executable opens a browser, survives a kill in the background, and passes all scenarios", async () => {
  const { folder, file } = await builtExecutable();
  const cwd = tempFolder();
  const executable = join(cwd, "checkout-on-its-own");
  copyFileSync(file, executable);
  // With the addon of SQLite and with Node inside, it passes their code on too.
  const licenses = readFileSync(join(folder, "checkout-THIRD-PARTY-LICENSES.txt"));
  for (const passedOn of ["better-sqlite3 ", "zod ", "Node.js "])
    expect(licenses.includes(passedOn)).toBe(true);
  expect(readFileSync(executable).includes(licenses)).toBe(true);
  const cache = tempFolder();
  const options = { cwd, command: [executable], env: { XDG_CACHE_HOME: cache, PATH: "" } };
  const start = async (): Promise<number> => {
    const started = await run(["sandbox", "start", "--detach", "--port", "0", "--json"], options);
    expect([started.code, started.stderr]).toEqual([0, ""]);
    return Number(json(started.stdout)["pid"]);
  };
  const first = await start();
  const browser = fakeBrowser();
  const opened = await run([...CREATE, "--open"], {
    ...options,
    env: { ...options.env, PATH: browser.folder },
  });
  expect([opened.code, opened.stderr]).toEqual([0, ""]);
  const { data } = json(opened.stdout) as { data: { id: string; checkout_url: string } };
  await eventually("the browser is there", () => expect(browser.opened()).toEqual([data.checkout_url]));
  process.kill(first, "SIGKILL");
  await start();
  const kept = await run(["sessions", "get", data.id, "--json"], options);
  expect(json(kept.stdout)).toMatchObject({ data: { id: data.id } });
  const checkout = `XDG_CACHE_HOME='${cache}' '${executable}'`;
  expect(await runScenariosByDocument({ cwd, checkout })).toEqual(
    SCENARIOS.map((name) => WORKFLOWS.filter((workflow) => workflow.startsWith(`${name} `)).length),
  );
  expect((await run(["sandbox", "stop"], options)).code).toBe(0);
  expect(existsSync(join(cwd, ".checkout/run.json"))).toBe(false);
  expect(readdirSync(join(cache, "hosted-checkout")).toSorted()).toEqual([
    expect.stringMatching(/^[0-9a-f]{64}\.node$/),
    "compiled",
  ]);
});
