import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { API_KEY_RANDOM_BYTES, formatTestKey } from "../../src/core/credential.ts";
import { NO_SANDBOX } from "../../src/cli/problem.ts";
import { environmentText } from "../../src/cli/sandbox/env.ts";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, type CommandOptions, type Harness, type Result } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";
import { installedShells } from "../support/machine.ts";
import { HOSTILE_TEXTS } from "../support/hostile-texts.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startSandbox } from "../../src/testing/testing.ts";
import type { OutboundResult } from "../../src/world.ts";

const FIELDS =
  "event base_url portal_url checkout_origin merchant_id store_id store_name api_key signing_secret control_token data_dir ephemeral already_running sign_in_url pid version";

type RunLine = (line: string, command?: CommandOptions) => Promise<Result>;

function typist(harness: Harness): RunLine {
  return (line, command) => harness.run(line.split(" "), command);
}

const readyIn = ({ stdout }: Result): ReadyMessage => JSON.parse(stdout) as ReadyMessage;
const problemIn = ({ stderr }: Result) =>
  JSON.parse(stderr) as {
    readonly error: { readonly code: string; readonly message: string };
    readonly differences?: readonly {
      readonly field: string;
      readonly expected: string;
      readonly live: string;
    }[];
    readonly next: string;
  };
const runOf = (harness: Harness) => JSON.parse(harness.readState("run.json")) as { control_token: string };

