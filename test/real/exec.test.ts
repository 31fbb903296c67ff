import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { environmentVariableOf } from "../../src/cli/option-rules.ts";
import { DRILL_AGENT } from "../../src/core/network/headers.ts";
import { NO_REQUEST_NOTE } from "../../src/cli/sandbox/exec-log.ts";
import { createProgram } from "../../src/cli/program.ts";
import { REAL } from "../support/real.ts";
import type { ProgramResult } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness } from "../support/harness.ts";
import { inOrder } from "../support/in-order.ts";
import { begin, PROGRAM, run, runHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const EXITED: ProgramResult = { ending: "exited", exitCode: 0 };

test("exec exits with its program's exit code, as a shell does, and prints nothing on stdout", async () => {
  const rows: readonly (readonly [ProgramResult, number, problem?: RegExp])[] = [
    [EXITED, 0],
    [{ ending: "exited", exitCode: 1 }, 1],
    [{ ending: "exited", exitCode: 42 }, 42],
    [{ ending: "killed", signal: "SIGKILL", signalNumber: 9 }, 137],
    [{ ending: "not_found", message: "ENOENT" }, 127, inOrder("npm", "ENOENT")],
    [{ ending: "not_executable", message: "EACCES" }, 126, inOrder("npm", "EACCES")],
  ];
  const harness = createHarness();
  for (const [end, code, problem] of rows) {
    harness.setProgram(() => Promise.resolve(end));
    for (const flags of [[], ["--json"], ["--fault", "flaky-network"]]) {
      const ended = await harness.run(["exec", ...flags, "--", "npm", "test"]);
      expect([end, ended.code, ended.stdout]).toEqual([end, code, ""]);
      expect(ended.stderr).toMatch(problem ?? /^checkout exec: /);
      expect(ended.stderr.includes(NO_REQUEST_NOTE)).toBe(code === 0);
    }
    const quiet = await harness.run(["exec", "--quiet", "--", "npm", "test"]);
    expect([quiet.code, quiet.stderr]).toEqual([code, problem ? expect.stringMatching(problem) : ""]);
  }
  expect(readdirSync(harness.cwd)).toEqual([]);
});

test("exec passes all arguments after its program to the program unchanged", async () => {
  const harness = createHarness();
  harness.setProgram(() => Promise.resolve(EXITED));
  const rows: readonly (readonly string[])[] = [
    ["npm", "test"],
    ["npm", "--json", "--help", "-h", "--port", "1"],
    ["npm", "--", "sandbox", "start", "--"],
    ["--version"],
    ["exec", "--", "", "a b", "$HOME"],
  ];
  for (const words of rows) {
    await harness.run(["exec", "--", ...words]);
    const [program = "", ...args] = words;
    expect(harness.programs.at(-1)).toMatchObject({ program, args });
  }
  for (const words of rows.slice(0, 3)) {
    await harness.run(["exec", ...words]);
    const [program = "", ...args] = words;
    expect(harness.programs.at(-1)).toMatchObject({ program, args });
  }
  const count = harness.programs.length;
  for (const wrong of [["exec"], ["exec", "--"], ["exec", "--nosuch", "--", "npm", "--json"]]) {
    const refused = await harness.run(wrong);
    expect([wrong, refused.code, refused.stderr.slice(0, 1)]).toEqual([wrong, 2, "✗"]);
  }
  expect(harness.programs).toHaveLength(count);
});

test("exec gives its program a fresh working sandbox, and no access to another sandbox", async () => {
  const harness = createHarness();
  const outer = await harness.start();
  const elsewhere = {
    CHECKOUT_BASE_URL: outer.ready.base_url,
    CHECKOUT_API_KEY: outer.ready.api_key ?? "",
    CHECKOUT_CONTROL_TOKEN: "short",
    CHECKOUT_ADMIN_TOKEN: "short",
    CHECKOUT_DIR: join(harness.cwd, ".checkout"),
    CHECKOUT_EXEC_FOLDER: "/elsewhere",
    CHECKOUT_SANDBOX_PORT: new URL(outer.ready.base_url).port,
  };
  const found: Record<string, string>[] = [];
  harness.setProgram(async ({ env }) => {
    const names = [
      "BASE_URL",
      "API_KEY",
      "STORE_ID",
      "SIGNING_SECRET",
      "CONTROL_TOKEN",
      "EXEC_FOLDER",
      "EXEC_URL",
    ];
    expect(Object.keys(env).filter((name) => env[name] !== undefined)).toEqual(
      names.map((name) => `CHECKOUT_${name}`),
    );
    expect(env).toMatchObject({ CHECKOUT_ADMIN_TOKEN: undefined });
    expect("CHECKOUT_DIR" in env).toBe(false);
    const changed = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? ""]));
    found.push(changed);
    const child = { ...elsewhere, ...changed };
    const create = "orders create --order-id order-1 --price-id price_coffee --json".split(" ");
    const made = await harness.run(create, { env: child });
    const listed = await harness.run(["events", "list", "--json"], { env: child });
    const keys = await harness.run(["idempotency", "list", "--json"], { env: child });
    expect([made.code, listed.code, keys.stdout.includes("order-1")]).toEqual([0, 0, true]);
    expect(listed.stdout).toContain((JSON.parse(made.stdout) as { data: { id: string } }).data.id);
    return { ending: "exited", exitCode: 3 };
  });
  for (let round = 0; round < 2; round += 1) {
    const ended = await harness.run(["exec", "npm", "test"], { env: elsewhere });
    expect([ended.code, ended.stdout]).toEqual([3, ""]);
    expect(ended.stderr).toContain("POST /v1/orders");
  }
  expect(existsSync(join(harness.cwd, ".checkout/journal.db"))).toBe(false);
  for (const name of Object.keys(found[0] ?? {}))
    if (!/_(?:TARGET|ADMIN_TOKEN|BASE_URL|EXEC_URL)$/.test(name))
      expect(found[0]?.[name]).not.toBe(found[1]?.[name]);
  expect((await harness.run(["events", "list", "--json"])).stdout).not.toContain("order.created");
});

