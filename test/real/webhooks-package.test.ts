import { execFile } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { signHeaders } from "../../src/core/webhook/signature.ts";
import { VERSION } from "../../src/version.ts";
import { copyBuilt } from "../support/built.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const TSC = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const OLDER_TSC = join(
  dirname(
    createRequire(createRequire(import.meta.url).resolve("oazapfts")).resolve("typescript/package.json"),
  ),
  "bin/tsc",
);
const runFile = promisify(execFile);

const SECRET = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const AT = 1_767_225_600;
const HEADERS = signHeaders([SECRET], { eventId: "e", timestamp: AT, rawBody: Buffer.from("{}") });
const USE = `
const options = { rawBody: "{}", headers: ${JSON.stringify(HEADERS)}, secrets: ${JSON.stringify(SECRET)}, now: ${AT * 1000} };
console.log(JSON.stringify([verifySignature(options), verifyWebhook({ ...options, rawBody: "[]" }).code, verifyWebhook(options).code]));
`;
const PRINTED = JSON.stringify([{ ok: true, timestamp: AT }, "signature_mismatch", "event_invalid"]);

const TYPED = `
import { verifyWebhook, type WebhookCode, type WebhookEvent } from "hosted-checkout/webhooks";
declare const request: { rawBody: Uint8Array; rawHeaders: string[]; headers: Record<string, string | string[] | undefined> };
export function handle(secrets: readonly string[]): WebhookEvent | WebhookCode {
  const { rawBody, rawHeaders, headers } = request;
  verifyWebhook({ rawBody, headers, secrets: "whsec_", toleranceSeconds: 60, now: 0 });
  const verdict = verifyWebhook({ rawBody, headers: rawHeaders, secrets });
  if (!verdict.ok) return verdict.code;
  // @ts-expect-error: a prefix does not narrow an event; a comparison of its type does
  if (verdict.event.type.startsWith("order.")) return verdict.event.data.status === "failed" ? "event_invalid" : verdict.event;
  if (verdict.event.type === "order.succeeded") return verdict.event.data.order_id === "" ? "event_invalid" : verdict.event;
  if (verdict.event.type === "webhook.test") return verdict.event;
  const known: number = verdict.event.data.amount_minor + verdict.event.sequence;
  // @ts-expect-error: a parsed body cannot be verified
  verifyWebhook({ rawBody: {}, headers, secrets });
  // @ts-expect-error: there is no verdict without a secret
  verifyWebhook({ rawBody, headers });
  // @ts-expect-error: only a verified request has an event
  verifyWebhook({ rawBody, headers, secrets }).event;
  return known > 0 && verdict.event.data.status === "succeeded" ? verdict.event : "event_invalid";
}
`;

/** Files of the package besides the program, for people and for tests in other languages. */
const DOCUMENTS = [
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "docs/decisions.md",
  "INTERFACE.md",
  "fixtures/openapi-control.json",
  "fixtures/openapi-v1.yaml",
  "fixtures/signatures.json",
] as const;

const SUITE = `
const run = async () => {
  const sandbox = await startSandbox({ seed: "s" });
  const store = await sandbox.createStore();
  const receiver = await store.receiver();
  const order = await store.orders.create({ order_id: "o", price_id: "price_tea" }).catch((error) => error);
  const { id } = await store.orders.create({ order_id: "o", price_id: "price_coffee" });
  await store.pay(id);
  const { verified } = await receiver.waitFor("order.succeeded");
  await sandbox.close();
  console.log(JSON.stringify([id, verified, order instanceof CheckoutError, order.code]));
};
run();
`;

const TYPED_SUITE = `
import { CheckoutError, startSandbox, type Event, type Sandbox } from "hosted-checkout/testing";
export async function suite(): Promise<Event | string> {
  const sandbox: Sandbox = await startSandbox({ port: null, config: { sandbox: { rate_limit: "5/s" } } });
  const { store, fetch: send } = sandbox;
  const order = await store.orders.create({ order_id: "o", amount_minor: 1, currency: "EUR", payment_method: "wechat_pay" });
  const address: string = store.env.CHECKOUT_BASE_URL;
  const variables: Record<string, string> = { ...store.env };
  // @ts-expect-error: no such variable
  variables["KEY"] = store.env.CHECKOUT_KEY;
  const answer: Response = await send(address + "/orders");
  await store.deliveries.waitFor({ state: "succeeded", attempts: [] });
  // @ts-expect-error: a misspelled field
  await store.events.waitFor({ typ: "order.created" });
  // @ts-expect-error: not an outcome of a payment
  await store.pay(order.id, "paid");
  // @ts-expect-error: v1 does not take camelCase names
  await store.orders.create({ orderId: "o", price_id: "p" });
  await sandbox.close();
  const found = await store.events.waitFor({ data: { order_id: "o" } });
  return found.type === "order.created" && answer.ok ? found : new CheckoutError({ status: 1, code: "", message: "", requestId: "" }).code;
}
`;

