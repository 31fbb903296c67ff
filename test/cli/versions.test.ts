import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { OPERATION_HEADER, VERSION_HEADER } from "../../src/core/control/protocol.ts";
import {
  CONTROL_OPERATIONS,
  OPERATION_NAMES,
  pathOf,
  type OperationName,
} from "../../src/core/control/operations.ts";
import { currentSchemaVersion } from "../../src/store/connection/database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import type { OutboundResult } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { writeAsEarlier } from "../support/older-formats.ts";
import { inOrder } from "../support/in-order.ts";

const ORDER = "orders create --order-id o-1 --price-id price_coffee";
const UNKNOWN = "0199a3c4-5d00-7000-8000-000000000001";
/** Matches notes, one in each line, about sandboxes of these versions and this command. */
const notesOf = (...versions: readonly string[]): RegExp =>
  new RegExp(`^${versions.map((version) => `[^\\n]* ${version}, [^\\n]* 0.3.0; [^\\n]*\\n`).join("")}$`);
const NOTE = notesOf("0.2.0");
const NOTED = expect.stringMatching(NOTE) as string;

const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

async function typed(harness: Harness, line: string, env: Readonly<Record<string, string>> = {}) {
  return harness.run(line.split(" "), { version: "0.3.0", env });
}

/** Simulates a sandbox without an operation by sending its requests to an unknown path. */
function forget(harness: Harness, name: OperationName): void {
  const { method, path } = CONTROL_OPERATIONS[name];
  const asked = new RegExp(`${path.replaceAll(/\{\w+\}/g, "[^/]+")}(\\?|$)`);
  harness.setFault(async (request, deliver) => {
    if (request.method !== method || !asked.test(request.url)) return deliver();
    const { origin } = new URL(request.url);
    const url = `${origin}/__sandbox/stores/default/of-tomorrow`;
    return answerOf(await harness.send({ ...request, url }));
  });
}

function answerOf(result: OutboundResult): OutboundResult {
  if (result.ok)
    expect([result.status, result.headers[VERSION_HEADER.toLowerCase()]]).toEqual([404, "0.2.0"]);
  return result;
}

test("a command for a sandbox of another version prints both versions once, on stderr, and works", async () => {
  const harness = createHarness();
  const { ready } = await harness.start([], { version: "0.2.0" });
  expect(ready.version).toBe("0.2.0");
  const lines = [
    "endpoints list",
    "trigger order.succeeded",
    "events list --since 0 --wait",
    "stores show",
    "admin log",
    ORDER,
    "env",
    "sandbox status",
    "sandbox wait",
    "sandbox start --reuse",
  ];
  for (const line of lines) {
    const plain = await typed(harness, line);
    expect([line, plain.code, plain.stderr]).toEqual([line, 0, NOTED]);
    const inJson = await typed(harness, `${line} --json`);
    expect([line, inJson.stderr]).toEqual([line, NOTED]);
    expect(() => json(inJson.stdout)).not.toThrow();
  }
  const same = await harness.run(["stores", "show"], { version: "0.2.0" });
  expect([same.code, same.stderr]).toEqual([0, ""]);
});

test("--version reports the folder's running sandbox only if it has another version", async () => {
  const harness = createHarness();
  const asked = (env: Readonly<Record<string, string>> = {}) => typed(harness, "--version", env);
  expect(await asked()).toMatchObject({ code: 0, stdout: "0.3.0\n", stderr: "" });
  const sandbox = await harness.start([], { version: "0.2.0" });
  expect(await asked()).toMatchObject({ code: 0, stdout: "0.3.0\n", stderr: NOTED });
  const inJson = await typed(harness, "--version --json");
  expect([inJson.code, json(inJson.stdout), inJson.stderr]).toEqual([0, { version: "0.3.0" }, NOTED]);
  expect(await asked({ CHECKOUT_DIR: join(harness.cwd, "another") })).toMatchObject({ code: 0, stderr: "" });
  expect((await harness.run(["--version"], { version: "0.2.0" })).stderr).toBe("");
  await sandbox.stop();
  expect(await asked()).toMatchObject({ code: 0, stderr: "" });
});

