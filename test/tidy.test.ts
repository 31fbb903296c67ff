import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parse } from "@babel/parser";
import { traverseFast, type Node } from "@babel/types";
import { expect, test } from "vitest";
import { ALL_SETTINGS } from "../src/core/config/settings.ts";
import campaign from "../vitest.campaign.config.ts";
import { TESTS as OF_THE_CORE } from "./mutate/vitest.config.ts";
import { SERVICE_TESTS } from "./mutate/vitest.service.config.ts";
import { GENERATED } from "./support/documents.ts";
import { SLOW_FILES } from "./support/longest-first.ts";

const ROOT = join(import.meta.dirname, "..");
const SRC = join(ROOT, "src");
const MAX_FUNCTION_LINES = 70;
const MAX_FILES = 15;
/** Decisions for users, and internal decisions, with one numbering: references, not pages to read through. */
const DECISIONS = ["docs/decisions.md", "docs/internal/decisions.md"];
const MAX_PROSE_COLUMNS = 120;
const MAX_FILE_LINES = 500;
const MAX_PAGE_BYTES = 12_288;
const MAX_CHANGELOG_BYTES = 8192;
const MAX_DECISIONS_BYTES = 20_480;
const MAX_INTERNAL_DECISIONS_BYTES = 61_440;
const MAX_HEAD_LINES = 3;
/** Packages with which tests start processes. */
const PROCESS_PACKAGES = new Set(["node:child_process", "node:cluster", "playwright-core"]);

/** The allowed imports of each folder: other folders of src, and packages, which are also in ARCHITECTURE.md. */
const LAYERS: Readonly<
  Record<string, { readonly folders: readonly string[]; readonly packages: readonly string[] }>
> = {
  core: {
    folders: [],
    packages: [
      "zod/mini",
      "zod/v4/locales/en.js",
      "ipaddr.js",
      "jsonc-parser",
      "leven",
      "node:crypto",
      "node:net",
      "node:util",
      "node:zlib",
    ],
  },
  store: { folders: ["core"], packages: ["better-sqlite3", "node:fs", "node:path", "node:zlib"] },
  web: {
    folders: ["core", "world.ts"],
    packages: ["hono/html", "hono/utils/accept", "node:crypto", "node:http", "node:https", "node:net"],
  },
  sandbox: {
    folders: ["store", "web", "core", "world.ts"],
    packages: ["htmx.org/dist/htmx.min.js?raw", "uqr"],
  },
  client: { folders: ["core", "world.ts"], packages: [] },
  host: { folders: ["sandbox", "store", "core", "world.ts"], packages: ["node:path"] },
  hosted: {
    folders: ["host", "sandbox", "store", "web", "core", "world.ts"],
    packages: ["cloudflare:workers", "node:buffer", "node:crypto", "node:path"],
  },
  cli: {
    folders: ["host", "hosted", "sandbox", "client", "store", "web", "core", "world.ts", "version.ts"],
    packages: [
      "zod/mini",
      "commander",
      "@modelcontextprotocol/sdk/server/index.js",
      "@modelcontextprotocol/sdk/server/stdio.js",
      "@modelcontextprotocol/sdk/types.js",
      "@inquirer/prompts",
      "chalk",
      "leven",
      "ora",
      "string-width",
      "node:path",
      "node:readline",
      "node:stream",
      "node:url",
      "node:util",
    ],
  },
  // Code that test suites import: it runs the sandbox of the command line in their process.
  testing: {
    folders: ["host", "client", "sandbox", "web", "core", "world", "world.ts", "version.ts"],
    packages: [
      "zod/mini",
      "vitest",
      "@jest/globals",
      "@playwright/test",
      "node:test",
      "node:crypto",
      "node:path",
    ],
  },
  "world.ts": { folders: ["core"], packages: ["node:stream"] },
  "version.ts": { folders: [], packages: [] },
  // Code that merchants import: it runs in their program.
  "webhooks.ts": { folders: ["core"], packages: [] },
  world: {
    folders: ["web", "core", "world.ts"],
    packages: [
      "better-sqlite3",
      "open",
      "uuid",
      "node:child_process",
      "node:crypto",
      "node:fs",
      "node:path",
      "node:perf_hooks",
      "node:sea",
      "node:stream",
      "node:timers",
      "node:timers/promises",
    ],
  },
};

/** Names that reach outside the program; only files of src/world and `EXEMPT` files may use them. */
const AMBIENT = new Set([
  "process",
  "performance",
  "globalThis",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "crypto",
  "console",
  "fetch",
]);
/** Code that a test suite loads, where an error can come from another realm. */
const IN_TEST_SUITES = /^(core|store|web|sandbox|host\/|testing|world)/;
const AMBIENT_MEMBERS = new Set(["Date.now", "Math.random"]);
/** A pattern of all these names, for files that may use them. */
const OUTSIDE = new RegExp(`: (?:${[...AMBIENT, ...AMBIENT_MEMBERS].join("|")})$`);
/**
 * Files that may use some of these names. A merchant's server has no World to pass in, so its default is the machine's
 * clock. A test runner shows the output of its console with the test.
 */
const EXEMPT: Readonly<Record<string, RegExp>> = {
  "webhooks.ts": /: Date\.now$/,
  "testing/fixtures/suite.ts": /: console$/,
  "hosted/world.ts": OUTSIDE,
  // The method by which a runtime hands a request to a Worker and its objects.
  "hosted/index-object.ts": /: fetch$/,
  "hosted/store-object.ts": /: fetch$/,
  "hosted/worker.ts": /: fetch$/,
};

/** Files whose exports are used outside this repository, or by the build. */
const PACKAGED: readonly string[] = [
  "webhooks.ts",
  "testing/testing.ts",
  // Their types are the types of the kit.
  ...["types", "config-types", "fault-types", "explore/types"].map((name) => `testing/${name}.ts`),
  "hosted/worker.ts",
  // The build makes the schema of the package from this file.
  "cli/output/schema.ts",
  ...["vitest", "jest", "node", "playwright"].map((runner) => `testing/fixtures/${runner}.ts`),
];