test("orders create within exec stores the keys of another service's orders where a later run finds them", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const other = {
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key ?? "",
    CHECKOUT_STORE_ID: ready.store_id,
  };
  harness.setProgram(async ({ env }) => {
    const changed = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? ""]));
    const create = "orders create --order-id order-1 --price-id price_coffee".split(" ");
    const created = await harness.run(create, { env: { ...changed, ...other } });
    expect([created.code, created.stderr]).toEqual([0, ""]);
    return EXITED;
  });
  expect((await harness.run(["exec", "npm"])).code).toBe(0);
  expect((await harness.run(["idempotency", "list", "--json"])).stdout).toContain("order-1");
});

/** Settings of a client that select no service: CHECKOUT_DIR counts only without an address, and `exec` sets one. */
const HARMLESS = new Set(["CHECKOUT_DIR", "CHECKOUT_RETRIES", "CHECKOUT_TIMEOUT"]);

test("exec replaces or removes every variable that could make its program use another service", async () => {
  const harness = createHarness();
  harness.setProgram(() => Promise.resolve(EXITED));
  await harness.run(["exec", "npm"]);
  const changed = Object.keys(harness.programs[0]?.env ?? {});
  const tree = (argv: readonly string[]): Promise<Command> =>
    createProgram({ world: { ...REAL, argv }, version: "0.0.0", exit: () => undefined });
  const names = (await tree([])).commands.map((command) => command.name());
  const variables = new Set<string>();
  const collect = (command: Command): void => {
    for (const option of command.options) variables.add(environmentVariableOf(option) ?? "");
    command.commands.forEach(collect);
  };
  for (const name of names) collect(await tree([name]));
  const ofClients = [...variables].filter((name) => /^CHECKOUT_(?!SANDBOX_|LISTEN_)/.test(name));
  expect(ofClients.filter((name) => !changed.includes(name) && !HARMLESS.has(name))).toEqual([]);
});