test("listen reports each sandbox version that differs from its own version once", async () => {
  const harness = createHarness();
  const old = await harness.start(["--quiet"], { version: "0.2.0" });
  const listening = await harness.launch(["listen", "--json"], { version: "0.3.0" });
  await typed(harness, "trigger order.created");
  expect(listening.text().stderr).toMatch(NOTE);
  await old.stop();
  await harness.start(["--quiet"], { version: "0.4.0" });
  const both = notesOf("0.2.0", "0.4.0");
  await eventually("the new version is named", () => {
    harness.clock.advance(1000);
    expect(listening.text().stderr).toMatch(both);
  });
  expect((await listening.stop()).stderr).toMatch(both);
});

test.for([
  ["stores show", "storeSummary"],
  ["admin log", "adminLog"],
  [`events replay ${UNKNOWN}`, "replayEvent"],
  ["events list --since 0 --wait", "listEvents"],
  ["listen", "registerListener"],
  ["trigger order.succeeded", "pay"],
  ["checklist", "checklist"],
  ["checklist run webhooks", "openLease"],
] as const)("a command that an older sandbox cannot serve suggests a restart: %s", async ([line, name]) => {
  const harness = createHarness();
  await harness.start([], { version: "0.2.0" });
  forget(harness, name);
  const result = await typed(harness, `${line} --json`);
  const [note = "", problem = ""] = result.stderr.trimEnd().split("\n");
  expect([line, result.code, result.stdout, `${note}\n`]).toEqual([line, 1, "", NOTED]);
  expect(json(problem)).toMatchObject({
    error: { code: "other_version" },
    sandbox_version: "0.2.0",
    version: "0.3.0",
    next: expect.stringMatching(/checkout sandbox start$/) as string,
  });
});

test("with an older sandbox, an unknown id is reported as not found, and an unreadable answer as another version", async () => {
  const harness = createHarness();
  await harness.start([], { version: "0.2.0" });
  const missing = await typed(harness, `events get ${UNKNOWN} --json`);
  expect(json(missing.stderr.split("\n")[1] ?? "")).toMatchObject({ error: { code: "not_found" } });
  harness.setFault(async (_request, deliver) => {
    const answer = await deliver();
    return answer.ok ? { ...answer, body: '{"ok":true,"data":{"other":1}}' } : answer;
  });
  const odd = await typed(harness, "stores show --json");
  expect(json(odd.stderr.split("\n")[1] ?? "")).toMatchObject({ error: { code: "other_version" } });
});

test("a sandbox that does not report its version counts as older; an answer to a request without a token has no version", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([], { version: "0.2.0" });
  harness.setFault(async (_request, deliver) => {
    const answer = await deliver();
    return answer.ok ? { ...answer, headers: {} } : answer;
  });
  const shown = await typed(harness, "stores show");
  expect([shown.code, shown.stderr]).toEqual([0, expect.stringMatching(notesOf(String.raw`\D+`))]);
  for (const name of OPERATION_NAMES) {
    const path = pathOf(name, { storeId: "default", id: UNKNOWN });
    const { method } = CONTROL_OPERATIONS[name];
    const { status, headers } = await sandbox.request({ path, method });
    expect([name, status, headers[VERSION_HEADER], headers[OPERATION_HEADER]]).toEqual([
      name,
      401,
      undefined,
      undefined,
    ]);
  }
});

test("a malformed version of the sandbox is escaped and shortened in the note", async () => {
  const harness = createHarness();
  await harness.start([], { version: `9\u001b[2J${"9".repeat(10_000)}` });
  const { stderr } = await typed(harness, "stores show");
  expect(stderr).toMatch(notesOf(String.raw`9\\u\{1b\}\[2J9{1,60}…?`));
});

