import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "rolldown";
import { baseOptions, singleFileOptions } from "./bundle.ts";
import { typesIn, typesOf, writeTypes, type TypeFiles } from "./types.ts";

/** Makes the kit report an unsupported Node instead of failing on a missing function. */
const NODE_CHECK = `{
  const { node, bun } = process.versions;
  const [major, minor] = node.split(".").map(Number);
  const needed =
    "hosted-checkout/testing needs Node 22.22.2 or newer, and this is " + (bun === undefined ? node : "Bun") +
    "; in your project, type npm i -D node@24 and run your tests with npx or npm test";
  // The message is not in the line that throws, because Node prints that line too.
  if (bun !== undefined || major < 22 || (major === 22 && minor < 22))
    throw new Error(needed);
}`;

const WEBHOOK_TYPES: TypeFiles = ["core/shape/dialect-file", "core/webhook/webhook", "webhooks"];
const TESTING_TYPES: TypeFiles = [
  "core/shape/dialect-file",
  "core/webhook/webhook",
  "testing/config-types",
  "testing/fault-types",
  "testing/types",
  "testing/errors",
  "testing/explore/types",
  "testing/testing",
];
const FIXTURES = ["vitest", "jest", "node", "playwright"] as const;
/** Test runners that fixtures import; they are not bundled, so that the project's own runner is used. */
const RUNNERS = ["vitest", "@jest/globals"];

export async function buildLibraries(folder: string): Promise<void> {
  const typesFolder = join(folder, "types");
  writeTypes(typesFolder);
  await buildWebhooks(folder, typesFolder);
  await buildTesting(folder, typesFolder);
  await buildFixtures(folder, typesFolder);
  rmSync(typesFolder, { recursive: true });
}

async function buildWebhooks(folder: string, typesFolder: string): Promise<void> {
  const declarations = typesOf(typesFolder, WEBHOOK_TYPES);
  for (const [format, letter] of [
    ["esm", "m"],
    ["cjs", "c"],
  ] as const) {
    const file = join(folder, `webhooks.${letter}js`);
    await build({ ...baseOptions, input: "src/webhooks.ts", output: { ...singleFileOptions, file, format } });
    writeFileSync(join(folder, `webhooks.d.${letter}ts`), declarations);
  }
}

/** One program for both module systems, so that ES modules and CommonJS share its state. */
async function buildTesting(folder: string, typesFolder: string): Promise<void> {
  await build({
    ...baseOptions,
    input: "src/testing/testing.ts",
    external: ["better-sqlite3"],
    output: { ...singleFileOptions, file: join(folder, "testing.cjs"), format: "cjs", banner: NODE_CHECK },
  });
  const declarations = typesOf(typesFolder, TESTING_TYPES);
  const names = [...declarations.matchAll(/^(?:export )?declare (?:class|function) (\w+)/gm)].map(
    ([, name]) => name,
  );
  const esm = `import testing from "./testing.cjs";\nexport const { ${names.join(", ")} } = testing;\n`;
  writeFileSync(join(folder, "testing.mjs"), esm);
  // `await using` needs types that TypeScript loads by default only for the target ESNext.
  const declarationFile = `/// <reference lib="esnext.disposable" />\n${declarations}`;
  for (const letter of ["m", "c"]) writeFileSync(join(folder, `testing.d.${letter}ts`), declarationFile);
}

async function buildFixtures(folder: string, typesFolder: string): Promise<void> {
  await Promise.all(
    FIXTURES.map(async (name) => {
      const source = `testing/fixtures/${name}`;
      // vitest is only available as an ES module.
      const format = name === "vitest" ? "esm" : "cjs";
      const kit = format === "esm" ? "./testing.mjs" : "./testing.cjs";
      const file = join(folder, `testing-${name}.${format === "esm" ? "mjs" : "cjs"}`);
      await build({
        ...baseOptions,
        input: `src/${source}.ts`,
        plugins: [kitPlugin(kit), ...baseOptions.plugins],
        external: RUNNERS,
        output: { ...singleFileOptions, file, format },
      });
      const text = typesIn(typesFolder, source).replaceAll(/"\.\.\/\w+\.ts"/g, `"${kit}"`);
      writeFileSync(join(folder, `testing-${name}.d.mts`), text.replaceAll("testing.cjs", "testing.mjs"));
      if (format === "esm") return;
      writeFileSync(join(folder, `testing-${name}.d.cts`), text);
      const [, fixtureName = ""] = /^export declare function (\w+)/m.exec(text) ?? [];
      const esm = `import fixtures from "./testing-${name}.cjs";\nexport const { ${fixtureName} } = fixtures;\n`;
      writeFileSync(join(folder, `testing-${name}.mjs`), esm);
    }),
  );
}

/** Keeps the kit out of the bundle, so that fixtures and tests share it. */
function kitPlugin(id: string): Plugin {
  return {
    name: "built kit",
    resolveId: {
      filter: { id: /\/testing\.ts$/ },
      handler: (_path, importer) => (importer === undefined ? null : { id, external: "absolute" }),
    },
  };
}
