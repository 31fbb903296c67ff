import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "node-html-parser";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { english } from "../../src/core/language.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { storageFailure } from "../../src/store/connection/storage-failure.ts";
import { FULL, size } from "../support/campaign.ts";
import { builtExecutable } from "../support/built.ts";
import { eventually } from "../support/eventually.ts";
import { fakeBrowser } from "../support/fake-browser.ts";
import { walkAsRole, walkInBrowser } from "../support/journeys/browser.ts";
import { programForm, SOURCE, WITHOUT_NPX, WITHOUT_WORKER, type Form } from "../support/journeys/form.ts";
import { walk } from "../support/journeys/journeys.ts";
import { fetchParts } from "../support/journeys/parts.ts";
import { unusedRoutes } from "../support/journeys/routes.ts";
import { PROGRAM, run } from "../support/program.ts";
import { inOrder } from "../support/in-order.ts";
import { runScenariosByDocument, SCENARIOS, WORKFLOWS } from "../support/scenarios.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { typeHead, WHOLE_SHOPS } from "../support/whole-shops.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The npm package (in a release, the released tarball), installed by npm in an empty project without a network. */
async function installPackage(): Promise<Form> {
  const cwd = tempFolder();
  const npm = async (...words: readonly string[]) =>
    promisify(execFile)("npm", [...words, "--ignore-scripts", "--silent"], { cwd });
  const released = process.env["RELEASED_TARBALL"];
  if (released === undefined) await npm("pack", ROOT);
  writeFileSync(join(cwd, "package.json"), '{ "private": true }\n');
  const tarball = released ?? `./hosted-checkout-${packageJson.version}.tgz`;
  const offline = ["--offline", "--no-audit", "--no-fund"];
  await npm("install", ...offline, tarball, join(ROOT, "node_modules/better-sqlite3"));
  const command = [process.execPath, join(cwd, "node_modules/.bin/checkout")];
  return programForm({ name: "npm package", command, half: 0, hosted: WITHOUT_NPX });
}

/** The executable, alone in a folder and without Node. In a release, the released executable is used. */
async function copyExecutable(): Promise<Form> {
  const command = [join(tempFolder(), "checkout-on-its-own")];
  const released = process.env["RELEASED_EXECUTABLE"];
  copyFileSync(released ?? (await builtExecutable()).file, command[0] ?? "");
  const variables = { XDG_CACHE_HOME: tempFolder(), PATH: "" };
  return programForm({ name: "executable", command, variables, half: 1, hosted: WITHOUT_WORKER });
}

/** Runs all drills, and checks that the shop is ready. */
async function expectReady({ shell }: Form): Promise<void> {
  const { code, stdout, stderr } = await typeHead(WHOLE_SHOPS.node, shell ?? "");
  expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
  expect(stdout).toContain(english(READINESS_SENTENCES.verdict.ready));
}

/** A clone of this repository, in which `npx checkout` starts the built program. */
const CLONE = programForm({ name: "clone", command: [process.execPath, PROGRAM], hosted: WITHOUT_NPX });

/** The program that the check of a release has installed in a root folder and names in FORM_IN_ROOT. */
function formInRoot(text: string): Form {
  const given = JSON.parse(text) as Omit<Parameters<typeof programForm>[0], "hosted" | "folder"> & {
    readonly folder: string;
  };
  return programForm({ ...given, folder: () => given.folder, hosted: WITHOUT_WORKER });
}

const IN_ROOT = process.env["FORM_IN_ROOT"];
const FORMS: Readonly<Record<string, () => Form | Promise<Form>>> =
  IN_ROOT === undefined
    ? {
        // An error in the sources is also in the package, which is built from them.
        ...(FULL && { "the source": () => SOURCE }),
        "the npm package": installPackage,
        "the executable": copyExecutable,
      }
    : { "the installed program": () => formInRoot(IN_ROOT) };

for (const [name, make] of Object.entries(FORMS))
  test(`every user journey works in ${name}`, async () => {
    const form = await make();
    expect(await walk(form)).toEqual([]);
    if (FULL && IN_ROOT === undefined) await expectReady(form);
  });

