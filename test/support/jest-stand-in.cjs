// Runs a test file as jest does, on a machine without jest: in another realm, without dynamic import. Prints ✓ or ✕ and
// the name of each test.
const { readFileSync } = require("node:fs");
const { createRequire, isBuiltin } = require("node:module");
const { dirname, resolve } = require("node:path");
const vm = require("node:vm");

const DEFAULT_TIMEOUT_MS = 30_000;
/** Globals that jest provides itself or from the outer realm, although each realm has its own. */
const SHARED = new Set(["ArrayBuffer", "Uint8Array", "console"]);

const tests = [];
const hooks = { afterEach: [], afterAll: [] };
const declare = (name, run, timeoutMs = DEFAULT_TIMEOUT_MS) => void tests.push({ name, run, timeoutMs });
const globals = {
  test: Object.assign(declare, { only: declare, skip: () => undefined }),
  afterEach: (run) => void hooks.afterEach.push(run),
  afterAll: (run) => void hooks.afterAll.push(run),
};

const context = vm.createContext();
const own = new Set(vm.runInContext("Object.getOwnPropertyNames(globalThis)", context));
for (const name of Object.getOwnPropertyNames(globalThis))
  if (!own.has(name) || SHARED.has(name))
    Object.defineProperty(context, name, { value: globalThis[name], writable: true, configurable: true });

const loaded = new Map();
function load(path) {
  const known = loaded.get(path);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(path, module);
  const outer = createRequire(path);
  const inner = (name) => {
    if (name === "@jest/globals") return globals;
    const found = isBuiltin(name) ? name : outer.resolve(name);
    return isBuiltin(name) || found.endsWith(".node") ? outer(found) : load(found);
  };
  inner.resolve = outer.resolve;
  const names = ["exports", "require", "module", "__filename", "__dirname"];
  const run = vm.compileFunction(readFileSync(path, "utf8"), names, {
    filename: path,
    parsingContext: context,
  });
  run(module.exports, inner, module, path, dirname(path));
  return module.exports;
}

async function within({ run, timeoutMs }) {
  let timer;
  const late = new Promise((_done, fail) => {
    timer = setTimeout(() => fail(new Error(`Exceeded timeout of ${timeoutMs} ms`)), timeoutMs);
  });
  await Promise.race([run(), late]).finally(() => clearTimeout(timer));
}

async function main() {
  load(resolve(process.argv[2]));
  for (const one of tests) {
    const error = await within(one).then(
      () => undefined,
      (thrown) => thrown,
    );
    for (const hook of hooks.afterEach) await hook();
    process.stderr.write(`${error === undefined ? "✓" : `✕ (${error.message})`} ${one.name}\n`);
  }
  for (const hook of hooks.afterAll) await hook();
}

void main();
