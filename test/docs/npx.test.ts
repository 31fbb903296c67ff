import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const EVERYWHERE = ["*.md", "bin/**", "docs/**/*.md", "fixtures/**/*", "skills/**/*.md", "src/**/*.ts"];
/**
 * Files whose texts may be read on a machine without the package, where a bare `npx checkout` would run a stranger's
 * program.
 */
const ELSEWHERE = ["skills/**/*.md", "src/cli/doctor/**/*.ts", "src/cli/mcp/**/*.ts", "src/host/**/*.ts"];

function found(patterns: readonly string[], wanted: RegExp): string[] {
  const files = globSync([...patterns], { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.flatMap(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return (readFileSync(path, "utf8").match(wanted) ?? []).map(
      (text) => `${path.slice(ROOT.length)}: ${text}`,
    );
  });
}

test("no file suggests npx hosted-checkout, because the package is not published yet", () => {
  expect(found(["README.md"], /npx checkout/g)).not.toEqual([]);
  expect(found(EVERYWHERE, /(?:npx|npm exec)(?: -\S+)* hosted-checkout.*/g)).toEqual([]);
});

test("texts for readers who may not have the package use npx --no, which never installs another package named checkout", () => {
  expect(found(ELSEWHERE, /npx --no -- checkout/g)).not.toEqual([]);
  expect(found(ELSEWHERE, /(?:npx|npm exec)(?: -(?!-no -- )\S+)* checkout.*/g)).toEqual([]);
});