/**
 * The proxy variables of the user's environment, and the NO_PROXY that exec's program gets, which excludes this machine
 * from every proxy.
 */
const PROXIED: readonly (readonly [Readonly<Record<string, string>>, string | undefined])[] = [
  [{}, undefined],
  [{ NO_PROXY: "shop.example" }, undefined],
  [{ HTTP_PROXY: "" }, undefined],
  [{ HTTP_PROXY: "http://proxy.example" }, "127.0.0.1,localhost,::1"],
  [{ http_proxy: "http://proxy.example" }, "127.0.0.1,localhost,::1"],
  [{ https_proxy: "http://proxy.example" }, "127.0.0.1,localhost,::1"],
  [{ ALL_PROXY: "socks5://proxy.example" }, "127.0.0.1,localhost,::1"],
  [{ HTTP_PROXY: "http://proxy.example", NO_PROXY: "*" }, "*"],
  [
    { HTTP_PROXY: "http://proxy.example", no_proxy: "a.example, b.example," },
    "a.example,b.example,127.0.0.1,localhost,::1",
  ],
  [{ HTTP_PROXY: "http://proxy.example", NO_PROXY: "localhost" }, "localhost,127.0.0.1,::1"],
  [{ HTTP_PROXY: "http://proxy.example", NO_PROXY: "a", no_proxy: "b" }, "b,a,127.0.0.1,localhost,::1"],
];

test("exec sets NO_PROXY and no_proxy, so that its program's requests to the sandbox bypass a proxy from the environment", async () => {
  const harness = createHarness();
  harness.setProgram(() => Promise.resolve(EXITED));
  for (const [env, wanted] of PROXIED) {
    await harness.run(["exec", "npm"], { env });
    const given = harness.programs.at(-1)?.env;
    expect([env, given?.["NO_PROXY"], given?.["no_proxy"]]).toEqual([env, wanted, wanted]);
  }
});

test("exec works in a read-only folder and leaves nothing in it", async () => {
  const cwd = tempFolder();
  const env = {
    NODE_OPTIONS: `--require ${join(import.meta.dirname, "../support/refuse-calls.cjs")}`,
    REFUSED_CALLS: "mkdirSync=EROFS",
    REFUSED_BELOW: cwd,
  };
  const create = `"${process.execPath}" "${PROGRAM}" orders create --order-id order-1 --price-id price_coffee`;
  const script = `${create}\n${create} --new-attempt || test $? = 5\necho "$CHECKOUT_EXEC_FOLDER"`;
  const ended = await run(["exec", "--", "sh", "-ec", script], { cwd, env });
  expect([ended.code, ended.stderr]).toEqual([0, expect.not.stringContaining("EROFS")]);
  expect(ended.stdout).toContain("order-1");
  const journal = ended.stdout.trimEnd().split("\n").at(-1) ?? "";
  expect([isAbsolute(journal), existsSync(journal)]).toEqual([true, false]);
  expect(readdirSync(cwd)).toEqual([]);
});

test("exec gives its program a sandbox even next to an untrusted state folder", async () => {
  const harness = createHarness();
  const folder = join(harness.cwd, ".checkout");
  mkdirSync(folder);
  writeFileSync(join(folder, "credentials.json"), "{}");
  chmodSync(folder, 0o777);
  const create = ["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee"];
  const typed = [
    create,
    ["orders", "get", "order-1"],
    ["orders", "list"],
    ["whoami"],
    ["idempotency", "list"],
  ];
  harness.setProgram(async ({ env }) => {
    const given = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? ""]));
    for (const words of typed) {
      const { code, stderr } = await harness.run(words, { env: given });
      expect([words, code, stderr]).toEqual([words, 0, ""]);
    }
    return EXITED;
  });
  expect((await harness.run(["exec", "npm"])).code).toBe(0);
  expect(readdirSync(folder)).toEqual(["credentials.json"]);
  const outside = await harness.run([...create, "--json"]);
  expect([outside.code, outside.stderr]).toEqual([1, expect.stringContaining('"state_folder_refused"')]);
});

