import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { createTestEvent } from "../../src/core/checkout/event.ts";
import {
  DEFAULT_HEADER_NAMES,
  MAX_SIGNATURES,
  SIGNATURES_PATTERN,
  signHeaders,
} from "../../src/core/webhook/signature.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import { pageText } from "../support/documents.ts";
import { createHarness } from "../support/harness.ts";
import { hasLanguage } from "../support/machine.ts";
import { VECTORS, VECTORS_FILE, type SignatureVector } from "../support/signature-vectors.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { DESCRIBED_SHOPS, GO_CACHE, type ShopLanguage } from "../support/whole-shops.ts";

const express = createRequire(import.meta.url)("express") as () => RequestListener;
const VERIFYING = pageText("docs/verifying.md");
/** A language: the command that runs a file, the file's name, and the code around the page's block. */
type Language = {
  readonly name: Exclude<ShopLanguage, "node">;
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
    // PHP servers join the lines of a header in this way.
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
  {
    name: "java",
    program: "java",
    // The program is so short that optimizing it would take longer than running it.
    args: ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
    file: "Verify.java",
    around: (block) => `import java.nio.file.*; import java.util.*; import java.util.stream.*;
class Verify {
${block}
static byte[] bytes(String text) { return Base64.getDecoder().decode(text); }
static List<String> list(String text) {
    return Stream.of(text.split("[.]", -1)).skip(1).map(one -> new String(bytes(one), java.nio.charset.StandardCharsets.UTF_8)).toList();
}
public static void main(String[] args) throws Exception {
    List<Boolean> verdicts = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of("cases.txt"))) {
        String[] part = line.split("\t", -1);
        verdicts.add(isGenuine(list(part[0]), list(part[1]), list(part[2]), bytes(part[3]), Long.parseLong(part[4]), Long.parseLong(part[5])));
    }
    System.out.println(verdicts);
}
}
`,
  },
];

/** A case as one line, for a language without a JSON parser; a dot precedes each value of a list. */
function asLine({ secrets, headers, ...vector }: SignatureVector): string {
  const list = (values: readonly string[]): string =>
    values.map((value) => `.${Buffer.from(value).toString("base64")}`).join("");
  const valuesOf = (header: string): string[] =>
    headers.filter(([name]) => name.toLowerCase() === header.toLowerCase()).map(([, value]) => value);
  const lists = [
    secrets,
    valuesOf(DEFAULT_HEADER_NAMES.timestamp),
    valuesOf(DEFAULT_HEADER_NAMES.signature),
  ].map(list);
  return `${[...lists, vector.body_base64, vector.now, vector.tolerance_seconds].join("\t")}\n`;
}

test("docs/verifying.md shows the verifiers of the complete shops, which give the expected verdict for every signature vector", async () => {
  expect(VECTORS.length).toBe(104);
  const folder = tempFolder();
  for (const { name, program, args, file, around } of LANGUAGES) {
    const block = new RegExp(`\`\`\`${name}\n([\\s\\S]*?)\`\`\``).exec(VERIFYING)?.[1] ?? "";
    // The page shows the code of the complete shop, without the imports above it.
    const own = block.replace(/^import .*\n+/, "").replaceAll(/^(?=.)/gm, name === "java" ? "    " : "");
    const shop = readFileSync(DESCRIBED_SHOPS[name], "utf8");
    expect([name, own.length > 500 && shop.includes(own)]).toEqual([name, true]);
    // Even without the language, the strict patterns in its code are compared with the patterns of the service.
    expect([name, block.includes("[1-9][0-9]{9}")]).toEqual([name, true]);
    expect([name, block.includes(`[0-9a-f]{64}(,[0-9a-f]{64}){0,${MAX_SIGNATURES - 1}}`)]).toEqual([
      name,
      true,
    ]);
    expect([name, block.includes("[!-~]+")]).toEqual([name, true]);
    if (!hasLanguage(name)) continue;
    const path = join(folder, file);
    writeFileSync(path, around(block));
    writeFileSync(join(folder, "cases.txt"), VECTORS.map(asLine).join(""));
    const env = { ...process.env, GOCACHE: GO_CACHE };
    const { stdout } = await promisify(execFile)(program, [...args, path, VECTORS_FILE], {
      env,
      cwd: folder,
    });
    const verdicts = (JSON.parse(stdout) as boolean[]).map((isGenuine, at) => [VECTORS[at], isGenuine]);
    const expected = VECTORS.map((vector) => [vector, vector.expected === "valid"]);
    expect([name, verdicts]).toEqual([name, expected]);
  }
  expect(SIGNATURES_PATTERN.source).toContain("[0-9a-f]{64}");
});

