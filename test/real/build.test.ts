import { execFile } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { INPUTS, updateOutput, type BuildKind } from "../../bin/build/output.ts";
import { copyBuilt } from "../support/built.ts";
import { launch } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const DAY_MS = 86_400_000;
const runFile = promisify(execFile);

/** A script that builds only the program; the types of the kit would take twice as long. */
const BUILD_PROGRAM = `
import { buildProgram } from "./bin/build/program.ts";
import { updateOutput } from "./bin/build/output.ts";
await updateOutput({ root: ".", out: "dist", kind: "package", make: (folder) => buildProgram(folder) });
`;

/** Creates a clone as `npm ci` leaves it. */
function clone(): string {
  const folder = tempFolder();
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const name of INPUTS.filter((input) => !input.startsWith("node_modules")))
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  copyBuilt(join(folder, "dist"));
  return folder;
}

/** Every file of a folder except the compile cache, with its inode and the time of its last change. */
function stateOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith("compile-cache"))
    .map((name) => `${name} ${statSync(join(folder, name)).ino} ${statSync(join(folder, name)).ctimeMs}`)
    .toSorted();
}

test("npm ci keeps an up-to-date build, npx never builds, and an unbuilt program suggests npm ci", async () => {
  const folder = clone();
  const env = { ...process.env, npm_config_cache: tempFolder() };
  const options = { cwd: folder, env, shell: process.platform === "win32" };
  await runFile(process.execPath, ["build.ts"], options);
  writeFileSync(join(folder, "dist/checkout"), "the executable");
  const before = stateOf(join(folder, "dist"));
  await runFile("npm", ["run", "--silent", "postprepare"], options);
  appendFileSync(join(folder, "src/core/text.ts"), "// Changed.\n");
  const { stdout } = await runFile("npx", ["--offline", "checkout", "--version"], options);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(stateOf(join(folder, "dist"))).toEqual(before);
  rmSync(join(folder, "dist"), { recursive: true });
  const unbuilt = runFile(process.execPath, ["bin/checkout.cjs", "--version"], options);
  await expect(unbuilt).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^.*\bnpm ci\b.*\n$/) as string,
  });
});

test("a running sandbox still loads the JavaScript chunks of its own build after another build replaced the files", async () => {
  const folder = clone();
  writeFileSync(join(folder, "dist/checkout"), "the executable");
  const bin = join(folder, "bin/checkout.cjs");
  const start = [bin, "sandbox", "start", "--json", "--port", "0"];
  const sandbox = await launch(start, { cwd: tempFolder(), command: [process.execPath] });
  const { checkout_origin: origin } = JSON.parse(sandbox.output.stdout) as {
    readonly checkout_origin: string;
  };
  const manifest = readFileSync(join(folder, "package.json"), "utf8");
  writeFileSync(join(folder, "package.json"), manifest.replace(/"version": ".*?"/, '"version": "7.7.7"'));
  appendFileSync(join(folder, "src/sandbox/pages/portal/portal.ts"), "\nconsole.log(1);\n");
  await runFile(process.execPath, ["--input-type=module", "-e", BUILD_PROGRAM], { cwd: folder });
  expect((await runFile(process.execPath, [bin, "--version"])).stdout).toBe("7.7.7\n");
  expect(readFileSync(join(folder, "dist/checkout"), "utf8")).toBe("the executable");
  // The sandbox loads the code of an address at the first request to it.
  const statuses = ["/", "/portal/", "/__sandbox/openapi.json", "/pay/none"].map(
    async (path) => (await fetch(origin + path)).status,
  );
  expect(await Promise.all(statuses)).toEqual([200, 404, 401, 404]);
});

test("a stack trace of the program refers to files of src", async () => {
  const planted = join(tempFolder(), "planted.cjs");
  writeFileSync(planted, 'process.umask = () => { throw new Error("planted"); };');
  const started = runFile(process.execPath, ["-r", planted, join(ROOT, "bin/checkout.cjs"), "--version"]);
  await expect(started).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^Error: planted\n.*\n {4}at realWorld \(src\/world\/real\.ts:\d+:\d+\)$/m,
    ) as string,
  });
});

test.each([
  ["Bun", 'Object.defineProperty(process.versions, "bun", { value: "1.3.1" });'],
  ["Bun", "globalThis.Bun = {};"],
  ["Deno", 'Object.defineProperty(process.versions, "deno", { value: "2.5.0" });'],
  ["Deno", "globalThis.Deno = {};"],
])("an unsupported runtime is refused with one sentence: %s", async (runtime, definition) => {
  const simulated = join(tempFolder(), "simulated.cjs");
  writeFileSync(
    simulated,
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "24.3.0" } });
${definition}`,
  );
  const started = runFile(process.execPath, ["-r", simulated, join(ROOT, "bin/checkout.cjs"), "--version"]);
  await expect(started).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(
      new RegExp(String.raw`^(?=.*22\.22\.2)(?=.*\b${runtime}\b)(?=.*https://nodejs\.org).+\n$`),
    ) as string,
  });
});