test("exec runs nothing if its port is used or an option is invalid", async () => {
  const harness = createHarness();
  harness.occupy(4300);
  const refused = await harness.run(["exec", "--port", "4300", "--", "npm"]);
  expect([refused.code, refused.stderr]).toMatchObject([7, expect.stringContaining("4300")]);
  expect((await harness.run(["exec", "--rate-limit", "x", "--", "npm"])).code).toBe(2);
  expect(harness.programs).toEqual([]);
});

test("exec prints the last lines of the request log after a failed run, with the total number of lines", async () => {
  const harness = createHarness();
  let requests = 0;
  harness.setProgram(async ({ env }) => {
    const url = `${env["CHECKOUT_BASE_URL"]}/nothing`;
    for (let count = 0; count < requests; count += 1)
      await harness.send({ method: "GET", url: `${url}/${count}`, headers: {} });
    return { ending: "exited", exitCode: 1 };
  });
  for (const [count, first, numbers] of [
    [20, 0, null],
    [25, 5, ["20", "25"]],
  ] as const) {
    requests = count;
    const [head = "", ...lines] = (await harness.run(["exec", "npm"])).stderr.trimEnd().split("\n");
    expect([head.match(/\d+/g), lines.length]).toEqual([numbers, 20]);
    for (const [at, line] of lines.entries())
      expect(line).toMatch(new RegExp(`^[\\d:.]+Z {2}404 {2}GET /v1/nothing/${first + at} `));
  }
});

test("exec's log marks duplicate deliveries and requests of a drill", async () => {
  const harness = createHarness();
  const deliveries: string[] = [];
  harness.occupy(3000, {
    answer: ({ target }) => {
      deliveries.push(target);
      return Promise.resolve({ status: 204, headers: {}, body: "" });
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  harness.setProgram(async ({ env: given }) => {
    const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? ""]));
    for (const line of [
      "endpoints add http://localhost:3000/hooks",
      "faults add duplicate",
      "orders create --order-id order-1 --price-id price_coffee",
    ])
      expect((await harness.run(line.split(" "), { env })).code).toBe(0);
    await eventually("both deliveries came", () => expect(deliveries).toHaveLength(2));
    const headers = { Authorization: `Bearer ${env["CHECKOUT_API_KEY"]}` };
    const url = `${env["CHECKOUT_BASE_URL"]}/checkout-sessions/x`;
    for (const more of [{ "User-Agent": DRILL_AGENT }, {}])
      await harness.send({ method: "GET", url, headers: { ...headers, ...more } });
    return { ending: "exited", exitCode: 1 };
  });
  const { stderr } = await harness.run(["exec", "npm"]);
  expect(stderr.match(/→ POST \/hooks 204 order\.created .*/g)).toEqual([
    expect.stringMatching(/\b1$/),
    expect.stringMatching(/\b1, duplicate$/),
  ]);
  const lines = stderr.matchAll(/GET \/v1\/checkout-sessions\/x {2}\S+ ms {2}(.*) {2}\S+$/gm);
  const [drill, other] = Array.from(lines, ([, note = ""]) => note);
  expect(drill).toMatch(new RegExp(`^${other}, \\S`));
});

test("exec prints the seed of its faults after a failure, and the seed repeats them", async () => {
  const harness = createHarness();
  const met: string[] = [];
  harness.setProgram(async ({ env }) => {
    const url = `${env["CHECKOUT_BASE_URL"]}/checkout-sessions/x`;
    const headers = { Authorization: `Bearer ${env["CHECKOUT_API_KEY"]}` };
    const answers = [];
    for (let count = 0; count < 30; count += 1)
      answers.push(await harness.send({ method: "GET", url, headers }));
    met.push(
      answers
        .map((answer) => (answer.ok ? answer.headers["checkout-fault"]?.split(" ")[0] : answer.failure))
        .join(),
    );
    return { ending: "exited", exitCode: 1 };
  });
  const exec = ["exec", "--quiet", "--fault", "flaky-network"];
  const seedIn = ({ stderr }: { readonly stderr: string }): string =>
    / --seed (\S+)\n$/.exec(stderr)?.[1] ?? "none";
  const seed = seedIn(await harness.run([...exec, "--", "npm"]));
  expect(seedIn(await harness.run([...exec, "--", "npm"]))).not.toBe(seed);
  expect(seedIn(await harness.run([...exec, "--seed", seed, "--", "npm"]))).toBe(seed);
  expect([met[0] === met[1], met[0] === met[2], met[0]?.includes("connection_lost")]).toEqual([
    false,
    true,
    true,
  ]);
  // Faults that hit every match do not depend on a seed.
  expect(seedIn(await harness.run([...exec.slice(0, 3), "lost-response", "--", "npm"]))).toBe("none");
  expect((await harness.run(["exec", "--seed", "1", "--", "npm"])).code).toBe(2);
});

