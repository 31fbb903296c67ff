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

type Vector = {
  readonly description: string;
  readonly secrets: readonly string[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body_base64: string;
  readonly now: number;
  readonly tolerance_seconds: number;
  readonly expected: string;
};

const { vectors } = JSON.parse(readFileSync(join(ROOT, "fixtures/signatures.json"), "utf8")) as {
  readonly vectors: readonly Vector[];
};

/** A vector as the functions of the README take it: each header once, and secrets that can be ones. */
type Case = {
  readonly secrets: readonly string[];
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  readonly now: number;
  readonly tolerance: number;
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
cases = json.load(open(sys.argv[1]))
print(json.dumps([is_genuine(c["secrets"], c["timestamp"], c["signature"], base64.b64decode(c["body"]),
                             c["now"], c["tolerance"]) for c in cases]))
`,
  },
  {
    name: "php",
    program: "php",
    args: [],
    file: "verify.php",
    around: (block) => `<?php
${block}
$cases = json_decode(file_get_contents($argv[1]), true);
echo json_encode(array_map(fn ($c) => is_genuine($c['secrets'], $c['timestamp'], $c['signature'],
    base64_decode($c['body']), $c['now'], $c['tolerance']), $cases));
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
	"os"
	"regexp"
	"strconv"
	"strings"
)

${block}
func main() {
	var cases []struct {
		Secrets              []string
		Timestamp, Signature string
		Body                 []byte
		Now, Tolerance       int64
	}
	text, _ := os.ReadFile(os.Args[1])
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	verdicts := []bool{}
	for _, c := range cases {
		verdicts = append(verdicts, isGenuine(c.Secrets, c.Timestamp, c.Signature, c.Body, c.Now, c.Tolerance))
	}
	told, _ := json.Marshal(verdicts)
	fmt.Println(string(told))
}
`,
  },
];

test("the verifiers that the README shows in other languages agree with every vector", async () => {
  const told = vectors.flatMap((vector) => caseOf(vector) ?? []);
  expect(told.length).toBeGreaterThan(80);
  const folder = tempFolder();
  const cases = join(folder, "cases.json");
  writeFileSync(cases, JSON.stringify(told.map(([, one]) => one)));
  for (const { name, program, args, file, around } of LANGUAGES) {
    const block = new RegExp(`\`\`\`${name}\n([\\s\\S]*?)\`\`\``).exec(README)?.[1] ?? "";
    // Where the language is not there, its strict forms are still those of the service.
    expect([name, block.includes("[1-9][0-9]{9}")]).toEqual([name, true]);
    expect([name, block.includes(`[0-9a-f]{64}(,[0-9a-f]{64}){0,${MAX_SIGNATURES - 1}}`)]).toEqual([
      name,
      true,
    ]);
    if (!hasLanguage(name)) continue;
    const path = join(folder, file);
    writeFileSync(path, around(block));
    // Go would keep what it builds in the home of whoever runs the tests, where nothing may be writable.
    const env = { ...process.env, GOCACHE: join(import.meta.dirname, "../../node_modules/.cache/go") };
    const { stdout } = await promisify(execFile)(program, [...args, path, cases], { env });
    const verdicts = (JSON.parse(stdout) as boolean[]).map((isGenuine, at) => [told[at]?.[0], isGenuine]);
    const expected = told.map(([vector]) => [vector, vector.expected === "valid"]);
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

function caseOf(vector: Vector): readonly (readonly [Vector, Case])[] | undefined {
  const { secrets, headers, body_base64: body, now, tolerance_seconds: tolerance, expected } = vector;
  const valuesOf = (wanted: string): string[] =>
    headers.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
  const [timestamp, ...timestamps] = valuesOf("checkout-timestamp");
  const [signature, ...signatures] = valuesOf("checkout-signature");
  if (timestamp === undefined || signature === undefined || expected === "secret_malformed") return undefined;
  if (timestamps.length + signatures.length > 0) return undefined;
  return [[vector, { secrets, timestamp, signature, body, now, tolerance }]];
}