/** Checks that the sign-in link leads to the sandbox's own portal. */
function expectSignIn({
  base_url: baseUrl,
  portal_url: portalUrl,
  sign_in_url: signInUrl,
}: ReadyMessage): void {
  const { port } = new URL(baseUrl);
  expect(portalUrl).toMatch(new RegExp(`^http://localhost:${port}/portal/k-[\\w-]{22}$`));
  expect(signInUrl).toMatch(/#t=[\w-]{22}$/);
  expect(signInUrl?.replace(/#.*/, "")).toBe(`${portalUrl}/sign-in`);
}

test("the ready line has all fields of a sandbox in memory, a detached sandbox and a sandbox that is already running", async () => {
  const harness = createHarness();
  const type = typist(harness);
  const memory = (await harness.start(["--ephemeral"])).ready;
  expect(Object.keys(memory).join(" ")).toBe(FIELDS);
  expect(memory).toMatchObject({ data_dir: null, ephemeral: true, already_running: false });
  expectSignIn(memory);
  const detached = readyIn(await type("sandbox start --detach --json"));
  expect(Object.keys(detached).join(" ")).toBe(FIELDS);
  expect(detached).toMatchObject({
    store_name: "Sandbox Store",
    already_running: false,
    control_token: runOf(harness).control_token,
  });
  expectSignIn(detached);
  const links = new Set([detached.sign_in_url]);
  for (const flags of ["--detach", "--reuse", "--detach --reuse"]) {
    const again = await type(`sandbox start ${flags} --json`);
    const ready = readyIn(again);
    expectSignIn(ready);
    links.add(ready.sign_in_url);
    const expected = { ...detached, already_running: true, sign_in_url: ready.sign_in_url };
    expect([flags, again.code, ready]).toEqual([flags, 0, expected]);
  }
  expect(links.size).toBe(4);
  const refused = await type("sandbox start --json");
  expect([refused.code, problemIn(refused).error.code]).toEqual([1, "already_running"]);
});

test("a failed detached start prints the sandbox's error, with its exit code", async () => {
  const harness = createHarness();
  const type = typist(harness);
  harness.occupy(5000);
  const taken = await type("sandbox start --detach --port 5000 --json");
  expect([taken.code, taken.stdout, problemIn(taken).error.code]).toEqual([1, "", "port_unavailable"]);
  const wrong = await type("sandbox start --detach --json", {
    env: { CHECKOUT_SANDBOX_CONTROL_TOKEN: "short" },
  });
  expect([wrong.code, problemIn(wrong).error.code]).toEqual([2, "usage"]);
  harness.occupy(4242);
  const moved = await type("sandbox start --detach");
  expect(moved.stderr).toMatch(inOrder("4242", "another-program (pid 4711)", "4243"));
  expect(harness.readState("sandbox.log")).toContain("4243");
});

test("one of several concurrent starts serves, and the other starts print its ready line", async () => {
  const harness = createHarness();
  const type = typist(harness);
  const started = await Promise.all(Array.from({ length: 6 }, () => type("sandbox start --detach --json")));
  expect(started.map(({ code, stderr }) => [code, stderr])).toEqual(started.map(() => [0, ""]));
  const lines = started.map(readyIn);
  expect(new Set(lines.map(({ pid }) => pid)).size).toBe(1);
  expect(lines.filter(({ already_running }) => !already_running)).toHaveLength(1);
});

test("sandbox start --ephemeral refuses --detach and --reuse, and the refusal names an alternative", async () => {
  const type = typist(createHarness());
  for (const flag of ["--detach", "--reuse"]) {
    for (const env of [{}, { CHECKOUT_SANDBOX_EPHEMERAL: "1" }]) {
      const line = `sandbox start ${flag} --json${"CHECKOUT_SANDBOX_EPHEMERAL" in env ? "" : " --ephemeral"}`;
      const refused = await type(line, { env });
      expect([line, refused.code, problemIn(refused).next]).toEqual([
        line,
        2,
        expect.stringContaining('CHECKOUT_DIR="$(mktemp -d)"'),
      ]);
    }
  }
});

/** Options of a start while a sandbox is running, and the field in which the sandbox differs, if any. */
const SETTINGS: readonly (readonly [given: string, differs?: string])[] = [
  ["--port 4300"],
  ["--port 0"],
  ["--port 4301", "port: 4301, 4300"],
  ["--rate-limit 5/s"],
  ["--rate-limit off", "rate_limit: off, 5/s"],
  ["--checkout-lifetime 60m", "checkout_lifetime: 1h, 30m"],
  ["--checkout-lifetime 1800s"],
  ["--delivery-timeout 15s"],
  ["--delivery-timeout 1s", "delivery_timeout: 1s, 15s"],
  ["--deliveries-in-flight 8"],
  ["--deliveries-in-flight 1", "deliveries_in_flight: 1, 8"],
  ["--allow-host b.example,a.example"],
  ["--allow-host a.example", "allow_host: a.example, a.example,b.example"],
  ["--allow-control-host a.example", "allow_control_host: a.example, none"],
  ["--allow-target shop.example", "allow_target: shop.example, none"],
  ["--log-format text"],
  ["--log-format json", "log_format: json, text"],
  ["--quiet", "quiet: yes, no"],
  ["--adopt"],
];

test("a start compares only the options that it is given with the running sandbox, and lists each difference", async () => {
  const harness = createHarness();
  const type = typist(harness);
  await harness.start(
    "--port 4300 --rate-limit 5/s --checkout-lifetime 30m --allow-host a.example,b.example".split(" "),
  );
  for (const [given, differs = ""] of SETTINGS) {
    const again = await type(`sandbox start --reuse ${given} --json`);
    const found = again.code === 0 ? [] : (problemIn(again).differences ?? []);
    const shown = found.map(({ field, expected, live }) => `${field}: ${expected}, ${live}`).join("; ");
    expect([given, again.code, shown]).toEqual([given, differs === "" ? 0 : 2, differs]);
  }
  const env = { CHECKOUT_SANDBOX_RATE_LIMIT: "off", CHECKOUT_SANDBOX_PORT: "1" };
  const both = await type("sandbox start --detach", { env });
  expect([both.code, both.stderr.split("\n")]).toEqual([
    2,
    [
      expect.stringContaining("1001"),
      expect.stringMatching(/^ {2}port {8}\D* 1,\D* 4300$/),
      expect.stringMatching(/^ {2}rate_limit {2}.*\boff,\D* 5\/s$/),
      expect.stringContaining("checkout sandbox stop"),
      "",
    ],
  ]);
});

test("a start refuses a configuration that is invalid or differs from the running sandbox", async () => {
  const harness = createHarness();
  const type = typist(harness);
  const id = "00000000-0000-4000-8000-000000000001";
  const file = (name: string, content: unknown): void =>
    writeFileSync(
      join(harness.cwd, name),
      typeof content === "string" ? content : JSON.stringify({ stores: [content] }),
    );
  const tea = { id: "tea", amount_minor: 700, currency: "EUR", payment_method: "alipay_plus" };
  file("checkout.config.json", { id, name: "T", prices: [tea] });
  expect((await type("sandbox start --detach --port 0")).code).toBe(0);
  file("other.json", { id: id.replace("1", "2"), name: "Other" });
  file("dearer.json", { id, name: "T", prices: [{ ...tea, amount_minor: 800 }] });
  file("faster.json", '{ "sandbox": { "rate_limit": "5/s" } }');
  file("broken.json", "{");
  const rows: readonly (readonly [config: string, code: number, values: RegExp])[] = [
    ["", 0, /^$/],
    ["--config other.json", 2, inOrder("store Other")],
    ["--config dearer.json", 2, inOrder("price tea amount_minor", " 800", " 700")],
    ["--config faster.json", 2, inOrder("rate_limit", " 5/s", " 1000/s")],
    ["--config faster.json --rate-limit 1000/s", 0, /^$/],
    ["--config broken.json", 2, inOrder("broken.json:1")],
    ["--config missing.json", 2, inOrder(join(harness.cwd, "missing.json"))],
  ];
  for (const flag of ["--reuse", "--detach"]) {
    for (const [config, code, values] of rows) {
      const again = await type(`sandbox start ${flag} ${config}`.trim());
      expect([flag, config, again.code, again.stderr]).toEqual([
        flag,
        config,
        code,
        expect.stringMatching(values),
      ]);
    }
  }
  file("checkout.config.json", "{");
  expect((await type("sandbox start --reuse")).stderr).toContain("checkout.config.json:1");
});

const FIRST_SECRETS = {
  CHECKOUT_SANDBOX_API_KEY: formatTestKey(Buffer.alloc(API_KEY_RANDOM_BYTES, 3)),
  CHECKOUT_SANDBOX_SIGNING_SECRET: `whsec_${"s".repeat(43)}`,
  CHECKOUT_SANDBOX_CONTROL_TOKEN: "svc_control_of-the-first-start",
  CHECKOUT_SANDBOX_ADMIN_TOKEN: "svc_admin_of-the-first-start",
};
const OTHER_SECRETS = {
  CHECKOUT_SANDBOX_API_KEY: formatTestKey(Buffer.alloc(API_KEY_RANDOM_BYTES, 4)),
  CHECKOUT_SANDBOX_SIGNING_SECRET: `whsec_${"o".repeat(43)}`,
  CHECKOUT_SANDBOX_CONTROL_TOKEN: "svc_control_of-another-start",
  CHECKOUT_SANDBOX_ADMIN_TOKEN: "svc_admin_of-another-start",
};

test("a start refuses a secret that the running sandbox does not have, and shows no secret", async () => {
  const harness = createHarness();
  const type = typist(harness);
  const first = await type("sandbox start --detach", { env: FIRST_SECRETS });
  for (const flag of ["--reuse", "--detach"]) {
    const same = await type(`sandbox start ${flag}`, { env: FIRST_SECRETS });
    expect([flag, same.code, same.stderr]).toEqual([flag, 0, ""]);
    // Like the first start, this start prints the variable of a given key instead of the key.
    for (const { stdout } of [first, same]) {
      expect(stdout).toMatch(/ CHECKOUT_SANDBOX_API_KEY\n/);
      expect(Object.values(FIRST_SECRETS).filter((secret) => stdout.includes(secret))).toEqual([]);
    }
    for (const [name, value] of Object.entries(OTHER_SECRETS)) {
      const other = await type(`sandbox start ${flag} --json`, { env: { ...FIRST_SECRETS, [name]: value } });
      expect([flag, name, other.code, problemIn(other).differences]).toEqual([
        flag,
        name,
        2,
        [{ field: name, expected: expect.any(String), live: expect.any(String) }],
      ]);
      expect(other.stderr).not.toContain(value);
    }
  }
  const made = JSON.parse((await type("keys create --json")).stdout) as { readonly api_key: string };
  const store = JSON.parse((await type("stores create --json")).stdout) as { readonly api_key: string };
  for (const [key, code] of [
    [made.api_key, 0],
    [store.api_key, 2],
  ] as const) {
    const again = await type("sandbox start --reuse", { env: { CHECKOUT_SANDBOX_API_KEY: key } });
    expect([again.code, again.stdout.includes(key), code === 0 ? again.stderr : ""]).toEqual([
      code,
      false,
      "",
    ]);
  }
});

test("a start with --adopt refuses a running sandbox that has not adopted its copied folder", async () => {
  const harness = createHarness();
  const type = typist(harness);
  await (await harness.start()).stop();
  const copy = join(tempFolder(), ".checkout");
  execFileSync("cp", ["-a", join(harness.cwd, ".checkout"), copy]);
  const started = await type(`sandbox start --detach --dir ${copy}`);
  expect(started.stderr).toContain("--adopt");
  const again = await type(`sandbox start --detach --adopt --dir ${copy} --json`);
  expect(problemIn(again).differences).toEqual([{ field: "adopt", expected: "yes", live: "no" }]);
});

test("sandbox stop ends the sandbox and waits, with or without signals, and exits with 0 if no sandbox runs", async () => {
  for (const signals of [true, false]) {
    for (const start of ["--detach", ""]) {
      const harness = createHarness();
      const type = typist(harness);
      if (start === "") await harness.start();
      else await type(`sandbox start ${start}`);
      const stopped = await type("sandbox stop --json", { signals });
      expect([stopped.code, JSON.parse(stopped.stdout)]).toMatchObject([0, { stopped: true }]);
      expect(() => harness.readState("run.json")).toThrow("ENOENT");
      expect(harness.programOn(4242)).toBeUndefined();
      const again = await type("sandbox stop --json", { signals });
      expect([again.code, JSON.parse(again.stdout)]).toMatchObject([0, { stopped: false, pid: null }]);
      expect((await type("sandbox start --detach")).code).toBe(0);
    }
  }
});

test("sandbox stop sends a request first, and sends a signal only to a sandbox that does not answer", async () => {
  const harness = createHarness();
  const type = typist(harness);
  const rows = [
    ["it answers", (_request: unknown, deliver: () => Promise<OutboundResult>) => deliver(), 0],
    ["it hangs", () => Promise.resolve({ ok: false, failure: "timeout", message: "no answer" } as const), 1],
  ] as const;
  for (const [what, fault, signals] of rows) {
    const sandbox = await harness.start();
    harness.setFault(fault);
    const sent: number[] = [];
    const terminate = (pid: number) => {
      sent.push(pid);
      void sandbox.stop();
      return "sent" as const;
    };
    expect([what, (await type("sandbox stop", { world: { terminate } })).code]).toEqual([what, 0]);
    expect(sent).toEqual(Array.from({ length: signals }, () => sandbox.ready.pid));
  }
});

test("sandbox stop does not stop the program of an embedded sandbox, even if the sandbox does not answer", async () => {
  const harness = createHarness();
  const terminate = () => {
    throw new Error("the program would have ended");
  };
  const { processStartTime, send, sleep, monotonic } = REAL;
  const world = { processStartTime, send, sleep, monotonic, terminate };
  const folder = join(harness.cwd, ".checkout");
  for (const port of [0, null]) {
    const sandbox = await startSandbox({ state: { folder }, port });
    onTestFinished(() => sandbox.close());
    const stopped = await harness.run(["sandbox", "stop", "--json"], { world });
    if (port === null) {
      expect([stopped.code, problemIn(stopped)]).toMatchObject([
        1,
        { error: { code: "not_stopped" }, next: expect.not.stringContaining("kill -9") as string },
      ]);
      expect(await sandbox.store.events.list()).toEqual([]);
      continue;
    }
    expect([stopped.code, JSON.parse(stopped.stdout)]).toMatchObject([
      0,
      { pid: process.pid, stopped: true },
    ]);
    expect(() => harness.readState("run.json")).toThrow("ENOENT");
    await expect(sandbox.store.events.list()).rejects.toMatchObject({ name: "Error" });
  }
});

test("a stop request with the pid of another process is refused", async () => {
  const harness = createHarness();
  const { ready, request } = await harness.start();
  const headers = { Authorization: `Bearer ${ready.control_token}`, "Content-Type": "application/json" };
  const path = "/__sandbox/sandbox/stop";
  const answer = await request({ path, headers, body: JSON.stringify({ pid: ready.pid + 1 }) });
  expect([answer.status, String(answer.body)]).toMatchObject([
    409,
    expect.stringContaining("state_conflict"),
  ]);
  expect((await typist(harness)("sandbox status")).code).toBe(0);
});

/** Facts that a sandbox must be asked for: the time of its start, and its log. */
const RUNNING_FACTS = ["2026-01-15", "sandbox.log"];

test("sandbox status shows whether and where a sandbox runs, and exits with 0 or 7", async () => {
  const harness = createHarness();
  const type = typist(harness);
  const none = await type("sandbox status --json");
  expect([none.code, JSON.parse(none.stdout)]).toMatchObject([
    7,
    { running: false, state: "stopped", pid: null },
  ]);
  const ready = readyIn(await type("sandbox start --detach --json"));
  const live = await type("sandbox status --json");
  expect([live.code, JSON.parse(live.stdout)]).toEqual([
    0,
    {
      state: "running",
      running: true,
      data_dir: ready.data_dir,
      base_url: ready.base_url,
      pid: ready.pid,
      version: ready.version,
      started_at: expect.stringMatching(/^2026-01-15T12:00:00/) as string,
      log_file: join(ready.data_dir ?? "", "sandbox.log"),
      held_back: null,
      hold: null,
      active_faults: 0,
      instance_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      settings: expect.objectContaining({
        rate_limit: "1000/s",
        delivery_schedule_ms: [0, 5, 300, 1800, 7200, 18_000, 36_000, 36_000].map((second) => second * 1000),
      }) as object,
      problem: null,
    },
  ]);
  expect((await type("sandbox status")).stdout).toMatch(inOrder(...RUNNING_FACTS));
  harness.setFault(() =>
    Promise.resolve({ ok: false, failure: "timeout", message: "no answer within 5000 ms" }),
  );
  const hung = await type("sandbox status --json");
  expect([hung.code, JSON.parse(hung.stdout)]).toMatchObject([
    7,
    { state: "not_responding", pid: ready.pid },
  ]);
  const shown = (await type("sandbox status")).stdout;
  expect(shown).toContain(String(ready.pid));
  for (const fact of RUNNING_FACTS) expect(shown).not.toContain(fact);
});

test("a run.json of an ended process is not taken for a running sandbox, and does not prevent a start", async () => {
  const harness = createHarness();
  const type = typist(harness);
  await type("sandbox start --detach");
  const stale = harness.readState("run.json").replace(/"started": "[^"]*"/, '"started": "long ago"');
  await type("sandbox stop");
  writeFileSync(join(harness.cwd, ".checkout/run.json"), stale, { mode: 0o600 });
  const codes = [
    "sandbox status",
    "sandbox stop",
    "env",
    "sandbox wait --timeout 1s",
    "sandbox start --detach",
  ];
  const ended = [];
  for (const line of codes) ended.push((await type(line)).code);
  expect(ended).toEqual([7, 0, 7, 7, 0]);
});

test("sandbox wait ends when the sandbox is healthy, or reports its last observation", async () => {
  const harness = createHarness();
  const type = typist(harness);
  const rows: (readonly [line: string, code: number, values: RegExp])[] = [
    ["sandbox wait --timeout 1s", 7, inOrder(" 1s", NO_SANDBOX)],
    ["sandbox wait --timeout 1s --base-url http://127.0.0.1:4999/v1", 7, inOrder("ECONNREFUSED")],
    ["sandbox wait --base-url ftp://x", 2, inOrder("--base-url", "CHECKOUT_BASE_URL")],
  ];
  for (const [line, code, values] of rows) {
    const waited = await type(line);
    expect([line, waited.code, waited.stdout]).toEqual([line, code, ""]);
    expect(waited.stderr).toMatch(values);
  }
  harness.setFault(async (request, deliver) => {
    const sent = await deliver();
    return sent.ok && request.url.endsWith("/healthz") ? { ...sent, status: 503 } : sent;
  });
  const { ready } = await harness.start();
  expect((await type("sandbox wait --timeout 1s")).stderr).toMatch(inOrder("/healthz", " 503"));
  harness.setFault((_request, deliver) => deliver());
  const found = await type("sandbox wait --json");
  expect([found.code, JSON.parse(found.stdout)]).toEqual([0, { ok: true, base_url: ready.base_url }]);
  const named = await type("sandbox wait", {
    cwd: tempFolder(),
    env: { CHECKOUT_BASE_URL: ready.base_url },
  });
  expect([named.code, named.stdout]).toEqual([0, expect.stringContaining(`${ready.base_url}\n`)]);
});

test("a sandbox wait that began before the start ends when the sandbox is ready", async () => {
  const harness = createHarness();
  const waiting = harness.run(["sandbox", "wait", "--timeout", "24h"]);
  await harness.start();
  expect((await waiting).code).toBe(0);
});

test("sandbox logs prints the older file first, and fails if there is no log or the sandbox logs to a terminal", async () => {
  const harness = createHarness();
  const type = typist(harness);
  const none = await type("sandbox logs --json");
  expect([none.code, problemIn(none)]).toMatchObject([7, { error: { code: "no_sandbox" } }]);
  const foreground = await harness.start();
  const elsewhere = await type("sandbox logs --json");
  expect([elsewhere.code, problemIn(elsewhere)]).toMatchObject([
    1,
    { error: { code: "no_log_file" }, next: expect.stringContaining("start --detach") as string },
  ]);
  await foreground.stop();
  writeFileSync(join(harness.cwd, ".checkout/sandbox.log"), "second\nthird, cut", { mode: 0o600 });
  writeFileSync(join(harness.cwd, ".checkout/sandbox.log.1"), "first \u001b[31m\n", { mode: 0o600 });
  expect((await type("sandbox logs")).stdout).toBe("first \\u{1b}[31m\nsecond\nthird, cut\n");
  expect((await type("sandbox logs --json")).stdout.split("\n")[1]).toBe('{"line":"second"}');
});

test("sandbox logs --follow loses no line when the log is rotated", async () => {
  const harness = createHarness();
  await typist(harness)("sandbox start --detach --quiet");
  const [log, older] = ["sandbox.log", "sandbox.log.1"].map((name) => join(harness.cwd, ".checkout", name));
  const [path = "", olderPath = ""] = [log, older];
  writeFileSync(path, "one\n");
  const following = await harness.launch(["sandbox", "logs", "-f"]);
  let written = readFileSync(path, "utf8");
  const add = (text: string): void => writeFileSync(path, (written += text), { mode: 0o600 });
  const anew = (): void => {
    writeFileSync(olderPath, written, { mode: 0o600 });
    truncateSync(path, 0);
    written = "";
  };
  add("two\nthr");
  await eventually("it was read", () => expect(following.text().stdout).toContain("two\n"));
  add("ee\nfour, long enough that the new file is shorter\n");
  anew();
  add("five\n");
  await eventually("it was read over the end of the file", () =>
    expect(following.text().stdout).toMatch(/one\n[^]*two\nthree\nfour, [^\n]*\nfive\n$/),
  );
  expect((await following.stop()).code).toBe(0);
});

test("a log file that is a link, a folder or open to other users is refused, and a link's target stays unchanged", async () => {
  for (const place of ["link", "folder", "open"] as const) {
    const harness = createHarness();
    const type = typist(harness);
    await (await harness.start()).stop();
    const [log, precious] = [join(harness.cwd, ".checkout/sandbox.log"), join(harness.cwd, "precious")];
    writeFileSync(precious, "mine", { mode: 0o600 });
    if (place === "link") symlinkSync(precious, log);
    else if (place === "folder") mkdirSync(log);
    else {
      writeFileSync(log, "");
      chmodSync(log, 0o644);
    }
    for (const line of ["sandbox start --detach", "sandbox logs", "sandbox status", "env"]) {
      const refused = await type(`${line} --json`);
      expect([place, line, refused.code, refused.stdout]).toEqual([place, line, 1, ""]);
      expect(problemIn(refused).error.code).toBe("state_folder_refused");
    }
    expect(readFileSync(precious, "utf8")).toBe("mine");
    rmSync(log, { recursive: true });
    expect((await type("sandbox start --detach")).code).toBe(0);
  }
});

test("env prints the variables of the running sandbox; without a sandbox, env and a shell that evaluates its output both fail", async () => {
  const harness = createHarness();
  const type = typist(harness);
  for (const format of ["", "--format json", "--json"]) {
    const none = await type(`env ${format}`.trim());
    expect([format, none.code, none.stdout]).toEqual([format, 7, format === "" ? "(exit 7)\n" : ""]);
  }
  const { ready } = await harness.start();
  const expected = {
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key,
    CHECKOUT_STORE_ID: ready.store_id,
    CHECKOUT_SIGNING_SECRET: ready.signing_secret,
  };
  const json = await type("env --format json");
  expect([json.stderr, JSON.parse(json.stdout)]).toEqual(["", expected]);
  const control = { ...expected, CHECKOUT_CONTROL_TOKEN: ready.control_token };
  expect(JSON.parse((await type("env --control --json")).stdout)).toEqual(control);
  rmSync(join(harness.cwd, ".checkout/credentials.json"));
  const keyless = await type("env --format json");
  expect(JSON.parse(keyless.stdout)).toEqual({ ...expected, CHECKOUT_API_KEY: undefined });
  expect(keyless.stderr).toMatch(/\bCHECKOUT_API_KEY\b/);
});

const VALUES = [
  ...Array.from("'\"\\*~&#\t\n"),
  ..." |plain|two  words|''|\\'|$HOME|$(exit 3)|`exit 3`|!!|a\nb|; exit 3|#x|%PATH%|‘’‚‛“”|-n|=|CHECKOUT_END|\\n|a\\|'$(exit 3)'".split(
    "|",
  ),
  "",
  ...HOSTILE_TEXTS.filter((text) => !text.includes("\0") && text.isWellFormed()),
];

test("a shell reads back any value that env prints", () => {
  const names = VALUES.map((_value, index) => `CHECKOUT_V${index}`);
  const variables = Object.fromEntries(VALUES.map((value, index) => [`CHECKOUT_V${index}`, value]));
  const print = `'${process.execPath}' -e 'process.stdout.write(JSON.stringify(${JSON.stringify(names)}.map((n) => process.env[n])))'`;
  const shells = installedShells().filter((shell) => shell !== "fish" && shell !== "pwsh");
  expect(shells).toContain("sh");
  for (const shell of shells) {
    const file = join(tempFolder(), "env.sh");
    writeFileSync(file, environmentText(variables, "sh"));
    const printed = execFileSync(shell, ["-c", `eval "$(cat '${file}')"; ${print}`], { encoding: "utf8" });
    expect([shell, JSON.parse(printed)]).toEqual([shell, VALUES]);
  }
});

test("the fish, powershell, github, json and dotenv formats of env quote characters that their readers would change", () => {
  const one = (format: Parameters<typeof environmentText>[1], value: string) =>
    environmentText({ V: value }, format);
  expect(one("fish", "it's \\n $x")).toBe(`set -gx V 'it'"'"'s '\\\\'n $x'`);
  expect(one("powershell", "it's ’n $x")).toBe("$env:V = 'it''s ’’n $x'");
  expect(one("powershell", "x")).toBe("$env:V = 'x'");
  expect(one("github", "a\nCHECKOUT_END\nV2=x")).toBe(
    "V<<CHECKOUT_END_\na\nCHECKOUT_END\nV2=x\nCHECKOUT_END_",
  );
  expect(JSON.parse(one("json", 'a"b\n'))).toEqual({ V: 'a"b\n' });
  expect([one("dotenv", "http://127.0.0.1:1/v1"), one("dotenv", "a b"), one("dotenv", "it's")]).toEqual([
    "V=http://127.0.0.1:1/v1",
    "V='a b'",
    "V=`it's`",
  ]);
});

test("Node reads back the dotenv format of env, except values with a single quote or a carriage return", () => {
  const readable = VALUES.filter((value) => !/['\r]/.test(value));
  const file = join(tempFolder(), ".env");
  writeFileSync(
    file,
    environmentText(
      Object.fromEntries(readable.map((value, index) => [`CHECKOUT_V${index}`, value])),
      "dotenv",
    ),
  );
  const script = `process.stdout.write(JSON.stringify(Array.from({ length: ${readable.length} }, (_, i) => process.env["CHECKOUT_V" + i])))`;
  const printed = execFileSync(process.execPath, [`--env-file=${file}`, "-e", script], { encoding: "utf8" });
  expect(JSON.parse(printed)).toEqual(readable);
});
