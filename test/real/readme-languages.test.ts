import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { MAX_SIGNATURES, SIGNATURES } from "../../src/core/webhook/signature.ts";
import { createHarness } from "../support/harness.ts";
import { hasLanguage, type TestedLanguage } from "../support/machine.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

const VECTORS = join(ROOT, "fixtures/signatures.json");
const { vectors } = JSON.parse(readFileSync(VECTORS, "utf8")) as {
  readonly vectors: readonly { readonly description: string; readonly expected: string }[];
};

/** A language: its program, what is around the block of the README, and how a file is run. */
type Language = {
  readonly name: TestedLanguage;
  readonly program: string;
  readonly args: readonly string[];
  readonly file: string;
  readonly around: (block: string) => string;
};

const LANGUAGES: readonly Language[] = [
  {
    name: "python",
    program: "python3",
    args: [],
    file: "verify.py",
    around: (block) => `${block}
import base64, json, sys
print(json.dumps([is_genuine(c["secrets"], c["headers"], base64.b64decode(c["body_base64"]), c["now"], c["tolerance_seconds"])
                  for c in json.load(open(sys.argv[1]))["vectors"]]))
`,
  },
  {
    name: "php",
    program: "php",
    args: [],
    file: "verify.php",
    // A server of PHP joins the lines of a header so.
    around: (block) => `<?php
${block}
function header_of(array $case, string $name): string {
    $lines = array_filter($case['headers'], fn ($line) => strtolower($line[0]) === $name);
    return implode(', ', array_column($lines, 1));
}
$cases = json_decode(file_get_contents($argv[1]), true)['vectors'];
echo json_encode(array_map(fn ($c) => is_genuine($c['secrets'], header_of($c, 'checkout-timestamp'),
    header_of($c, 'checkout-signature'), base64_decode($c['body_base64']), $c['now'], $c['tolerance_seconds']), $cases));
`,
  },
  {
    name: "go",
    program: "go",
    args: ["run"],
    file: "verify.go",
    around: (block) => `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
)

${block}
func main() {
	var cases struct {
		Vectors []struct {
			Secrets   []string
			Headers   [][2]string
			Body      []byte \`json:"body_base64"\`
			Now       int64
			Tolerance int64 \`json:"tolerance_seconds"\`
		}
	}
	text, _ := os.ReadFile(os.Args[1])
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	verdicts := []bool{}
	for _, c := range cases.Vectors {
		headers := http.Header{}
		for _, line := range c.Headers {
			headers.Add(line[0], line[1])
		}
		verdicts = append(verdicts, isGenuine(c.Secrets, headers, c.Body, c.Now, c.Tolerance))
	}
	told, _ := json.Marshal(verdicts)
	fmt.Println(string(told))
}
`,
  },
];

test("the verifiers that the README shows in other languages agree with every vector", async () => {
  expect(vectors.length).toBe(104);
  const folder = tempFolder();
  for (const { name, program, args, file, around } of LANGUAGES) {
    const block = new RegExp(`\`\`\`${name}\n([\\s\\S]*?)\`\`\``).exec(README)?.[1] ?? "";
    // Where the language is not there, its strict forms are still those of the service.
    expect([name, block.includes("[1-9][0-9]{9}")]).toEqual([name, true]);
    expect([name, block.includes(`[0-9a-f]{64}(,[0-9a-f]{64}){0,${MAX_SIGNATURES - 1}}`)]).toEqual([
      name,
      true,
    ]);
    expect([name, block.includes("[!-~]+")]).toEqual([name, true]);
    if (!hasLanguage(name)) continue;
    const path = join(folder, file);
    writeFileSync(path, around(block));
    // Go would keep what it builds in the home of whoever runs the tests, where nothing may be writable.
    const env = { ...process.env, GOCACHE: join(import.meta.dirname, "../../node_modules/.cache/go") };
    const { stdout } = await promisify(execFile)(program, [...args, path, VECTORS], { env });
    const verdicts = (JSON.parse(stdout) as boolean[]).map((isGenuine, at) => [vectors[at], isGenuine]);
    const expected = vectors.map((vector) => [vector, vector.expected === "valid"]);
    expect([name, verdicts]).toEqual([name, expected]);
  }
  expect(SIGNATURES.source).toContain("[0-9a-f]{64}");
});

test("the payload that the README shows has the fields of an event, in their order", async () => {
  const harness = createHarness();
  await harness.start();
  const { stdout } = await harness.run(["trigger", "order.succeeded", "--json"]);
  const { events } = JSON.parse(stdout) as { readonly events: readonly { readonly event_id: string }[] };
  const last = events.at(-1)?.event_id ?? "";
  const shown = await harness.run(["events", "get", last, "--json"]);
  const { body } = JSON.parse(shown.stdout) as { readonly body: string };
  const block = /```json\n(\{"event_id"[\s\S]*?)```/.exec(README)?.[1] ?? "";
  expect(fieldsOf(JSON.parse(block))).toEqual(fieldsOf(JSON.parse(body)));
});

/** The names of an object's fields, those within `data` too. */
function fieldsOf(value: unknown, within = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    [`${within}${name}`].concat(fieldsOf(one, `${within}${name}.`)),
  );
}