test("an administrator's action within exec needs --admin, and is refused immediately without it", async () => {
  const harness = createHarness();
  const results: unknown[] = [];
  harness.setProgram(async ({ env: given }) => {
    const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? ""]));
    const began = harness.clock.now();
    const { code, stderr } = await harness.run(["admin", "approve-credential"], { env });
    results.push([code, stderr, harness.clock.now() - began]);
    // Within exec, `env` is refused with a message about exec.
    const printed = await harness.run(["env"], { env, cwd: tempFolder() });
    expect([printed.code, printed.stderr]).toEqual([7, expect.stringContaining("checkout exec")]);
    return { ending: "exited", exitCode: 0 };
  });
  const withheld = expect.stringMatching(
    /^✗ .*\bCHECKOUT_ADMIN_TOKEN\b.*\n {2}→ .*\bcheckout exec --admin\b/,
  );
  const env = { CHECKOUT_ADMIN_TOKEN: "an-admin-token-of-a-job" };
  await harness.run(["exec", "--", "npm"], { env });
  await harness.run(["exec", "--admin", "--", "npm"], { env });
  const outer = await harness.start();
  await harness.run(["exec", "--store", "new", "--admin", "--", "npm"]);
  await harness.run(["exec", "--", "npm"]);
  expect(results).toEqual([
    [4, withheld, 0],
    [0, "", 0],
    [0, "", 0],
    [2, expect.stringContaining("checkout exec --admin"), 0],
  ]);
  await outer.stop();
});

/** A program that prints the count of each signal after every signal, and ends some time after the expected number. */
const signalCounter = (expected: number): string => `
  const got = {};
  let left = ${expected};
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(name, () => {
      got[name] = (got[name] ?? 0) + 1;
      left -= 1;
      console.log(JSON.stringify(got));
      if (left === 0) setTimeout(() => { console.log("in the end " + JSON.stringify(got)); process.exit(9); }, 300);
    });
  console.log("ready");
  setInterval(() => {}, 1000);`;

test("exec passes SIGINT, SIGTERM and SIGHUP on once, and exits with 128 plus the number of the signal that ended its program", async () => {
  const cwd = tempFolder();
  const listening = begin(["exec", "--", process.execPath, "-e", signalCounter(3)], { cwd });
  await eventually("the command runs", () => expect(listening.output.stdout).toContain("ready"));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    listening.process.kill(signal);
    await eventually("the command has the signal", () =>
      expect(listening.output.stdout).toContain(`"${signal}":1`),
    );
  }
  expect(await listening.ended).toBe(9);
  expect(listening.output.stdout).toContain('in the end {"SIGINT":1,"SIGTERM":1,"SIGHUP":1}');
  const plain = begin(["exec", "--", "sh", "-c", "echo ready; exec sleep 100"], { cwd });
  await eventually("the command runs", () => expect(plain.output.stdout).toContain("ready"));
  expect(await plain.stop("SIGTERM")).toBe(143);
});

test("exec --keep keeps its sandbox until a signal, and exits with its program's code", async () => {
  const cwd = tempFolder();
  const kept = begin(["exec", "--keep", "--", "sh", "-c", "echo $CHECKOUT_BASE_URL; exit 3"], { cwd });
  await eventually("it says that it stays", () => expect(kept.output.stderr).toMatch(/ http:\S+\n/));
  const { status } = await fetch(`${new URL(kept.output.stdout.trim()).origin}/healthz`);
  expect(status).toBe(200);
  expect(await kept.stop("SIGINT")).toBe(3);
});