test("the check of the user journeys reports routes without a journey, and pages without a valid style sheet", async () => {
  const taken = new Set(["GET /portal/{store_id}/keys"]);
  expect(unusedRoutes([...taken, "POST /portal/{store_id}/new"], taken)).toEqual([
    "POST /portal/{store_id}/new",
  ]);
  const at = new URL("http://localhost/portal");
  const get = () => Promise.resolve({ status: 200, headers: { "Content-Type": "text/css" }, body: "" });
  const [bare, styled] = ["<p>", '<link rel="stylesheet" href="/a.css">'].map((markup) => parse(markup));
  await expect(fetchParts(bare ?? parse(""), at, get)).rejects.toThrow(
    "has a style: expected true, got false",
  );
  await expect(fetchParts(styled ?? parse(""), at, get)).rejects.toThrow("/a.css: expected");
});

test("Chromium signs in, follows links of the portal and pays without an error", async () => {
  // A campaign follows all links in three forms; `npm test` follows the links of the menu in one form.
  const others = FULL ? [CLONE, await installPackage()] : [];
  for (const form of [await copyExecutable(), ...others]) {
    const { pages, wrong } = await walkInBrowser(form, FULL ? "every" : "menu");
    expect([form.name, wrong]).toEqual([form.name, []]);
    expect(pages).toBeGreaterThan(size(10, 40));
  }
  // In `npm test`, test/portal/rights.test.ts follows every link of both roles without a browser.
  for (const role of FULL ? (["viewer", "store"] as const) : []) {
    const { pages, wrong, forms } = await walkAsRole(SOURCE, role);
    expect([role, wrong, forms > 0]).toEqual([role, [], role === "store"]);
    expect(pages).toBeGreaterThan(15);
  }
});

const CREATE = ["orders", "create", "--order-id", "order-1001", "--price-id", "price_bento", "--json"];
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

test("the single executable opens a browser, keeps its orders over kill -9, and passes all scenarios", async () => {
  const { folder, file } = await builtExecutable();
  const cwd = tempFolder();
  const executable = join(cwd, "checkout-on-its-own");
  copyFileSync(file, executable);
  // The executable contains SQLite's addon and Node, so it needs their licences too.
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

test("the executable starts if its cache folder is unusable or has an incomplete addon, unless its temporary folder is unusable too", async () => {
  const { file } = await builtExecutable();
  const cwd = tempFolder();
  const exec = async (cache: string, temporary = tempFolder()) => {
    const env = { XDG_CACHE_HOME: cache, TMPDIR: temporary, PATH: "" };
    const { code, stderr } = await run(["exec", "--quiet", "--", "/bin/true"], { cwd, command: [file], env });
    return { code, stderr };
  };
  const whole = tempFolder();
  expect(await exec(whole)).toEqual({ code: 0, stderr: "" });
  const name = readdirSync(join(whole, "hosted-checkout")).find((one) => one.endsWith(".node")) ?? "";
  const addon = readFileSync(join(whole, "hosted-checkout", name));
  const holding = (bytes: Uint8Array): string => {
    const cache = tempFolder();
    mkdirSync(join(cache, "hosted-checkout"), { mode: 0o700 });
    writeFileSync(join(cache, "hosted-checkout", name), bytes, { mode: 0o600 });
    return cache;
  };
  const half = holding(addon.subarray(0, addon.length / 2));
  expect(await exec(half)).toEqual({ code: 0, stderr: "" });
  expect(readFileSync(join(half, "hosted-checkout", name)).equals(addon)).toBe(true);
  const planted = holding(Buffer.from("code of another user"));
  // Only root can give a folder to another user; a folder that everybody can write is refused too.
  if (process.getuid?.() === 0) chownSync(join(planted, "hosted-checkout"), 12_001, 12_001);
  else chmodSync(join(planted, "hosted-checkout"), 0o777);
  const noFolder = join(whole, "hosted-checkout", name);
  for (const cache of [planted, noFolder, "/proc/none"])
    expect([cache, await exec(cache)]).toEqual([cache, { code: 0, stderr: "" }]);
  expect(readFileSync(join(planted, "hosted-checkout", name), "utf8")).toBe("code of another user");
  const nowhere = await exec(noFolder, noFolder);
  expect([nowhere.code, nowhere.stderr]).toEqual([
    1,
    expect.stringMatching(inOrder(storageFailure("no_cache_folder").sentence, "XDG_CACHE_HOME")),
  ]);
});
