import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { pageText } from "../support/documents.ts";
import { hasLanguage } from "../support/machine.ts";
import { run } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const PAGE = pageText("docs/ci.md");

/** A recipe: its files around the block, its command, and the output after its one test has passed. */
type Recipe = {
  readonly language: "python" | "java" | "php" | "go";
  readonly isInstalled: () => boolean;
  readonly files: (block: string) => Readonly<Record<string, string>>;
  readonly prepare?: readonly [program: string, ...args: string[]];
  readonly command: readonly string[];
  readonly passed: RegExp;
};

/** The part of JUnit that the recipe uses, for machines without a build tool. */
const JUNIT = {
  "org/junit/jupiter/api/Test.java": `package org.junit.jupiter.api;
@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME) public @interface Test {}`,
  "org/junit/jupiter/api/Assertions.java": `package org.junit.jupiter.api;
public class Assertions { public static void assertTrue(boolean holds, String why) { if (!holds) throw new AssertionError(why); } }`,
  "Runner.java": `public class Runner { public static void main(String[] args) throws Exception {
for (var method : ShopTest.class.getDeclaredMethods())
  if (method.isAnnotationPresent(org.junit.jupiter.api.Test.class)) { method.setAccessible(true); method.invoke(new ShopTest()); System.out.println("passed"); } } }`,
};

/** The part of PHPUnit that the recipe uses. */
const PHPUNIT = `<?php namespace PHPUnit\\Framework {
abstract class TestCase { protected function assertSame($expected, $actual): void { if ($expected !== $actual) { throw new \\Exception("got $actual"); } } } }
namespace { require "ShopTest.php"; (new ShopTest())->testAnOrderIsPaid(); echo "passed"; }`;

const RECIPES: readonly Recipe[] = [
  {
    language: "python",
    isInstalled: () => hasLanguage("python") && spawnSync("python3", ["-c", "import pytest"]).status === 0,
    files: (block) => ({ "test_shop.py": block }),
    command: ["python3", "-m", "pytest", "-p", "no:cacheprovider"],
    passed: /1 passed/,
  },
  {
    language: "java",
    isInstalled: () => hasLanguage("java"),
    files: (block) => ({ ...JUNIT, "ShopTest.java": block }),
    // The program is so short that optimizing it would take longer than running it.
    prepare: [
      "javac",
      "-J-XX:TieredStopAtLevel=1",
      "-J-XX:+UseSerialGC",
      "-d",
      "out",
      "Runner.java",
      "ShopTest.java",
      "org/junit/jupiter/api/Test.java",
      "org/junit/jupiter/api/Assertions.java",
    ],
    command: ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", "out", "Runner"],
    passed: /^passed$/m,
  },
  {
    language: "php",
    isInstalled: () => hasLanguage("php"),
    files: (block) => ({ "ShopTest.php": block, "runner.php": PHPUNIT }),
    command: ["php", "runner.php"],
    passed: /passed$/,
  },
  {
    language: "go",
    isInstalled: () => hasLanguage("go"),
    files: (block) => ({ "shop_test.go": block, "go.mod": "module shop\n\ngo 1.21\n" }),
    command: ["go", "test", "-count=1", "-v", "./..."],
    passed: /--- PASS: TestAnOrderIsPaid/,
  },
];

test.for(RECIPES)("the recipe for $language creates an order and sees the payment", async (recipe) => {
  const { language, isInstalled, files, prepare, command, passed } = recipe;
  const block = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1] ?? "";
  // Even without the tool, the recipe is checked for the names that every recipe needs.
  for (const needed of ["CHECKOUT_BASE_URL", "CHECKOUT_API_KEY", "Idempotency-Key", "/checkout-sessions/"])
    expect([language, block.includes(needed)]).toEqual([language, true]);
  if (!isInstalled()) return;
  const cwd = tempFolder();
  for (const [name, text] of Object.entries(files(block))) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  if (prepare !== undefined) await promisify(execFile)(prepare[0], prepare.slice(1), { cwd });
  const finished = await run(["exec", "--", ...command], { cwd });
  expect([finished.code, finished.stdout]).toEqual([0, expect.stringMatching(passed)]);
});
