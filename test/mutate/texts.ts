/** Runs all tests against a copy of the program whose texts have one word more: only goldens of texts may fail. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { changeTexts } from "./change-texts.ts";

/** Tests whose subject is the wording of texts. */
const GOLDENS: ReadonlySet<string> = new Set([
  "cli/commands.test.ts",
  "cli/tables.test.ts",
  "core/control-description.test.ts",
  "core/v1-messages.test.ts",
  "docs/generated.test.ts",
  "host/previous-version.test.ts",
  "real/documents.test.ts",
  "sandbox/assumptions.test.ts",
]);

type Result = { readonly status: string; readonly fullName: string };
type Results = {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly Result[];
  }[];
};

const root = join(import.meta.dirname, "../..");
const copy = mkdtempSync(join(tmpdir(), "checkout-texts-"));
for (const name of execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n"))
  cpSync(join(root, name), join(copy, name));
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
console.log(`${changeTexts(copy)} texts changed`);
const output = join(copy, "results.json");
execFileSync("npm", ["run", "build"], { cwd: copy, stdio: "inherit" });
const options = ["vitest", "run", "--reporter=json", `--outputFile=${output}`, ...process.argv.slice(2)];
spawnSync("npx", options, { cwd: copy, stdio: "ignore" });
const { testResults } = JSON.parse(readFileSync(output, "utf8")) as Results;
const failures = testResults.flatMap(({ name, assertionResults, message }) => {
  const file = relative(join(copy, "test"), name);
  if (GOLDENS.has(file)) return [];
  const failed = assertionResults.filter(({ status }) => status === "failed");
  if (failed.length === 0 && assertionResults.length === 0) return [`${file}: ${message}`];
  return failed.map(({ fullName }) => `${file}: ${fullName}`);
});
const count = testResults.reduce((sum, { assertionResults }) => sum + assertionResults.length, 0);
console.log([...failures, `${count} tests, ${failures.length} of them depend on a text`].join("\n"));
rmSync(copy, { recursive: true });
process.exitCode = failures.length === 0 ? 0 : 1;