test("the package's verifier and the Python verifier of docs/verifying.md accept headers in every common form", async () => {
  const secret = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
  const { body: rawBody } = createTestEvent({ id: "e1", storeId: "s1" }, Date.now());
  const timestamp = Math.floor(Date.now() / 1000);
  const signed = signHeaders([secret], { eventId: "e1", timestamp, rawBody: Buffer.from(rawBody) });
  const lines = Object.entries(signed);
  const generate = function* (): Generator<[string, string]> {
    yield* lines;
  };
  const forms = [lines, generate(), lines[Symbol.iterator](), new Map(lines).entries(), signed];
  const verdicts = forms.map((headers) => verifyWebhook({ rawBody, headers, secrets: secret }).ok);
  expect(verdicts).toEqual(forms.map(() => true));
  if (!hasLanguage("python")) return;
  const block = /```python\n([\s\S]*?)```/.exec(VERIFYING)?.[1] ?? "";
  const call = `${block}
import json, sys
lines, body, secret = json.loads(sys.argv[1])
def generate(): yield from map(tuple, lines)
forms = [lines, generate(), iter(lines), dict(lines).items(), dict(lines)]
print(json.dumps([is_genuine([secret], headers, body.encode()) for headers in forms]))`;
  const argument = JSON.stringify([lines, rawBody, secret]);
  const { stdout } = await promisify(execFile)("python3", ["-c", call, argument]);
  expect(JSON.parse(stdout)).toEqual(forms.map(() => true));
});

test("the receivers for Express, Hono and Next.js on docs/verifying.md accept a webhook and refuse a changed webhook", async () => {
  const blocks = Array.from(VERIFYING.matchAll(/```js\n([\s\S]*?)```/g), ([, block = ""]) => block);
  const [setup = "", ...receivers] = blocks;
  expect(setup).toContain('import { verifyWebhook } from "hosted-checkout/webhooks"');
  const secrets = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
  const { body: rawBody } = createTestEvent({ id: "e1", storeId: "s1" }, Date.now());
  const timestamp = Math.floor(Date.now() / 1000);
  const signed = signHeaders([secrets], { eventId: "e1", timestamp, rawBody: Buffer.from(rawBody) });
  const headers = { ...signed, "Content-Type": "application/json" };
  const ran: string[] = [];
  for (const block of receivers) {
    const [framework, answer] = receiverIn(block, secrets) ?? [];
    if (framework === undefined || answer === undefined) continue;
    ran.push(framework);
    const genuine = await answer({ method: "POST", headers, body: rawBody });
    const forged = await answer({ method: "POST", headers, body: `${rawBody} ` });
    expect([framework, genuine.status, forged.status, await forged.text()]).toEqual([
      framework,
      204,
      400,
      "signature_mismatch",
    ]);
  }
  // Fastify is not installed here.
  expect([ran, receivers.length]).toEqual([["express", "hono", "next"], ran.length + 1]);
});

type Answer = (init: RequestInit) => Promise<Response>;

/** The receiver in a block, with the name of its framework; undefined if the framework is not installed. */
function receiverIn(
  block: string,
  secrets: string,
): readonly [framework: string, answer: Answer] | undefined {
  const Body = (() => undefined).constructor as FunctionConstructor;
  const run = (names: string, ...values: unknown[]): unknown =>
    Body(
      "verifyWebhook",
      "secrets",
      ...names.split(" "),
      block.replace("export async", "return async"),
    )(verifyWebhook, secrets, ...values);
  const url = "http://shop.example/hooks";
  if (block.includes("express.raw")) {
    const app = express();
    run("app express", app, express);
    return ["express", (init) => answerOf(app, init)];
  }
  if (block.includes("c.req")) {
    const app = new Hono();
    run("app", app);
    return ["hono", async (init) => app.request(url, init)];
  }
  if (!block.includes("function POST")) return undefined;
  const post = run("module", {}) as (request: Request) => Promise<Response>;
  return ["next", (init) => post(new Request(url, init))];
}

/** Serves an application on node:http for one request; returns its answer. */
async function answerOf(app: RequestListener, init: RequestInit): Promise<Response> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    return await fetch(`http://127.0.0.1:${port}/hooks`, init);
  } finally {
    server.close();
  }
}

test("the event on docs/webhooks.md has the fields of a real event, in the same order", async () => {
  const harness = createHarness();
  await harness.start();
  const { stdout } = await harness.run(["trigger", "order.succeeded", "--json"]);
  const { events } = JSON.parse(stdout) as { readonly events: readonly { readonly event_id: string }[] };
  const last = events.at(-1)?.event_id ?? "";
  const shown = await harness.run(["events", "get", last, "--json"]);
  const { body } = JSON.parse(shown.stdout) as { readonly body: string };
  const block = /```json\n(\{"event_id"[\s\S]*?)```/.exec(pageText("docs/webhooks.md"))?.[1] ?? "";
  expect(fieldsOf(JSON.parse(block))).toEqual(fieldsOf(JSON.parse(body)));
});

/** The names of an object's fields, including the fields of `data`. */
function fieldsOf(value: unknown, within = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    [`${within}${name}`].concat(fieldsOf(one, `${within}${name}.`)),
  );
}