test("a command compares versions with the control API of a sandbox, and never with v1 of a service", async () => {
  const harness = createHarness();
  const tokens = { CHECKOUT_CONTROL_TOKEN: "control-token-0123456789" };
  const given = { CHECKOUT_SANDBOX_CONTROL_TOKEN: tokens.CHECKOUT_CONTROL_TOKEN };
  const { ready } = await harness.start(["--ephemeral"], { version: "0.2.0", env: given });
  const env = { ...tokens, CHECKOUT_BASE_URL: ready.base_url, CHECKOUT_API_KEY: ready.api_key ?? "" };
  expect((await typed(harness, "stores show", env)).stderr).toMatch(NOTE);
  const created = await typed(harness, ORDER, env);
  expect([created.code, created.stderr]).toEqual([0, ""]);
});

test("the run.json of a running sandbox of another version is reported, with the remedy", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const path = join(harness.cwd, ".checkout/run.json");
  const written = readFileSync(path, "utf8");
  const run = JSON.parse(written) as { readonly pid: number };
  writeFileSync(path, JSON.stringify({ ...run, port: { v1: 4242 } }));
  const found = inOrder(path, `(pid ${run.pid})`);
  for (const line of [
    "orders list --json",
    "sandbox status --json",
    "sandbox stop --json",
    "whoami --json",
  ]) {
    const refused = await typed(harness, line);
    expect([line, refused.code, json(refused.stderr)]).toMatchObject([
      line,
      1,
      {
        error: { code: "state_file_unreadable", message: expect.stringMatching(found) as string },
        next: expect.stringContaining("--dir") as string,
      },
    ]);
  }
  const { code, stdout, stderr } = await typed(harness, "--version");
  expect([code, stdout, stderr]).toEqual([0, "0.3.0\n", expect.stringMatching(found)]);
  const second = await typed(harness, "sandbox start --json");
  expect(json(second.stderr)).toMatchObject({ error: { code: "already_running" } });
  writeFileSync(path, written);
  await sandbox.stop();
});

test("a folder of an older version is migrated with a note about its backup, and a folder of a newer version is refused with the remedy", async () => {
  const harness = createHarness();
  await (await harness.start()).stop();
  const path = join(harness.cwd, ".checkout", "sandbox.db");
  const present = currentSchemaVersion(SANDBOX_FILE);
  writeAsEarlier(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, -1) });
  const starting = await harness.launch(["sandbox", "start", "--json"]);
  const note = inOrder(` ${path} `, ` ${present - 1} `, ` ${present}; `, ` ${path}.v${present - 1}.backup\n`);
  expect(starting.text().stderr).toMatch(note);
  await starting.stop();
  // The remedy: the backup is renamed to the database.
  renameSync(`${path}.v${present - 1}.backup`, path);
  const again = await harness.launch(["sandbox", "start", "--json"]);
  expect([again.text().stdout, again.text().stderr]).toEqual([
    expect.stringContaining('"ready"'),
    expect.stringMatching(note),
  ]);
  await again.stop();
  expect((await (await harness.launch(["sandbox", "start", "--json"])).stop()).stderr).not.toContain(
    ".backup",
  );
  const later = new Database(path);
  later.pragma(`user_version = ${present + 1}`);
  later.close();
  const before = readFileSync(path);
  for (const line of ["sandbox start --json", "sandbox reset --yes --json", "snapshots list --json"]) {
    const refused = await harness.run(line.split(" "));
    expect([line, refused.code, json(refused.stderr)]).toMatchObject([
      line,
      1,
      {
        error: {
          message: expect.stringMatching(inOrder(path, ` ${present + 1}; `, ` ${present})`)) as string,
        },
        next: expect.stringContaining("--dir") as string,
      },
    ]);
  }
  expect(readFileSync(path).equals(before)).toBe(true);
});