/** Files with a pattern that may match a sentence of the program by accident. */
const READS_SENTENCES: ReadonlySet<string> = new Set([
  // Logs of older versions have only the message.
  "core/explain/older-refusals.ts",
  // A description of an option states its default in brackets.
  "cli/help/map.ts",
  // Names of headers, PEM, and texts that people paste in place of a secret.
  "core/calibration/calibration.ts",
  "core/webhook/certificates.ts",
  "core/webhook/forwarding.ts",
  "core/webhook/diagnosis/pasted-secrets.ts",
]);

/** Words of texts from outside that a message of the program also has, by file; a file alone: all its words. */
const READS_WORDS: ReadonlySet<string> = new Set([
  // Logs of older versions have only the message.
  "core/explain/older-refusals.ts",
  // Answers of receivers.
  "core/explain/delivery-causes.ts",
  // PEM.
  "core/webhook/certificates.ts: BEGIN CERTIFICATE",
  "core/webhook/certificates.ts: END CERTIFICATE",
  // SQLite's report of a damaged database.
  "store/connection/storage-failure.ts: error code",
  // The runtime's error about an object.
  "hosted/connection.ts: internal error",
  // commander's suggestion.
  "cli/hints/hints.ts: you mean",
  // The first line of a completion script of ours, by which an installation recognises it.
  "cli/completion/commands.ts: completion for",
  "cli/completion/commands.ts: for checkout",
  // The colour of a state.
  "cli/table.ts: in progress",
]);

/** Files that compare texts from outside: lines that people type, and errors of libraries. */
const COMPARES_SENTENCES: ReadonlySet<string> = new Set([
  "cli/hints/equivalents.ts",
  // Reads the error texts of OpenSSL.
  "web/failure.ts",
]);

type SourceFile = {
  readonly path: string;
  readonly name: string;
  readonly tree: Node;
  readonly text: string;
};

const sources = files(SRC).map((path) => sourceFile(path, SRC));
const testFiles = files(join(ROOT, "test"))
  .filter((path) => path.endsWith(".ts"))
  .map((path) => sourceFile(path, join(ROOT, "test")));
/** Files that start the program, and files that build and test it. */
const programFiles = [
  ...files(join(ROOT, "bin")),
  ...["build.ts", "vitest.config.ts"].map((name) => join(ROOT, name)),
].map((path) => sourceFile(path, ROOT));

test("the rules of tidy.test.ts have files to check, and find planted violations", () => {
  expect(sources.length).toBeGreaterThan(40);
  expect(imports(source("sandbox/checkout/create.ts"))).toContain("../../core/checkout/checkout.ts");
  expect(offences(fake("export function pay(value: any) { return Date.now() + value!; }")).length).toBe(3);
  const sly = "const later = setTimeout; const { now } = Date; const env = globalThis.process.env;";
  expect(offences(fake(sly)).length).toBe(3);
  const taking = fake('import { a as b } from "./one.ts"; const c = (await import("./two.ts")).d;');
  const taken = ["one.ts a", "two.ts d", "one.ts b"].map((name) => join(SRC, name));
  expect(taken.map((name) => namesImported(taking).includes(name))).toEqual([true, true, false]);
  expect(longFunctions(fake(`function long() {${"\n".repeat(MAX_FUNCTION_LINES + 1)}}`))).toHaveLength(1);
});

test("a folder imports only the folders and packages that its layer allows", () => {
  const forbidden = sources.flatMap((file) => {
    const layer = folderOf(file.name);
    const rule = LAYERS[layer];
    if (rule === undefined) return [`${file.name} is in no layer`];
    return imports(file)
      .filter((specifier) => !isAllowed(file, specifier, layer, rule))
      .map((specifier) => `${file.name} imports ${specifier}`);
  });
  expect(forbidden).toEqual([]);
});

test("only src/world and exempt files access the system, and no file has an any type, an enum, a default export or an empty catch", () => {
  const found = sources.flatMap((file) => {
    const exempt = folderOf(file.name) === "world" ? OUTSIDE : EXEMPT[file.name];
    return offences(file)
      .filter((offence) => exempt?.test(offence) !== true)
      .map((offence) => `${file.name}: ${offence}`);
  });
  expect(found).toEqual([]);
});