/** Runs a program in a new terminal, types Ctrl-C when it is ready, and prints its output and exit code. */
const IN_TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
typed = False
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    said += part
    if not typed and b"ready" in said:
        typed = True
        os.write(terminal, b"\\x03")
sys.stdout.write(said.decode() + "exit %d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

test("exec's program is in the foreground of a terminal, and gets one Ctrl-C once", async () => {
  const args = [process.execPath, PROGRAM, "exec", "--", process.execPath, "-e"];
  const program = `console.log("terminal " + process.stdin.isTTY + " " + process.stdout.isTTY);${signalCounter(1)}`;
  const said = await new Promise<string>((resolve) => {
    const child = spawn("python3", ["-c", IN_TERMINAL, ...args, program], { cwd: tempFolder() });
    let text = "";
    child.stdout.on("data", (part: Buffer) => (text += part.toString()));
    child.on("close", () => resolve(text));
  });
  expect(said).toContain("terminal true true");
  expect(said).toContain('in the end {"SIGINT":1}');
  expect(said).toContain("exit 9");
});

test("exec passes its stdin, stdout, stderr and umask to its program, and exits with 126 or 127 if the program cannot run", async () => {
  const cwd = tempFolder();
  const echoed = await run(["exec", "--", "sh", "-c", "cat; echo err >&2; umask; exit 5"], {
    cwd,
    input: "typed",
  });
  const umask = process.umask().toString(8).padStart(4, "0");
  expect(echoed).toMatchObject({ code: 5, stdout: expect.stringContaining(`typed${umask}`) });
  expect(echoed.stderr).toContain("err\n");
  const script = join(cwd, "script");
  writeFileSync(script, "#!/bin/sh\nexit 0\n");
  chmodSync(script, 0o644);
  expect((await runHere(["exec", script], { cwd })).code).toBe(126);
  expect((await runHere(["exec", join(cwd, "nosuch")], { cwd })).code).toBe(127);
  expect((await runHere(["exec", join(script, "below")], { cwd })).code).toBe(126);
});

test("exec prints a line for each setting of the configuration file that opens the sandbox to others, unless an option replaces the setting", async () => {
  const cwd = tempFolder();
  const configuration = {
    sandbox: {
      listen: ["127.0.0.2"],
      allow_hosts: ["tunnel.example"],
      allow_control_hosts: ["ops.example"],
      allow_targets: ["evil.example", "other.example"],
    },
    stores: [
      {
        id: "0199a3c4-5d00-7000-8000-000000000001",
        name: "Tea",
        endpoints: [{ url: "https://evil.example/hooks" }],
      },
    ],
  };
  writeFileSync(join(cwd, "checkout.config.json"), JSON.stringify(configuration));
  const opened = (stderr: string): string[] =>
    Array.from(stderr.matchAll(/^checkout\.config\.json: (.*)$/gm), ([, line = ""]) => line);
  const { stderr } = await runHere(["exec", "--", "true"], { cwd });
  const hosts = [
    expect.stringContaining("tunnel.example"),
    expect.stringContaining("ops.example"),
    expect.stringContaining("evil.example"),
    expect.stringContaining("other.example"),
  ];
  expect(opened(stderr)).toEqual([
    expect.stringMatching(/^\d+ \S+$/),
    expect.stringContaining("127.0.0.2"),
    ...hosts,
    expect.stringContaining("https://evil.example/hooks"),
  ]);
  // An option wins over the file; a file without stores opens the sandbox to others too.
  writeFileSync(join(cwd, "checkout.config.json"), JSON.stringify({ sandbox: configuration.sandbox }));
  const again = await runHere(["exec", "--listen", "127.0.0.3", "--", "true"], { cwd });
  expect(opened(again.stderr)).toEqual(hosts);
});