const TYPED_KITS = `
import { createStoreTest as jestTest } from "hosted-checkout/testing/jest";
import { createStoreTest as nodeTest } from "hosted-checkout/testing/node";
import { createStoreTest as playwrightTest } from "hosted-checkout/testing/playwright";
import { createStoreTest as vitestTest } from "hosted-checkout/testing/vitest";
for (const create of [jestTest, nodeTest, playwrightTest, vitestTest]) {
  create({ seed: "s" });
}
// @ts-expect-error: a misspelled option
for (const create of [jestTest, nodeTest]) create({ sed: "s" });
nodeTest()("pays", async ({ store }) => store.pay("order-1"));
`;

/** Packs the built package with npm, and unpacks it in the node_modules of a merchant's project. */
async function installPackage(): Promise<{ readonly project: string; readonly files: readonly string[] }> {
  const folder = tempFolder();
  const source = join(folder, "source");
  for (const file of ["package.json", "README.md", "bin/checkout.cjs", ...DOCUMENTS]) {
    mkdirSync(dirname(join(source, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(source, file));
  }
  for (const copied of ["docs", "fixtures/ci", "fixtures/pictures", "fixtures/shops", "skills"])
    cpSync(join(ROOT, copied), join(source, copied), { recursive: true });
  copyBuilt(join(source, "dist"));
  // Files of an earlier build and of a build of the executable, which must not be packed.
  mkdirSync(join(source, "dist/chunks-0"));
  for (const name of ["chunks-0/chunk.js", "checkout"]) writeFileSync(join(source, "dist", name), "");
  // The package is already built, so `npm pack` must not build it again.
  writeFileSync(join(source, "build.ts"), "");
  const pack = ["pack", "--json", "--foreground-scripts=false", "--pack-destination", folder];
  const { stdout } = await runFile("npm", pack, { cwd: source, shell: process.platform === "win32" });
  const [{ filename, files }] = parsePackReport(stdout);
  const project = join(folder, "project");
  const target = join(project, "node_modules/hosted-checkout");
  mkdirSync(target, { recursive: true });
  await runFile("tar", ["-xzf", join(folder, filename), "--strip-components=1", "-C", target]);
  return { project, files: files.map(({ path }) => path) };
}

/** Checks that no file contains the path of the build's folder or home. */
function expectNoPathOfThisMachine(folder: string, files: readonly string[]): void {
  const places = [ROOT, homedir()].map((place) => resolve(place)).filter((place) => place.length > 4);
  const found = files.flatMap((path) => {
    const content = readFileSync(join(folder, path), "latin1");
    return places.filter((place) => content.includes(`${place}/`)).map((place) => `${path}: ${place}`);
  });
  expect(files.length).toBeGreaterThan(50);
  expect(found).toEqual([]);
}

type PackedPackage = { readonly filename: string; readonly files: readonly { readonly path: string }[] };

/** npm's report of the packed files: a list, or an object by package since npm 12. */
function parsePackReport(stdout: string): readonly [PackedPackage] {
  const said = JSON.parse(stdout) as readonly PackedPackage[] | Record<string, PackedPackage>;
  const [only] = Object.values(said);
  if (only === undefined) throw new Error(`npm packed nothing: ${stdout}`);
  return [only];
}

test("the packed package can be imported, required, bundled and type-checked", async () => {
  const { project, files } = await installPackage();
  expectNoPathOfThisMachine(join(project, "node_modules/hosted-checkout"), files);
  const shipped = ["testing.cjs", "testing.mjs", "testing.d.cts", "testing.d.mts"].concat([
    "webhooks.cjs",
    "webhooks.mjs",
    "webhooks.d.cts",
    "webhooks.d.mts",
    "checkout.js",
  ]);
  expect(files).toEqual(expect.arrayContaining(shipped.map((name) => `dist/${name}`)));
  expect(files).toContain("dist/THIRD-PARTY-LICENSES.txt");
  expect(files).toEqual(expect.arrayContaining([...DOCUMENTS]));
  // The package contains every file to which its README links.
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const named = Array.from(
    readme.matchAll(/\]\(([\w./-]+)\)|`(fixtures\/[\w./-]+)`/g),
    ([, link, file]) => link ?? file ?? "",
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !files.some((file) => file === name || file.startsWith(name)))).toEqual([]);
  const installed = JSON.stringify(join(project, "node_modules/hosted-checkout/bin/checkout.cjs"));
  const script = `Object.defineProperty(process.versions, "node", { value: "20.20.2" }); require(${installed});`;
  await expect(runFile(process.execPath, ["-e", script])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /\b22\.22\.2\b.* 20\.20\.2\b.* npm i -D node@24 .* npx --no -- checkout /,
    ) as string,
  });
  // Only a clone can build, and npm warns of packages that run scripts when they are installed.
  const installedFolder = join(project, "node_modules/hosted-checkout");
  const { scripts } = JSON.parse(readFileSync(join(installedFolder, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([]);
  // npm runs the script in this way.
  const options = { cwd: installedFolder, shell: true };
  expect((await runFile(scripts["postprepare"] ?? "exit 1", options)).stdout).toBe("");
  expect(
    files.filter((file) =>
      /^(src|test|node_modules|build|docs\/internal)\/|^dist\/(checkout|chunks-0\/)/.test(file),
    ),
  ).toEqual(["dist/checkout.js", "dist/checkout.js.map"]);
  expect(files.filter((file) => file.startsWith("dist/docs/"))).toEqual([
    "dist/docs/commands.md",
    "dist/docs/control-api.md",
  ]);

  const write = (name: string, text: string): void => writeFileSync(join(project, name), text);
  const node = async (...args: string[]): Promise<string> =>
    (await runFile(process.execPath, args, { cwd: project })).stdout.trim();
  write("esm.mjs", `import { verifySignature, verifyWebhook } from "hosted-checkout/webhooks";${USE}`);
  write("cjs.cjs", `const { verifySignature, verifyWebhook } = require("hosted-checkout/webhooks");${USE}`);
  expect([await node("esm.mjs"), await node("cjs.cjs")]).toEqual([PRINTED, PRINTED]);
  // A module bundled into ESM must not need `require`.
  await build({
    entryPoints: [join(project, "esm.mjs")],
    outfile: join(project, "bundle.mjs"),
    bundle: true,
    platform: "node",
    format: "esm",
  });
  expect(await node("bundle.mjs")).toBe(PRINTED);
  expect(await node("node_modules/hosted-checkout/bin/checkout.cjs", "--version")).toBe(VERSION);

  for (const name of ["typed.ts", "typed.mts", "typed.cts"]) write(name, TYPED);
  // The compiler's own libraries are not checked.
  const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022"].concat(
    "--skipDefaultLibCheck",
  );
  let types = ["--types", ""];
  let libraries = ["--lib", "es2022"];
  let compiler = TSC;
  const check = (module: string, resolution: string, ...names: string[]): Promise<unknown> => {
    const modules = ["--module", module, "--moduleResolution", resolution];
    return runFile(process.execPath, [compiler, ...strict, ...libraries, ...types, ...modules, ...names], {
      cwd: project,
    }).catch((error: { readonly stdout: string }) => Promise.reject(new Error(error.stdout)));
  };
  await check("nodenext", "nodenext", "typed.mts", "typed.cts");

  symlinkSync(join(ROOT, "node_modules/better-sqlite3"), join(project, "node_modules/better-sqlite3"));
  write("suite.mjs", `import { CheckoutError, startSandbox } from "hosted-checkout/testing";${SUITE}`);
  write("suite.cjs", `const { CheckoutError, startSandbox } = require("hosted-checkout/testing");${SUITE}`);
  const [imported, required] = [await node("suite.mjs"), await node("suite.cjs")];
  expect([required, imported.slice(38)]).toEqual([imported, '",true,true,"invalid_parameter"]']);
  for (const name of ["suite.ts", "suite.mts", "suite.cts"]) write(name, TYPED_SUITE);
  write("kits.ts", TYPED_KITS);
  // A project without @types/node, or with TypeScript 7, which includes no types by itself.
  libraries = [];
  await check("nodenext", "nodenext", "suite.mts", "suite.cts");
  libraries = ["--lib", "es2022"];
  types = ["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types")];
  await check("esnext", "bundler", "typed.ts", "suite.ts");
  // Many projects still use the resolution `node10`, which ignores `exports`; TypeScript 7 has removed it.
  compiler = OLDER_TSC;
  await check("commonjs", "node10", "typed.ts", "suite.ts");
  // The runners' own types are not installed.
  await check("commonjs", "node10", "--skipLibCheck", "kits.ts");
});