test("only one function of src reads files, and it checks each file first, except for the databases of src/store", () => {
  const READS = /\b(?:readFileSync|readFile|createReadStream|openAsBlob)\(/;
  const rest = sources.filter(({ name }) => !name.startsWith("store/"));
  expect(rest.filter(({ text }) => READS.test(text)).map(({ name }) => name)).toEqual([]);
  const opened = rest.flatMap(({ name, text }) =>
    [...text.matchAll(/openSync\([^;]*O_RDONLY/g)].map(() => name),
  );
  // `makePrivate` opens a folder in the first file; `readRegularFile` is in the second.
  expect(opened).toEqual(["world/files.ts", "world/read.ts"]);
});

test("only one file looks up the state folder and the running sandbox of a command", () => {
  const readers = sources.filter(({ text }) => /(?<!function )\b(?:findStateFolder|liveRun)\(/.test(text));
  expect(readers.map(({ name }) => name)).toEqual(["cli/target/surroundings.ts"]);
});

test("code that a test suite loads does not recognise errors by class, because each realm of jest has its own classes", () => {
  const found = sources
    .filter(({ name }) => IN_TEST_SUITES.test(name) && name !== "core/outcome.ts")
    .filter(({ text }) => /instanceof (?:Error|Database\.SqliteError)\b/.test(text))
    .map(({ name }) => name);
  expect(found).toEqual([]);
});

test("code that a test suite loads does not use instanceof to recognise bytes, and takes timers and the time only from world/clock.ts", () => {
  const loaded = sources.filter(({ name }) => IN_TEST_SUITES.test(name));
  const byClass = loaded.filter(({ text }) => /instanceof (?:Uint8Array|ArrayBuffer|Buffer)\b/.test(text));
  expect(byClass.map(({ name }) => name)).toEqual([]);
  const timed = loaded.filter(({ name }) => name.startsWith("world/") && name !== "world/clock.ts");
  const later = timed.filter(
    ({ text }) =>
      /\b(?:setTimeout|clearTimeout|setImmediate|setInterval)\(/.test(text) &&
      !text.includes('from "./clock.ts"'),
  );
  expect(later.map(({ name }) => name)).toEqual([]);
  expect(timed.filter(({ text }) => /\b(?:Date|performance)\.now\b/.test(text))).toEqual([]);
});

test("a table whose keys can be any text is a Map, because an object has inherited names", () => {
  const lookups = sources.flatMap(({ name: file, text }) =>
    Array.from(text.matchAll(/const (\w+): Readonly<Record<string, /g), ([, name = ""]) => name)
      .filter((name) => text.includes(`${name}[`))
      .map((name) => `${file}: ${name}`),
  );
  expect(lookups).toEqual([]);
});

test("every setting is used in the file that ALL_SETTINGS names for its effect", () => {
  const unused = ALL_SETTINGS.flatMap(({ name, option, servedName, effect }) => {
    const { text } = source(effect);
    return [name, option, servedName].some((word) => text.includes(word)) ? [] : [`${effect}: ${name}`];
  });
  expect(unused).toEqual([]);
});

test("every export is used outside its file", () => {
  const used = new Set([...sources, ...testFiles, ...programFiles].flatMap(namesImported));
  const shared = testFiles.filter(({ name }) => folderOf(name) === "support");
  const unused = [...sources, ...shared].flatMap(({ path, name, text }) =>
    [...text.matchAll(/^export (?:async )?(?:function|const|type|class) (\w+)/gm)]
      .filter(([, symbol = ""]) => !PACKAGED.includes(name) && !used.has(`${path} ${symbol}`))
      .map(([, symbol = ""]) => `${name}: ${symbol}`),
  );
  expect(unused).toEqual([]);
});

test("no regular expression parses a message of the program", () => {
  const reads = (all: readonly SourceFile[]): readonly string[] => {
    const texts = all.flatMap(sentencesIn);
    return all.flatMap((file) =>
      patternsIn(file)
        .filter((pattern) => texts.some((text) => /[\w"] \w/.test(pattern.exec(text)?.[0] ?? "")))
        .map((pattern) => `${file.name} ${pattern.source.slice(0, 20)}`),
    );
  };
  expect(reads(sources).filter((found) => !READS_SENTENCES.has(found.split(" ")[0] ?? ""))).toEqual([]);
  const told = fake("const said = `store ${id} is not active, so it cannot open a checkout`;");
  expect(reads([told, fake("const isOff = /is not active/;")])).toEqual(["fake.ts is not active"]);
  expect(reads([told, fake("const isUuid = /^store [0-9a-f-]+$/; const own = /is gone/;")])).toEqual([]);
});

test("no pattern or text search contains two adjacent words of a message of the program", () => {
  const reads = (all: readonly SourceFile[]): readonly string[] => {
    const texts = all.flatMap(sentencesIn);
    const own = new Set(texts.flatMap(wordPairs));
    const chinese = texts.filter((text) => CHINESE.test(text)).join("\n");
    const constants = new Map(all.flatMap(namedTexts));
    return all.flatMap((file) =>
      wordsRead(file, constants)
        .filter((words) => own.has(words) || (CHINESE.test(words) && chinese.includes(words)))
        .map((words) => `${file.name}: ${words}`),
    );
  };
  const isOther = (found: string): boolean =>
    READS_WORDS.has(found) || READS_WORDS.has(found.split(":")[0] ?? "");
  expect(reads(sources).filter((found) => !isOther(found))).toEqual([]);
  const told = fake(
    "const said = [`store ${id} is not active, so it cannot be paid`, '商店未启用'];",
    "told.ts",
  );
  const sly = [
    "/is not active/.test(said)",
    "/store (.*) is not (?=active)/.exec(said)",
    "/^warning: .*not active(.*)/.exec(said)",
    'new RegExp("it cannot").exec(said)',
    'said.includes("not active")',
    'said.split(", so it cannot ")',
    'said.search("be paid")',
    "said.endsWith(END)",
    "/^商店(.*)/.exec(said)",
  ];
  const found = sly.map(
    (text) => reads([told, fake(`const END = "it cannot be paid"; ${text};`)]).length > 0,
  );
  expect(found).toEqual(sly.map(() => true));
  const right =
    'const isUuid = /^store [0-9a-f-]+$/; const own = /is gone/; const has = said.includes("not");';
  expect(reads([told, fake(right)])).toEqual([]);
});

test("no code compares a text with a message of the program, or looks up a text by a message", () => {
  const compares = (all: readonly SourceFile[]): readonly string[] => {
    const sentences = new Map(all.flatMap(namedTexts));
    return all.flatMap((file) =>
      comparedTexts(file)
        .map((node) => textOf(node) || textNamed(constantIn(node), file, sentences))
        .filter((text) => /[A-Za-z]+ [A-Za-z]+ [A-Za-z]+/.test(text) && !OTHER_TEXTS.test(text))
        .map((text) => `${file.name} ${text.slice(0, 20)}`),
    );
  };
  const own = compares(sources).filter((found) => !COMPARES_SENTENCES.has(found.split(" ")[0] ?? ""));
  expect(own).toEqual([]);
  const sly = [
    'const isOff = said === "it was switched off";',
    "const AWAY = `its listener ${name} went away`; const isAway = AWAY !== said;",
    'switch (said) { case "it was switched off": break; }',
    'const at = said.startsWith("it was switched off");',
    'const causes = new Map([["it was switched off", 1]]);',
    'const cause = { "it was switched off": 1 }[said];',
  ];
  expect(sly.map((text) => compares([fake(text)]).length)).toEqual(sly.map(() => 1));
  const right = 'const isDone = state === "in progress"; const said = "it was switched off";';
  expect(compares([fake(right)])).toEqual([]);
});

test("ARCHITECTURE.md shows the packages that LAYERS allows", () => {
  const rows = [
    ...readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8").matchAll(
      /^\| `src\/(\w+)\/` \|[^|]*\|([^|]*)\|$/gm,
    ),
  ];
  expect(rows.length).toBeGreaterThanOrEqual(6);
  for (const [, folder = "", packages = ""] of rows) {
    const shown = packages
      .split(",")
      .map((name) => name.trim())
      .filter(Boolean);
    expect([folder, shown]).toEqual([folder, LAYERS[folder]?.packages]);
  }
});

test("every path that the documents name exists", () => {
  const layers = [...Object.keys(LAYERS).filter((name) => !name.includes(".")), "src", "test", "bin"].join(
    "|",
  );
  const pattern = new RegExp(`\`((?:${layers})/[\\w./-]*)\``, "g");
  const paths = documents().flatMap((document) =>
    [...readFileSync(document, "utf8").matchAll(pattern)].map(([, path = ""]) => ({ document, path })),
  );
  expect(paths.length).toBeGreaterThan(50);
  const missing = paths.filter(({ path }) => !existsSync(join(ROOT, path)) && !existsSync(join(SRC, path)));
  expect(missing).toEqual([]);
});

test("every path that a comment names exists, and the comment at the head of a file has at most 3 lines", () => {
  const pattern =
    /(?<![\w/-])(?:cli|core|store|web|sandbox|hosted|host|client|testing|world|test|bin|docs)\/[\w./-]*[\w/]/g;
  const cited = sources.flatMap(({ name, text }) =>
    (text.match(/^ *(?:\/\/|\*|\/\*\*) .*$/gm) ?? []).flatMap((line) =>
      (line.match(pattern) ?? []).map((path) => ({ name, path })),
    ),
  );
  expect(cited.length).toBeGreaterThan(5);
  const missing = cited.filter(({ path }) => ![SRC, ROOT].some((base) => existsSync(join(base, path))));
  expect(missing).toEqual([]);
  const heads = sources.map(({ name, text }) => ({ name, head: /^(?:\/\/ .*\n)*/.exec(text)?.[0] ?? "" }));
  expect(heads.filter(({ head }) => head.split("\n").length - 1 > MAX_HEAD_LINES)).toEqual([]);
});

test("no folder of src has more than 15 files", () => {
  const counts = new Map<string, number>();
  for (const { name } of sources) counts.set(dirname(name), (counts.get(dirname(name)) ?? 0) + 1);
  expect(counts.size).toBeGreaterThan(20);
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});

test("no files import each other in a cycle, even by type imports or dynamic imports", () => {
  expect(importCycles(sources)).toEqual([]);
  const three = [
    fake('import { two } from "./two.ts";', "one.ts"),
    fake('const three = () => import("./three.ts");', "two.ts"),
    fake('type One = typeof import("./one.ts");', "three.ts"),
  ];
  expect(importCycles([...three, fake('import { one } from "./one.ts";')])).toEqual([
    ["one.ts", "three.ts", "two.ts"],
  ]);
});

test("folders of the core do not import each other in a cycle, and no other folder of the core imports core/control", () => {
  const edges = sources
    .filter(({ name }) => name.startsWith("core/"))
    .flatMap(({ path, name }) => {
      const folder = subfolderOf(name);
      const others = imports(source(name)).map((specifier) =>
        subfolderOf(relative(SRC, resolve(dirname(path), specifier))),
      );
      return others
        .filter((other) => other.startsWith("core") && other !== folder)
        .map((other) => [folder, other]);
    });
  const below = new Map(
    edges.map(([folder = ""]) => [
      folder,
      edges.flatMap(([one, other = ""]) => (one === folder ? [other] : [])),
    ]),
  );
  expect(below.size).toBeGreaterThan(10);
  expect([...below.keys()].filter((folder) => reachedFrom(folder, below).has(folder))).toEqual([]);
  expect(edges.filter(([, other]) => other === "core/control")).toEqual([]);
});

test("no file of src is over 500 lines", () => {
  const long = sources.filter(({ text }) => text.split("\n").length - 1 > MAX_FILE_LINES);
  expect(long.map(({ name }) => name)).toEqual([]);
});

test("no function of src is over 70 lines", () => {
  expect(sources.flatMap(longFunctions)).toEqual([]);
});

/** Patterns of functions of the command line that return a refusal as a value, although they should throw it. */
const HANDED_ON = [
  /if \(!(\w+)\.ok\) return \1;/,
  /if \((\w+)\?\.ok === false\) return \1;/,
  /return (\w+)\.ok \? [^;]*: \1;/,
];

test("the command line's code throws refusals and does not return them", () => {
  const handOn = (text: string): boolean => HANDED_ON.some((pattern) => pattern.test(text));
  const commands = sources.filter(({ name }) => folderOf(name) === "cli");
  expect(commands.filter(({ text }) => handOn(text)).map(({ name }) => name)).toEqual([]);
  const one = "if (!found.ok) return found;";
  const inOne = "return found.ok ? accept(found.value) : found;";
  expect([one, "if (of?.ok === false) return of;", inOne, "return found.ok ? 1 : 2;"].map(handOn)).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

test("a command that opens no database loads no database module", () => {
  const imported = new Map(sources.map((file) => [file.name, loadedBy(file)]));
  const loads = (name: string): boolean => reachedFrom(name, imported).has("store/connection/database.ts");
  const light = [
    "cli/main.ts",
    "cli/whoami.ts",
    "cli/sandbox/env.ts",
    "cli/sandbox/status.ts",
    "cli/order/list.ts",
  ];
  expect([...light, "host/serve.ts"].map(loads)).toEqual([...light.map(() => false), true]);
});

test("every file of src is imported by the program or by an export of the package", () => {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    const file = sources.find((candidate) => candidate.path === path);
    for (const specifier of file === undefined ? [] : imports(file)) {
      if (specifier.startsWith(".")) visit(resolve(dirname(path), specifier));
    }
  };
  visit(join(SRC, "cli/main.ts"));
  visit(join(SRC, "world/real.ts"));
  for (const name of PACKAGED) visit(join(SRC, name));
  expect(sources.filter(({ path }) => !reached.has(path)).map(({ name }) => name)).toEqual([]);
});

test("a test is in the folder of its layer, or in real/ or campaign/ if it starts processes", () => {
  const layers = Object.keys(LAYERS).filter((name) => !name.includes("."));
  const folders = new Set([...layers, "host", "portal", "kit", "docs", "release", "real", "campaign"]);
  const tests = testFiles.filter(({ name }) => name.endsWith(".test.ts"));
  expect(tests.length).toBeGreaterThan(100);
  const strays = tests.map(({ name }) => name).filter((name) => !folders.has(folderOf(name)));
  expect(strays).toEqual(["tidy.test.ts"]);
  const fast = tests.filter(({ name }) => !/^(real|campaign)\//.test(name));
  expect(fast.length).toBeGreaterThan(70);
  const processes = fast.filter((file) => reaches(file, isOfProcesses)).map(({ name }) => name);
  expect(processes).toEqual([]);
  expect(tests.filter((file) => reaches(file, isOfProcesses)).length).toBeGreaterThan(40);
});

test("a test that inserts a row lists the row's columns", () => {
  const ddl = sources.map(({ text }) => text).join("");
  const tables = new Set(Array.from(ddl.matchAll(/CREATE TABLE (\w+)/g), ([, name = ""]) => name));
  expect(tables.size).toBeGreaterThan(20);
  const rows = testFiles.flatMap(({ name, text }) =>
    Array.from(text.matchAll(/INSERT INTO (\w+) (?:VALUES|SELECT)/g), ([, table = ""]) => [name, table]),
  );
  // real/store.test.ts has its own schema, to make a commit fail.
  const own = rows.filter(([name, table = ""]) => tables.has(table) && name !== "real/store.test.ts");
  expect(own).toEqual([]);
});

test("the campaign's list has exactly the tests with campaign sizes, and every listed slow or mutation test exists", () => {
  const sized = testFiles
    .filter(({ name }) => name.endsWith(".test.ts"))
    .filter(({ text }) => /\b(size|part)\(|\bFULL\b/.test(text) && text.includes("/support/campaign.ts"))
    .map(({ name }) => `test/${name}`);
  expect(sized.length).toBeGreaterThan(30);
  expect([...(campaign.test?.include ?? [])].toSorted()).toEqual(sized.toSorted());
  const listed = [...SLOW_FILES, ...OF_THE_CORE, ...SERVICE_TESTS].map((name) =>
    join(ROOT, "test", `${name}.test.ts`),
  );
  expect(listed.filter((path) => !existsSync(path))).toEqual([]);
});

test("every citation of a decision or of the interface refers to an existing entry", () => {
  const decisions = DECISIONS.flatMap(entries).toSorted((one, other) => one - other);
  const numbered = { decision: decisions, interface: entries("INTERFACE.md") };
  for (const numbers of Object.values(numbered))
    expect(numbers).toEqual(numbers.map((_n, index) => index + 1));
  // Each entry has its anchor, to which links lead.
  for (const name of DECISIONS) expect([name, anchored(name)]).toEqual([name, entries(name)]);
  const unresolved = [...commented(), ...documents()].flatMap((path) => {
    // A comment's line break may stand inside a citation.
    const text = readFileSync(path, "utf8").replaceAll(/\n\s*(?:\*|\/\/)?\s*/g, " ");
    const missing = citations(text)
      .filter(({ kind, number }) => !numbered[kind].includes(number))
      .map(({ kind, number }) => `${kind} ${number}`);
    const elsewhere =
      text.match(/[Dd]esign[ ]section|\bissues? (?:\d|of )|interface[:] (?:[A-Z`]|rule)/g) ?? [];
    return missing.concat(elsewhere).map((what) => `${relative(ROOT, path)}: ${what}`);
  });
  expect(unresolved).toEqual([]);
  const last = numbered.interface.length;
  expect(citations(`(interface ${last}, ${last + 1}; decisions 4 to 6 and 9)`)).toEqual([
    { kind: "interface", number: last },
    { kind: "interface", number: last + 1 },
    ...[4, 5, 6, 9].map((number) => ({ kind: "decision", number })),
  ]);
});

test("docs/decisions.md has every decision that messages, assumptions, explanations and pages cite", () => {
  const citable = entries("docs/decisions.md");
  const ofTexts = (texts: readonly string[]): readonly number[] =>
    texts.flatMap(citations).flatMap(({ kind, number }) => (kind === "decision" ? number : []));
  const inSources = sources.map(({ name, tree }) => {
    const texts: string[] = [];
    const numbers: number[] = [];
    traverseFast(tree, (node) => {
      if (node.type === "StringLiteral") texts.push(node.value);
      if (node.type === "TemplateElement") texts.push(node.value.raw);
      numbers.push(...decisionsOf(node));
    });
    return [name, [...ofTexts(texts), ...numbers]] as const;
  });
  const inPages = documents()
    .filter((path) => dirname(path) === join(ROOT, "docs"))
    .concat(join(ROOT, "README.md"), join(ROOT, "skills/checkout/SKILL.md"))
    .map((path) => [relative(ROOT, path), ofTexts([readFileSync(path, "utf8")])] as const);
  const cited = [...inSources, ...inPages];
  expect(new Set(inSources.flatMap(([, numbers]) => numbers)).size).toBeGreaterThan(20);
  const elsewhere = cited.map(([name, numbers]) => [name, numbers.filter((one) => !citable.includes(one))]);
  expect(elsewhere.filter(([, numbers = []]) => numbers.length > 0)).toEqual([]);
});

/** The numbers of decisions that a value has: `decision: 8`, `decisions: [5]`, `STATES_DECISION = 10`. */
function decisionsOf(node: Node): readonly number[] {
  const isValue = node.type === "ObjectProperty" && /^decisions?$/.test(named(node.key));
  const isConstant = node.type === "VariableDeclarator" && named(node.id).endsWith("_DECISION");
  const value = isValue ? node.value : isConstant ? node.init : undefined;
  const values = value?.type === "ArrayExpression" ? value.elements : [value];
  return values.flatMap((one) => (one?.type === "NumericLiteral" ? one.value : []));
}

test("prose in Markdown is wrapped at 120 columns", () => {
  const long = documents().flatMap((path) =>
    proseLines(readFileSync(path, "utf8"))
      .filter(({ text }) => text.length > MAX_PROSE_COLUMNS)
      .map(({ number }) => `${relative(ROOT, path)}:${number}`),
  );
  expect(long).toEqual([]);
  const shown = proseLines("prose\n| a table |\n```sh\na command\n```\n* an item");
  expect(shown.map(({ number }) => number)).toEqual([1, 6]);
});

test("no page that is written by hand is over 12 KB, except the decisions with their own limits", () => {
  const pages = documents().filter(
    (path) => dirname(path) !== ROOT && ![...GENERATED, ...DECISIONS].includes(relative(ROOT, path)),
  );
  expect(pages.length).toBeGreaterThan(0);
  const long = pages.filter((path) => readFileSync(path).length > MAX_PAGE_BYTES);
  expect(long.map((path) => relative(ROOT, path))).toEqual([]);
  const bytes = (name: string): number => readFileSync(join(ROOT, name)).length;
  expect(bytes("ARCHITECTURE.md")).toBeLessThanOrEqual(MAX_PAGE_BYTES);
  expect(bytes("CHANGELOG.md")).toBeLessThanOrEqual(MAX_CHANGELOG_BYTES);
  expect(bytes("docs/decisions.md")).toBeLessThanOrEqual(MAX_DECISIONS_BYTES);
  expect(bytes("docs/internal/decisions.md")).toBeLessThanOrEqual(MAX_INTERNAL_DECISIONS_BYTES);
});

test("no committed file contains a machine's own paths", () => {
  const atTop = readdirSync(ROOT)
    .filter((name) => /\.(md|json|ts)$/.test(name))
    .map((name) => join(ROOT, name));
  const machine = /[/](?:work|root|home)[/]/;
  const offenders = [...commented(), ...atTop, ...documents()].filter((path) =>
    machine.test(readFileSync(path, "utf8")),
  );
  expect(offenders).toEqual([]);
});

/** Whether a test file, or a file that it imports, satisfies `isSuch`. */
function reaches(file: SourceFile, isSuch: (one: SourceFile) => boolean, seen = new Set<string>()): boolean {
  if (isSuch(file)) return true;
  seen.add(file.path);
  return imports(file)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => resolve(dirname(file.path), specifier))
    .filter((path) => !seen.has(path))
    .some((path) => {
      const next = testFiles.find((one) => one.path === path);
      return next !== undefined && reaches(next, isSuch, seen);
    });
}

function isOfProcesses(file: SourceFile): boolean {
  return imports(file).some((specifier) => PROCESS_PACKAGES.has(specifier));
}

function isAllowed(
  file: SourceFile,
  specifier: string,
  layer: string,
  rule: { readonly folders: readonly string[]; readonly packages: readonly string[] },
): boolean {
  if (!specifier.startsWith(".")) return rule.packages.includes(specifier);
  const target = relative(SRC, resolve(dirname(file.path), specifier));
  if (layer === "version.ts") return target === join("..", "package.json");
  // Topics of the help are pages of the documents.
  if (layer === "cli" && /^\.\.\/(?:README|docs\/[a-z]+)\.md\?raw$/.test(target)) return true;
  // The pages show the rules in the words of INTERFACE.md.
  if (layer === "sandbox" && target === join("..", "INTERFACE.md?raw")) return true;
  const folder = folderOf(target);
  return folder === layer || rule.folders.includes(folder);
}

/** The folder of a file in its layer, such as `core/checkout`, or the layer itself. */
function subfolderOf(name: string): string {
  return name.split("/").slice(0, -1).slice(0, 2).join("/");
}

function folderOf(name: string): string {
  return name.split("/")[0] ?? name;
}

/** The files of each import cycle: each file reaches all others. */
function importCycles(all: readonly SourceFile[]): readonly (readonly string[])[] {
  const names = new Map(all.map(({ path, name }) => [path, name]));
  const imported = new Map(
    all.map((file) => {
      const paths = imports(file).map((specifier) => resolve(dirname(file.path), specifier));
      return [file.name, paths.flatMap((path) => names.get(path) ?? [])] as const;
    }),
  );
  const reached = new Map(all.map(({ name }) => [name, reachedFrom(name, imported)]));
  const found = all.map(({ name }) =>
    [...(reached.get(name) ?? [])].filter((other) => reached.get(other)?.has(name) === true),
  );
  const texts = new Set(found.filter(({ length }) => length > 0).map((cycle) => cycle.toSorted().join(" ")));
  return [...texts].map((text) => text.split(" "));
}

/** The files that are loaded together with a file: without imports of types only, and without imports on demand. */
function loadedBy({ path, text }: SourceFile): readonly string[] {
  const found = text.matchAll(/^import (?!type )(?:\{([^}]*)\}|[^;{]*) from "(\.[^"]+)"/gm);
  return Array.from(found, ([, names = "value", specifier = ""]) =>
    names.split(",").every((name) => /^\s*(type .*)?$/.test(name))
      ? []
      : [relative(SRC, resolve(dirname(path), specifier))],
  ).flat();
}

/** The imports of a file, and their imports: the file itself only if it is in a cycle. */
function reachedFrom(name: string, imported: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set<string>();
  const next = [...(imported.get(name) ?? [])];
  for (let one = next.pop(); one !== undefined; one = next.pop()) {
    if (found.has(one)) continue;
    found.add(one);
    next.push(...(imported.get(one) ?? []));
  }
  return found;
}

/** The imports of each file, cached because many tests ask for them. */
const importsOf = new WeakMap<SourceFile, readonly Node[]>();

/**
 * The statements that import, and the expressions that import on demand; only the latter need a search of the whole
 * tree.
 */
function importNodes(file: SourceFile): readonly Node[] {
  const { tree, text } = file;
  const known = importsOf.get(file);
  if (known !== undefined) return known;
  const found: Node[] = tree.type === "File" ? [...tree.program.body] : [];
  if (text.includes("import("))
    traverseFast(tree, (node) => {
      if (importedOnDemand(node).length > 0) found.push(node);
    });
  importsOf.set(file, found);
  return found;
}

/** Everything that a file imports, types and lazy imports included. */
function imports(file: SourceFile): string[] {
  return importNodes(file).flatMap((node) => {
    if (node.type === "ImportDeclaration" || node.type === "ExportAllDeclaration") return [node.source.value];
    if (node.type === "ExportNamedDeclaration" && node.source) return [node.source.value];
    return importedOnDemand(node);
  });
}

function importedOnDemand(node: Node): string[] {
  const isImport = node.type === "CallExpression" && node.callee.type === "Import";
  const called = isImport ? node.arguments[0] : node.type === "TSImportType" ? node.argument : undefined;
  return called?.type === "StringLiteral" ? [called.value] : [];
}

/** The names that a file imports, as `path name`: all words of the file for modules imported whole or on demand. */
function namesImported(file: SourceFile): string[] {
  const words = (): readonly string[] => [...new Set(file.text.match(/\w+/g))];
  const found: string[] = [];
  const note = (specifier: string, names: readonly string[]): void =>
    void found.push(...names.map((name) => `${resolve(dirname(file.path), specifier)} ${name}`));
  for (const node of importNodes(file)) {
    for (const specifier of importedOnDemand(node)) note(specifier, words());
    if ((node.type !== "ImportDeclaration" && node.type !== "ExportNamedDeclaration") || !node.source)
      continue;
    const names = node.specifiers.flatMap((one) => {
      if (one.type === "ImportSpecifier")
        return one.imported.type === "Identifier" ? [one.imported.name] : [];
      return one.type === "ExportSpecifier" ? [one.local.name] : words();
    });
    note(node.source.value, names);
  }
  return found;
}

function offences({ tree }: SourceFile): string[] {
  const found: string[] = [];
  const labels = namesOnly(tree);
  const say = (node: Node, what: string): void =>
    void found.push(`line ${node.loc?.start.line ?? "?"}: ${what}`);
  traverseFast(tree, (node) => {
    if (node.type === "TSAnyKeyword") say(node, "any");
    if (node.type === "TSNonNullExpression") say(node, "non-null assertion");
    if (node.type === "ExportDefaultDeclaration") say(node, "default export");
    if (node.type === "TSEnumDeclaration") say(node, "enum");
    if (node.type === "CatchClause" && node.body.body.length === 0) say(node, "empty catch");
    if (node.type === "NewExpression" && named(node.callee) === "Date" && node.arguments.length === 0) {
      say(node, "new Date() without a time");
    }
    if (node.type === "Identifier" && AMBIENT.has(node.name) && !labels.has(node)) say(node, node.name);
    if (node.type === "MemberExpression" && AMBIENT_MEMBERS.has(named(node))) say(node, named(node));
    // A Date may be constructed or parsed, but not destructured.
    if (node.type === "VariableDeclarator" && node.init && named(node.init) === "Date") say(node, "Date");
  });
  return found;
}

/** Identifiers that only name a property or a type, and reach nothing. */
function namesOnly(tree: Node): ReadonlySet<Node> {
  const labels = new Set<Node>();
  traverseFast(tree, (node) => {
    if (node.type === "MemberExpression" && !node.computed) labels.add(node.property);
    if ((node.type === "ObjectProperty" || node.type === "TSPropertySignature") && !node.computed)
      labels.add(node.key);
    if (node.type === "TSTypeReference") labels.add(node.typeName);
    if (node.type === "TSTypeQuery") labels.add(node.exprName);
  });
  return labels;
}

function named(node: Node): string {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return "";
  return `${named(node.object)}.${node.property.name}`;
}

/** The texts of a file that are sentences for people: neither SQL nor a command. */
function sentencesIn({ tree }: SourceFile): string[] {
  const found: string[] = [];
  traverseFast(tree, (node) => {
    found.push(textOf(node));
  });
  return found.filter(
    (text) =>
      (/[A-Za-z]{2,} [a-z]+ [A-Za-z]{2,}/.test(text) || CHINESE.test(text)) && !OTHER_TEXTS.test(text),
  );
}

/** SQL, also after an interpolated statement, and commands. */
const OTHER_TEXTS =
  /^\s*(?:value1)*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH)\b|ORDER BY|^(?:npx )?checkout /;

/** The string constants of a file: for each, the path with the name, and the text. */
function namedTexts({ path, tree }: SourceFile): (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  traverseFast(tree, (node) => {
    if (node.type === "VariableDeclarator" && node.init && textOf(node.init) !== "")
      found.push([`${path} ${named(node.id)}`, textOf(node.init)]);
  });
  return found;
}

function constantIn(node: Node): string {
  return /^[A-Z][A-Z_]+$/.test(named(node)) ? named(node) : "";
}

/** The text of a constant that a file has or imports; empty for any other name. */
function textNamed(name: string, file: SourceFile, texts: ReadonlyMap<string, string>): string {
  if (name === "") return "";
  const imported = namesImported(file).find((one) => one.endsWith(` ${name}`));
  return texts.get(`${file.path} ${name}`) ?? texts.get(imported ?? "") ?? "";
}

function textOf(node: Node): string {
  if (node.type === "StringLiteral") return node.value;
  if (node.type !== "TemplateLiteral") return "";
  return node.quasis.map(({ value }) => value.cooked ?? "").join("value1");
}

const LOOKS = /^(startsWith|endsWith|includes|indexOf|split|replace|replaceAll|get|has)$/;

/** The texts and names that a file compares with another text, or by which it looks something up. */
function comparedTexts({ tree }: SourceFile): Node[] {
  const found: Node[] = [];
  traverseFast(tree, (node) => {
    if (node.type === "BinaryExpression" && /^[!=]==?$/.test(node.operator))
      found.push(node.left, node.right);
    if (node.type === "SwitchCase" && node.test) found.push(node.test);
    if (node.type === "CallExpression" && LOOKS.test(named(node.callee).split(".").at(-1) ?? ""))
      found.push(...node.arguments.slice(0, 1));
    if (node.type === "ObjectProperty") found.push(node.key);
    if (node.type === "NewExpression" && /^(Map|Set)$/.test(named(node.callee)))
      found.push(...itemsOf(node.arguments[0]).map((item) => itemsOf(item)[0] ?? item));
  });
  return found;
}

function itemsOf(node: Node | undefined): Node[] {
  return node?.type === "ArrayExpression" ? node.elements.flatMap((one) => one ?? []) : [];
}

/** The patterns of a file with a word of four letters or more. */
function patternsIn({ tree }: SourceFile): RegExp[] {
  const found: RegExp[] = [];
  traverseFast(tree, (node) => {
    if (node.type !== "RegExpLiteral") return;
    const words = node.pattern.replaceAll(/\(\?<\w+>|\\[a-zA-Z]|\[[^\]]*\]/g, " ");
    if (/[A-Za-z]{4,}/.test(words)) found.push(new RegExp(node.pattern, node.flags.replace("g", "")));
  });
  return found;
}

/** The words of patterns and of searches in a text: pairs of adjacent words, and Chinese words. */
function wordsRead(file: SourceFile, constants: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  const read = (text: string): void => {
    found.push(...wordPairs(text), ...(text.match(/[\u4e00-\u9fff]{2,}/g) ?? []));
  };
  const textIn = (node: Node | undefined): string => {
    const text = node === undefined ? "" : textOf(node) || textNamed(named(node), file, constants);
    return OTHER_TEXTS.test(text) ? "" : text;
  };
  traverseFast(file.tree, (node) => {
    if (node.type === "RegExpLiteral") literalParts(node.pattern).forEach(read);
    if (node.type === "NewExpression" && named(node.callee) === "RegExp")
      literalParts(textIn(node.arguments[0])).forEach(read);
    if (node.type === "CallExpression" && SEARCHES.test(named(node.callee).split(".").at(-1) ?? ""))
      read(textIn(node.arguments[0]));
  });
  return found;
}

const SEARCHES =
  /^(startsWith|endsWith|includes|indexOf|lastIndexOf|split|replace|replaceAll|match|matchAll|search)$/;
const CHINESE = /[\u4e00-\u9fff]{2}/;

/** The parts of a pattern that stand for themselves. */
function literalParts(pattern: string): string[] {
  return pattern
    .replaceAll(/\(\?(?:<?[=!]|:|<\w+>)|\\b/g, "")
    .replaceAll(/\\s\+?/g, " ")
    .replaceAll(/\[[^\]]*\]|\\[A-Za-z]/g, "|")
    .replaceAll("\\", "")
    .split(/[()|^$.*+?{}]/);
}

/** The pairs of adjacent words of a text, one of them with four letters or more. */
function wordPairs(text: string): string[] {
  const pairs = Array.from(
    text.matchAll(/(?<![A-Za-z])(?=([A-Za-z]+ [A-Za-z]+)(?![A-Za-z\d]))/g),
    ([, pair = ""]) => pair,
  );
  return pairs.filter((pair) => /[A-Za-z]{4,}/.test(pair));
}

function longFunctions(file: SourceFile): string[] {
  const found: string[] = [];
  traverseFast(file.tree, (node) => {
    if (!/Function|ObjectMethod|ClassMethod/.test(node.type) || !("body" in node) || !node.loc) return;
    const lines = node.loc.end.line - node.loc.start.line + 1;
    if (lines > MAX_FUNCTION_LINES) found.push(`${file.name}:${node.loc.start.line} has ${lines} lines`);
  });
  return found;
}

function source(name: string): SourceFile {
  const file = sources.find((candidate) => candidate.name === name);
  if (file === undefined) throw new Error(`no ${name}`);
  return file;
}

function sourceFile(path: string, base: string): SourceFile {
  return { ...fake(readFileSync(path, "utf8")), path, name: relative(base, path) };
}

function fake(text: string, name = "fake.ts"): SourceFile {
  return {
    path: join(SRC, name),
    name,
    text,
    tree: parse(text, { sourceType: "module", plugins: ["typescript"], attachComment: false }),
  };
}

/** Every TypeScript and CommonJS file in src, test and bin. */
function commented(): string[] {
  return [SRC, ...["test", "bin"].map((name) => join(ROOT, name))].flatMap(files);
}

/** The documents at the top, in docs/ and in docs/internal/. */
function documents(): string[] {
  return [ROOT, join(ROOT, "docs"), join(ROOT, "docs/internal")].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name)),
  );
}

/** The lines of a document that are not part of a table or of a code block. */
function proseLines(document: string): { readonly number: number; readonly text: string }[] {
  let fenced = false;
  return document
    .split("\n")
    .map((text, index) => ({ number: index + 1, text }))
    .filter(({ text }) => {
      const fence = text.trimStart().startsWith("```");
      if (fence) fenced = !fenced;
      return !fence && !fenced && !text.startsWith("|");
    });
}

/** The numbers of the entries of a document: `**5. Title.** …`. */
function entries(name: string): number[] {
  const text = readFileSync(join(ROOT, name), "utf8");
  return [...text.matchAll(/^\*\*(\d+)\. /gm)].map(([, number]) => Number(number));
}

/** The numbers of the entries that have an anchor in the line above them. */
function anchored(name: string): number[] {
  const text = readFileSync(join(ROOT, name), "utf8");
  return [...text.matchAll(/^<a id="decision-(\d+)"><\/a>\n\*\*\1\. /gm)].map(([, number]) => Number(number));
}

type Citation = { readonly kind: "decision" | "interface"; readonly number: number };

/** The citations of a text: `decision 5`, `decisions 11 to 14, 45`, `interface 29`. */
function citations(text: string): Citation[] {
  return [...text.matchAll(/\b(decision|interface)s? (\d+(?:(?:, | and | to )\d+)*)/gi)].flatMap(
    ([, word = "", numbers = ""]) => {
      const kind = word.toLowerCase() === "decision" ? "decision" : "interface";
      return numbers.split(/, | and /).flatMap((range) => {
        const [first = 0, end = first] = range.split(" to ").map(Number);
        return Array.from(
          { length: end - first + 1 },
          (_, index) => ({ kind, number: first + index }) as const,
        );
      });
    },
  );
}

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /(?<!\.d)\.(ts|cjs)$/.test(name))
    .map((name) => join(folder, name));
}