/** Creates a repository with one source file, and a build that copies it. */
function createRepository() {
  const root = tempFolder();
  const [out, source] = [join(root, "dist"), join(root, "src/source.ts")];
  for (const name of [...INPUTS.filter((input) => input !== "src"), "src/source.ts"]) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), "1");
  }
  const made: string[] = [];
  const build = async (kind: BuildKind, whileItBuilds: () => unknown = () => undefined): Promise<void> =>
    updateOutput({
      root,
      out,
      kind,
      make: async (folder) => {
        const text = readFileSync(source, "utf8");
        made.push(`${kind} ${text}`);
        await whileItBuilds();
        const names = kind === "package" ? ["checkout.js", `chunks-${text}/a.js`] : ["checkout"];
        mkdirSync(join(folder, `chunks-${text}`));
        for (const name of names) writeFileSync(join(folder, name), text);
      },
    });
  const read = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(out, { recursive: true, encoding: "utf8" })
        .filter((name) => !name.includes(".stamp") && statSync(join(out, name)).isFile())
        .map((name) => [name, readFileSync(join(out, name), "utf8")]),
    );
  return { root, out, made, build, read, change: (text: string) => writeFileSync(source, text) };
}

test("a build replaces only outdated files, and a package build and an executable build keep each other's files", async () => {
  const { root, out, made, build, read, change } = createRepository();
  for (const kind of ["package", "executable", "package", "executable"] as const) await build(kind);
  expect(made).toEqual(["package 1", "executable 1"]);
  change("2");
  await build("package");
  expect(read()).toEqual({ "checkout.js": "2", "chunks-1/a.js": "1", "chunks-2/a.js": "2", checkout: "1" });
  await build("executable");
  expect(read()).toMatchObject({ "checkout.js": "2", checkout: "2" });
  // A build that was killed while it moved its files, or a concurrent build, may leave an older file.
  writeFileSync(join(out, "checkout.js"), "1");
  await build("package");
  expect(read()).toMatchObject({ "checkout.js": "2" });
  writeFileSync(join(root, "node_modules/.package-lock.json"), '{"packages":{}}');
  await build("package");
  writeFileSync(join(out, ".package.stamp"), "");
  await build("package");
  await build("package");
  expect(made.slice(2)).toEqual(["package 2", "executable 2", "package 2", "package 2", "package 2"]);
});

test("concurrent builds of changing sources produce complete files", async () => {
  const { out, made, build, read, change } = createRepository();
  await Promise.all([build("package"), build("package"), build("executable")]);
  expect(read()).toEqual({ "checkout.js": "1", "chunks-1/a.js": "1", checkout: "1" });
  change("2");
  await build("package", () => change("3"));
  made.length = 0;
  change("2");
  await build("package");
  // A build whose sources changed meanwhile may be half old and half new, so the next build does not rely on it.
  expect(made).toEqual(["package 2"]);
  await expect(build("executable", () => Promise.reject(new Error("a mistake")))).rejects.toThrow(
    "a mistake",
  );
  expect(readdirSync(out).filter((name) => name.startsWith("unfinished"))).toEqual([]);
  expect(read()).toMatchObject({ "checkout.js": "2", checkout: "1" });
});

test("replaced chunks and leftovers of killed builds are deleted after a week", async () => {
  const { out, build, read, change } = createRepository();
  const age = (name: string, days: number): void => {
    const at = new Date(Date.now() - days * DAY_MS);
    utimesSync(join(out, name), at, at);
  };
  for (const text of ["1", "2", "3"]) {
    change(text);
    await build("package");
    age(`chunks-${text}`, 20);
  }
  // The third chunks are in use until the next build replaces them, however old they are.
  age("chunks-1", 8);
  age("chunks-2", 6);
  mkdirSync(join(out, "unfinished-1"));
  mkdirSync(join(out, "unfinished-2"));
  age("unfinished-1", 8);
  change("4");
  await build("package");
  expect(Object.keys(read()).toSorted()).toEqual([
    "checkout.js",
    ...["2", "3", "4"].map((n) => `chunks-${n}/a.js`),
  ]);
  expect(["1", "2"].map((n) => existsSync(join(out, `unfinished-${n}`)))).toEqual([false, true]);
});
