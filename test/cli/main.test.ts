import { surroundingsOf } from "../../src/cli/target/surroundings.ts";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { Command, Option } from "commander";
import { expect, test } from "vitest";
import { environmentVariableOf } from "../../src/cli/option-rules.ts";
import { openPage } from "../../src/cli/order/open-page.ts";
import { createPrinter } from "../../src/cli/printer.ts";
import { createProgram } from "../../src/cli/program.ts";
import { table } from "../../src/cli/table.ts";
import { REAL } from "../support/real.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { runWithSpinner } from "../../src/cli/request/exchange.ts";
import { output } from "../../src/cli/output/output.ts";
import { EXIT, EXIT_MEANINGS } from "../../src/cli/problem.ts";
import { hintForIds } from "../../src/cli/target/ids.ts";
import { KEY_FAULTS } from "../../src/core/refusals.ts";
import { inOrder } from "../support/in-order.ts";

const FIELDS = ["--amount-minor", "1999", "--currency", "EUR", "--payment-method", "alipay_plus"];
const createOrder = (orderId: string, ...more: string[]): string[] => [
  "orders",
  "create",
  "--order-id",
  orderId,
  ...FIELDS,
  ...more,
];
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

test("a wrong command line exits with 2, says what was expected, and sends nothing", async () => {
  const harness = createHarness();
  await harness.start();
  harness.setFault(() => Promise.reject(new Error("nothing may be sent")));
  const rows: readonly (readonly [string | RegExp, string[], Record<string, string>?])[] = [
    [": --order-id", ["sessions", "create", "--price-id", "price_bento"]],
    ["CHECKOUT_TIMEOUT", createOrder("o"), { CHECKOUT_TIMEOUT: "soon" }],
    ["--idempotency-key", createOrder("o", "--idempotency-key", "abcdefgh ")],
    [
      inOrder("--new-attempt", "--idempotency-key"),
      createOrder("o", "--idempotency-key", "abcdefgh", "--new-attempt"),
    ],
    [inOrder("--timeout", "24h"), createOrder("o", "--timeout", "600h")],
    ["--base-url", createOrder("o", "--base-url", "http://user:secret@pay.example/v1")],
    [inOrder("--base-url", '"ftp://x"'), createOrder("o", "--base-url", "ftp://x")],
    ["missing required argument 'id|order_id'", ["sessions", "get"]],
    ["unknown option '--api-key'", createOrder("o", "--api-key", "svc_test_x")],
    ["unknown command 'refund'", ["refund"]],
    [inOrder("--port", "65535"), ["sandbox", "start", "--port", "70000"]],
    [inOrder("--rate-limit", "5/s"), ["sandbox", "start", "--rate-limit", "5"]],
    [inOrder("--log-format", "text", "json"), ["sandbox", "start", "--log-format", "xml"]],
    [inOrder(" 5m ", " 24h"), ["sandbox", "start", "--checkout-lifetime", "299999ms"]],
    [inOrder(" 5m ", " 24h"), ["sandbox", "start", "--checkout-lifetime", "86400001ms"]],
    [inOrder(" 5m ", " 24h"), ["sandbox", "start", "--checkout-lifetime", "1800"]],
    [
      inOrder("CHECKOUT_SANDBOX_CHECKOUT_LIFETIME ", "--checkout-lifetime <duration>"),
      ["sandbox", "start"],
      { CHECKOUT_SANDBOX_CHECKOUT_LIFETIME: "25h" },
    ],
    ["CHECKOUT_SANDBOX_EPHEMERAL", ["sandbox", "start"], { CHECKOUT_SANDBOX_EPHEMERAL: "perhaps" }],
    ["HOST:PORT", ["sandbox", "start", "--allow-host", "http://x"]],
    ["order_id", ["sandbox", "pay", "x".repeat(33)]],
    ["unknown command 'crate' (Did you mean create?)", ["orders", "crate"]],
  ];
  for (const [said, argv, env = {}] of rows) {
    const result = await harness.run(argv, { env });
    expect([argv, result.code, result.stdout]).toEqual([argv, 2, ""]);
    expect(result.stderr).toMatch(said);
    expect(result.stderr).not.toContain("secret@");
    const inJson = await harness.run([...argv, "--json"], { env });
    expect([inJson.code, json(inJson.stderr)]).toMatchObject([
      2,
      { ok: false, error: { code: "usage" }, exit_code: 2 },
    ]);
  }
});

/** An option that checks its value, with the words and the required arguments of its command. */
type CheckingOption = {
  readonly words: readonly string[];
  readonly args: readonly string[];
  readonly option: Option;
};

async function checkingOptions(): Promise<readonly CheckingOption[]> {
  const tree = (argv: readonly string[]): Promise<Command> =>
    createProgram({ world: { ...REAL, argv }, version: "0.0.0", exit: () => undefined });
  const below = (command: Command, words: readonly string[]): CheckingOption[] => {
    const args = command.registeredArguments.filter(({ required }) => required).map(() => "x");
    const checking = command.options.filter(({ parseArg }) => parseArg !== undefined);
    return [
      ...checking.map((option) => ({ words, args, option })),
      ...command.commands.flatMap((child) => below(child, [...words, child.name()])),
    ];
  };
  const names = (await tree([])).commands.map((command) => command.name());
  const trees = await Promise.all(names.map(async (name) => [name, await tree([name])] as const));
  return trees.flatMap(([name, program]) => {
    const typed = program.commands.find((command) => command.name() === name);
    return typed === undefined ? [] : below(typed, [name]);
  });
}

test("a refused option value is shown without the password in its address", async () => {
  const harness = createHarness();
  const values = [
    "http://user:hunter2@shop.example:99999/",
    "http://user:hun@ter2@shop.example/a?b#c",
    "http:\\\\user:hunter2@shop.example",
    "ftp://hunter2@shop.example",
    'http://user:"hunter2@shop.example',
  ];
  let refused = 0;
  for (const { words, args, option } of await checkingOptions()) {
    for (const [at, value] of values.entries()) {
      if (!throws(() => option.parseArg?.(value, undefined))) continue;
      refused += 1;
      const flag = option.long ?? "";
      const argv = [...words, ...(at % 2 === 0 ? [flag, value] : [`${flag}=${value}`, "--json"])];
      const { code, stdout, stderr } = await harness.run(argv);
      expect([argv, code, stdout]).toEqual([argv, 2, ""]);
      expect(stderr).toContain(`'${option.flags}'`);
      expect(stderr).not.toMatch(/hunter2|hun@|ter2/);
    }
    const [value = ""] = values;
    const variable = environmentVariableOf(option);
    if (variable === undefined || !throws(() => option.parseArg?.(value, undefined))) continue;
    const { code, stderr } = await harness.run([...words, ...args], { env: { [variable]: value } });
    expect([variable, code, stderr]).toEqual([variable, 2, expect.stringContaining(variable)]);
    expect(stderr).not.toContain("hunter2");
  }
  expect(refused).toBeGreaterThan(100);
});

function throws(run: () => unknown): boolean {
  try {
    run();
    return false;
  } catch {
    return true;
  }
}

test("an error about a command line has no word that may be a secret", async () => {
  const harness = createHarness();
  await harness.start();
  const address = "http://user:hunter2@shop.example/";
  const rows: readonly (readonly [argv: string[], said: string | RegExp])[] = [
    [createOrder("o", "--api-key=hunter2"), "unknown option '--api-key'"],
    [createOrder("o", "--api-key='hunter2'"), "unknown option '--api-key'"],
    [createOrder("o", "-phunter2"), "unknown option '-p'"],
    [["whoami", address], ": http://…@shop.example/"],
    [["orders", address], "unknown command 'http://…@shop.example/'"],
    [["sandbox", "start", "--public-url", address], /'--public-url <origin>'/],
    [["sandbox", "start", "--port", "0", "--port", address], '"http://…@shop.example/"'],
    [["listen", "--header", "Authorization hunter2"], refusalText("header_form")],
    [["listen", "--header", "Checkout-Event-Id: hunter2"], refusalText("header_reserved")],
    [["listen", "--forward", address], refusalText("target_with_credentials")],
    [["listen", "--route", address], refusalText("route_form")],
    [["endpoints", "add", address], refusalText("target_with_credentials")],
    [["return-origins", "add", address], refusalText("bad_return_origin")],
    [["sandbox", "clock", "advance", address], '"http://…@shop.example/"'],
    [["sandbox", "wait", "--base-url", address], "--base-url"],
    [["sessions", "get", "x", "--base-url", address], "--base-url"],
  ];
  for (const [argv, said] of rows) {
    for (const more of [[], ["--json"]]) {
      const { code, stderr } = await harness.run([...argv, ...more]);
      const message = more.length === 0 ? stderr : (json(stderr)["error"] as { message: string }).message;
      expect([argv, code === 0, message]).toEqual([argv, false, expect.stringMatching(said)]);
      expect(stderr).not.toContain("hunter2");
    }
  }
});

test("a hint is the next command to type, with npx if npx was used, and does not repeat the mistake", async () => {
  const harness = createHarness();
  await harness.start();
  const created = json((await harness.run(createOrder("o-1~failed", "--wait", "--json"))).stdout);
  const { id } = created["data"] as { readonly id: string };
  const unknown = "0199a3c4-5d00-7000-8000-000000000001";
  const again = hintForIds("checkout");
  const rows: readonly (readonly [argv: string[], next: string | RegExp])[] = [
    [["settle"], "checkout --help"],
    [["orders", "crate", "--order-id", "x"], "checkout orders --help"],
    [["orders", "create", "--api-key", "x"], / CHECKOUT_API_KEY$/],
    [["return-origins", "ad", "https://shop.example"], "checkout return-origins --help"],
    [["sandbox", "clock", "stop"], "checkout sandbox clock freeze"],
    [
      ["return-origins", "add", "https://shop.example/thanks"],
      "checkout return-origins add https://shop.example --path /thanks",
    ],
    [["return-origins", "add", "https://shop.example/"], "checkout return-origins add https://shop.example"],
    [
      ["return-origins", "remove", "https://shop.example/thanks"],
      "checkout return-origins remove https://shop.example",
    ],
    [
      ["return-origins", "remove", "https://Shop.example"],
      "checkout return-origins remove https://shop.example",
    ],
    [["return-origins", "add", "http://shop.example"], /^(?!.*http:\/\/shop)/],
    [["sandbox", "pay", "nonsense", "--outcome", "failed"], again],
    [["sandbox", "pay", "0000aaaa"], inOrder(/; /, again, /$/)],
    [["sandbox", "pay", unknown, "--outcome", "failed"], again],
    [["checklist", "waive", "webhooks"], / --reason <text> /],
    [["sessions", "get", id, "--until", "final"], inOrder("--wait", "--until")],
    [["sandbox", "pay", id, "--outcome", "cancelled"], inOrder(`checkout sessions get ${id}`)],
  ];
  for (const [argv, next] of rows) {
    const plain = String(json((await harness.run([...argv, "--json"])).stderr)["next"]);
    expect([argv, plain]).toEqual([argv, typeof next === "string" ? next : expect.stringMatching(next)]);
    const npx = await harness.run(argv, { env: { npm_command: "exec" } });
    const typed = plain.replace(/(^|and |; )checkout /g, "$1npx checkout ");
    expect([argv, npx.stderr.trimEnd().split("\n").at(-1)]).toEqual([argv, `  → ${typed}`]);
  }
});

test("table columns are aligned even with emoji, wide and combining characters", async () => {
  const rows: readonly (readonly [cell: string, places: number])[] = [
    ["order-1", 7],
    ["✅", 2],
    ["👍🏽 yes", 6],
    ["cafe\u0301", 4],
    ["e\u0301✅e\u0301", 4],
    ["漢字", 4],
    ["한국", 4],
    ["नमस्ते", 4],
    ["→ …", 3],
    ["🇩🇪", 2],
  ];
  const lines = (
    await table(
      ["ID", "END"],
      rows.map(([cell]) => [cell, "end"]),
      { width: 80 },
    )
  ).split("\n");
  expect(lines).toEqual([
    "ID       END",
    ...rows.map(([cell, places]) => `${cell}${" ".repeat("order-1".length - places)}  end`),
  ]);
  const harness = createHarness();
  await harness.start();
  for (const id of ["✅", "cafe\u0301", "plain"]) await harness.run(createOrder(id));
  const { stdout } = await harness.run(["idempotency", "list"], { columns: 120 });
  const shown = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/( {2})2\d{3}-.*$/, "$1|"));
  expect(shown.slice(1).toSorted()).toEqual([
    "created  cafe\u0301      |",
    "created  plain     |",
    "created  ✅        |",
  ]);
});

test("in a hint, npx is added only to checkout commands, not to quoted values", async () => {
  const check = async (next: string): Promise<string> => {
    const stderr = new PassThrough({ encoding: "utf8" });
    const printer = await createPrinter(
      { stdout: stderr, stderr, env: { npm_command: "exec" } },
      { json: true },
    );
    printer.problem({ exitCode: 1, code: "c", message: "m", next });
    return String(json(String(stderr.read()))["next"]);
  };
  const order = "orders create --order-id 'run checkout x' --description 'a; checkout b'";
  expect(await check(`checkout ${order}`)).toBe(`npx checkout ${order}`);
  expect(await check("start one: checkout sandbox start")).toBe("start one: npx checkout sandbox start");
  expect(await check("correct it and run checkout orders create again")).toContain(
    "run npx checkout orders create",
  );
  expect(await check("check the id; checkout whoami shows it")).toBe(
    "check the id; npx checkout whoami shows it",
  );
  expect(await check("checkout requests list and checkout events list show ids (checkout whoami)")).toBe(
    "npx checkout requests list and npx checkout events list show ids (npx checkout whoami)",
  );
  expect(await check("an order or checkout session")).toBe("an order or checkout session");
  expect(await check("use that checkout, or another")).toBe("use that checkout, or another");
});

test("npx is added to checkout commands in printed hints, but not in other printed text", async () => {
  const stdout = new PassThrough({ encoding: "utf8" });
  const printer = await createPrinter(
    { stdout, stderr: stdout, env: { npm_command: "exec", FORCE_COLOR: "1" } },
    { json: false },
  );
  const { cyan } = printer.style;
  const text = `checkout of order-1\n  → checkout explain x\n  ${cyan("→")} see checkout doctor\nnote  → checkout y`;
  await printer.result(output("forgotten_key", { forgotten: "x" }), () => text);
  expect(stdout.read()).toBe(
    `checkout of order-1\n  → npx checkout explain x\n  ${cyan("→")} see npx checkout doctor\nnote  → checkout y\n`,
  );
});

test("nested waits of a command show only one spinner", async () => {
  const stderr = Object.assign(new PassThrough({ encoding: "utf8" }), { columns: 80 });
  const world = { ...REAL, isInteractive: () => true, stderr, onStop: () => () => undefined };
  const printer = await createPrinter({ stdout: stderr, stderr, env: {} }, { json: false });
  const context = { world, printer, version: "0.0.0", around: surroundingsOf(world, {}) };
  await runWithSpinner(context, () => runWithSpinner(context, () => Promise.resolve(), "spun"), "spun");
  expect(String(stderr.read()).match(/spun/g)).toHaveLength(1);
});

test("a terminal of width 0 gets no spinner", async () => {
  const spun = async (columns: number): Promise<boolean> => {
    const stderr = Object.assign(new PassThrough({ encoding: "utf8" }), { columns });
    const world = { ...REAL, isInteractive: () => true, stderr, onStop: () => () => undefined };
    const printer = await createPrinter({ stdout: stderr, stderr, env: {} }, { json: false });
    const context = { world, printer, version: "0.0.0", around: surroundingsOf(world, {}) };
    await runWithSpinner(context, () => Promise.resolve());
    return stderr.read() !== null;
  };
  expect([await spun(80), await spun(0)]).toEqual([true, false]);
});

test("return-origins add names the origin that payment pages link to, if another origin was added", async () => {
  const harness = createHarness();
  await harness.start();
  const add = async (origin: string): Promise<string> =>
    (await harness.run(["return-origins", "add", origin])).stdout;
  const first = await add("https://shop.example");
  expect(first).toMatch(/ https:\/\/shop\.example\n$/);
  expect(await add("http://localhost:3000")).toMatch(
    inOrder(" http://localhost:3000; ", " https://shop.example\n"),
  );
  expect(await add("https://shop.example")).toBe(first);
});

test("after a timeout, --wait prints where the checkout can still be paid", async () => {
  const harness = createHarness();
  await harness.start();
  const ended = async (argv: string[]) =>
    json((await harness.run([...argv, "--wait", "--timeout", "1s", "--json"])).stderr);
  const created = await ended(createOrder("o-1"));
  const id = String(created["id"]);
  const page = expect.stringMatching(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/pay/${id}$`)) as string;
  expect(created).toMatchObject({ error: { code: "wait_timeout" }, checkout_url: page });
  expect(await ended(["sessions", "get", id])).toMatchObject({ status: "created", checkout_url: page });
});

test("each kind of answer has its exit code, and transient errors are retried", async () => {
  const harness = createHarness();
  await harness.start();
  const envelope = (code: string) =>
    JSON.stringify({ ok: false, request_id: "r", error: { code, message: "m" } });
  const answer = (status: number, code: string, headers: Record<string, string> = {}) => ({
    status,
    body: envelope(code),
    headers,
  });
  const rows = [
    [4, answer(401, "credential_invalid")],
    [4, answer(403, "scope_missing")],
    [1, answer(400, "invalid_request")],
    [5, answer(409, "order_conflict")],
    [6, answer(429, "rate_limited", { "retry-after": "1" })],
    [6, answer(429, "rate_limited", { "retry-after": "3600" })],
    [7, answer(500, "internal_error")],
    [7, { status: 502, body: "<html>bad gateway</html>", headers: {} }],
    [7, { status: 201, body: '{"ok":true', headers: {} }],
    [7, { status: 302, body: "", headers: { location: "http://elsewhere" } }],
  ] as const;
  for (const [code, { status, body, headers }] of rows) {
    let tries = 0;
    harness.setFault(() => {
      tries += 1;
      return Promise.resolve({ ok: true, status, headers, body });
    });
    const result = await harness.run(createOrder(`o-${status}-${code}`, "--retries", "2", "--json"));
    const retried = code >= 6 && !("retry-after" in headers && headers["retry-after"] === "3600");
    expect([status, result.code, tries]).toEqual([status, code, retried ? 3 : 1]);
    expect(json(result.stderr)).toMatchObject({ ok: false, exit_code: code });
  }
  harness.setFault(() =>
    Promise.resolve({ ok: false, failure: "unreachable", message: "connect ECONNREFUSED" }),
  );
  const unreachable = await harness.run(createOrder("o-gone", "--retries", "0", "--json"));
  expect([unreachable.code, json(unreachable.stderr)]).toMatchObject([7, { error: { code: "unreachable" } }]);
});

test("settings come from flag, environment, state folder and default, in this order, and whoami shows the source", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const whoami = async (argv: string[], env: Record<string, string> = {}) =>
    json((await harness.run(["whoami", "--json", ...argv], { env })).stdout);
  const folder = join(harness.cwd, ".checkout");
  expect(await whoami([])).toMatchObject({
    base_url: { value: ready.base_url, source: join(folder, "run.json") },
    api_key: {
      value: expect.stringMatching(/^svc_test_….{4}$/) as string,
      source: join(folder, "credentials.json"),
    },
    store_id: { value: ready.store_id },
    retries: { value: 5, source: "default" },
  });
  const env = { CHECKOUT_BASE_URL: "https://pay.example/v1/", CHECKOUT_RETRIES: "2" };
  expect(await whoami(["--retries", "1"], env)).toMatchObject({
    base_url: { value: "https://pay.example/v1", source: "CHECKOUT_BASE_URL" },
    api_key: { value: null },
    store_id: { value: null },
    retries: { value: 1, source: "--retries" },
  });
  const foreign = await harness.run(createOrder("o"), { env });
  expect(foreign.code).toBe(4);
  expect(foreign.stderr).toContain("CHECKOUT_API_KEY");
});

test("whoami reports a malformed key, and names the state folder if --dir names its parent", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const warned = async (argv: readonly string[], apiKey: string): Promise<string> =>
    (await harness.run(["whoami", ...argv], { env: { CHECKOUT_API_KEY: apiKey } })).stderr;
  const key = ready.api_key ?? "";
  expect(await warned([], key)).toBe("");
  expect(await warned([], "svc_live_1")).toBe("");
  expect(await warned([], "hello")).toContain(KEY_FAULTS.not_a_key);
  const mistyped = `${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}`;
  expect(await warned([], mistyped)).toContain(KEY_FAULTS.mistyped_key);
  const project = await warned(["--dir", harness.cwd], key);
  expect(project).toMatch(inOrder(join(harness.cwd, ".checkout"), "--dir"));
});

test("orders create prompts for missing values at a terminal", async () => {
  const harness = createHarness();
  await harness.start();
  // The questions are recognised by their values: the length of an order_id, an example of an amount, a choice.
  const asked = await harness.run(["orders", "create", "--currency", "EUR", "--json"], {
    typed: [
      ["32", "order-77"],
      ["1999", "1200"],
      ["WeChat", ""],
    ],
  });
  expect(asked.code).toBe(0);
  expect(json(asked.stdout)).toMatchObject({
    data: { order_id: "order-77", amount_minor: 1200, currency: "EUR" },
  });
  expect(asked.stderr).toMatch(inOrder("32", "1999"));
});

test("--dry-run shows the request with its idempotency key, and sends and stores nothing", async () => {
  const harness = createHarness();
  await harness.start();
  const dry = json((await harness.run(createOrder("o-1", "--dry-run", "--json"))).stdout);
  expect(dry).toMatchObject({ dry_run: true, method: "POST", body: { order_id: "o-1" } });
  expect(json((await harness.run(["idempotency", "list", "--json"])).stdout)).toEqual([]);
  const real = json((await harness.run(createOrder("o-1", "--json"))).stdout);
  const { headers } = dry as { headers: Record<string, string> };
  expect([real["replayed"], real["idempotency_key"]]).toEqual([false, headers["Idempotency-Key"]]);
  expect(headers["Authorization"]).toMatch(/^Bearer svc_test_….{4}$/);
});

test("--open opens only the page of the created or found checkout", async () => {
  const harness = createHarness();
  await harness.start();
  const pageOf = async (...more: string[]): Promise<string> => {
    const { code, stdout, stderr } = await harness.run(createOrder("o-1", "--json", "--open", ...more));
    expect([more, code, stderr]).toEqual([more, 0, ""]);
    return String((json(stdout)["data"] as Record<string, unknown>)["checkout_url"]);
  };
  const page = await pageOf();
  expect(await pageOf()).toBe(page);
  expect(harness.opened).toEqual([page, page]);

  await harness.run(createOrder("o-1"));
  await harness.run(createOrder("o-2", "--open", "--dry-run"));
  const refused = await harness.run(createOrder("o-1", "--open", "--description", "another"));
  expect([refused.code, harness.opened.length]).toEqual([5, 2]);
  await harness.run(["sessions", "create", "--order-id", "o-3", "--price-id", "price_bento", "--open"]);
  const asked = await harness.run(["orders", "create", "--price-id", "price_bento", "--open"], {
    typed: [["? ", "o-4"]],
  });
  expect([asked.code, harness.opened.length, new Set(harness.opened).size]).toEqual([0, 4, 3]);
});

test("--wait prints the checkout and its address before the wait ends", async () => {
  const harness = createHarness();
  await harness.start();
  const told: string[] = [];
  for (const noun of ["orders", "sessions"]) {
    const create = [noun, "create", "--order-id", `${noun}-1`, "--price-id", "price_coffee", "--wait"];
    const { code, stdout, stderr } = await harness.run([...create, "--timeout", "1s"]);
    const [, id = "", page = ""] = / (\S{36}) .*(http:\S+)\n✗/.exec(stderr) ?? [];
    expect([noun, code, stdout, new URL(page).pathname]).toEqual([noun, 7, "", `/pay/${id}`]);
    const asJson = await harness.run([...create, "--timeout", "1s", "--json"]);
    expect(JSON.parse(asJson.stderr)).toMatchObject({ id });
    told.push(page);
  }
  expect(new Set(told).size).toBe(2);
});

test("--open with --wait opens the page while the command waits", async () => {
  const harness = createHarness();
  await harness.start();
  const order: string[] = [];
  harness.setFault((request, pass) => {
    order.push(request.method);
    return pass();
  });
  harness.setBrowser(() => {
    order.push("opened");
    return Promise.resolve({ ok: true });
  });
  const waited = await harness.run(createOrder("o-1~succeeded", "--open", "--wait", "--json"));
  expect(json(waited.stdout)).toMatchObject({ data: { status: "succeeded" } });
  expect(order.slice(0, 3)).toEqual(["POST", "opened", "GET"]);
  expect(harness.opened).toHaveLength(1);
});

test("if no browser opens, a warning names the address, and the order is created", async () => {
  const harness = createHarness();
  await harness.start();
  harness.setBrowser(() => Promise.resolve({ ok: false, message: "no browser\u001b[2J" }));
  const check = async (...argv: string[]): Promise<void> => {
    const result = await harness.run(argv);
    expect([result.code, result.stdout]).toEqual([0, expect.stringContaining("o-1") as string]);
    const [page = ""] = harness.opened;
    const waits = argv.includes("--wait") ? [` ${page.replace(/.*\//, "")} `, ` ${page}\n`] : [];
    expect(result.stderr).toMatch(inOrder("(no browser\\u{1b}[2J)", ` ${page} `, "\n", ...waits, /$/));
  };
  await check(...createOrder("o-1~succeeded", "--open"));
  await check(...createOrder("o-1~succeeded", "--open", "--json"));
  await check(...createOrder("o-1~succeeded", "--open", "--wait"));
});

test("only http and https addresses reach the browser, in normalized form", async () => {
  const harness = createHarness();
  await harness.start();
  const answerWith = (address: string): void =>
    harness.setFault(async (_request, pass) => {
      const answer = await pass();
      const url = JSON.stringify(address);
      const body = (text: string) => text.replace(/(?<="checkout_url":)"[^"]*"/, () => url);
      return answer.ok ? { ...answer, body: body(answer.body) } : answer;
    });
  const other = ["file:///bin/sh", "javascript:alert(1)", "vscode://x", "C:\\x.exe", "--help", "/bin/sh", ""];
  for (const address of other) {
    answerWith(address);
    const refused = await harness.run(createOrder("o-1", "--open", "--retries", "0", "--json"));
    expect([address, refused.code]).toEqual([address, 7]);
    expect(json(refused.stderr)).toMatchObject({ error: { code: "outcome_unknown" } });
    expect(await talkOf(address)).toMatch(inOrder(JSON.stringify(address), "http:", "https:"));
  }
  expect(harness.opened).toEqual([]);

  answerWith('HTTPS://pay.example/a b\n"$(id)"?q=ü');
  const odd = await harness.run(createOrder("o-1", "--open"));
  expect([odd.code, harness.opened]).toEqual([0, ["https://pay.example/a%20b%22$(id)%22?q=%C3%BC"]]);

  /** The message about an address that no answer of v1 can contain. */
  async function talkOf(address: string): Promise<string> {
    const stderr = new PassThrough({ encoding: "utf8" });
    const printer = await createPrinter({ stdout: stderr, stderr, env: {} }, { json: false });
    await openPage({ world: { openBrowser: () => Promise.reject(new Error("opened")) }, printer }, address);
    return String(stderr.read());
  }
});

test("the idempotency commands list, show and forget the keys of the journal", async () => {
  const harness = createHarness();
  await harness.start();
  const key = String(json((await harness.run(createOrder("o-1", "--json"))).stdout)["idempotency_key"]);
  await harness.run(createOrder("o-1", "--idempotency-key", "my-own-key"));
  const list = await harness.run(["idempotency", "list"], { columns: 120 });
  expect(list.stdout).toMatch(new RegExp(`created +o-1 +2026-01-15 12:00 +${key}`));
  expect(list.stdout).toMatch(/refused +o-1 +2026-01-15 12:00 +my-own-key/);
  const shown = json((await harness.run(["idempotency", "show", key, "--json"])).stdout);
  expect(shown).toMatchObject({ key, state: "created", attempt: 1, service: "local-sandbox" });
  expect((await harness.run(["idempotency", "forget", key])).code).toBe(0);
  expect((await harness.run(["idempotency", "show", key])).code).toBe(1);
  const again = json((await harness.run(createOrder("o-1", "--json"))).stdout);
  expect([again["idempotency_key"], again["replayed"]]).toEqual([key, true]);
});

test("an unknown outcome is reported until an answer settles it, and a repeated --new-attempt keeps its key", async () => {
  const harness = createHarness();
  const running = await harness.start();
  const answer = async (...argv: string[]) => {
    const { code, stdout, stderr } = await harness.run([...argv, "--json", "--retries", "0"]);
    return { code, ...json(stdout || stderr) } as Record<string, unknown>;
  };
  const lost = { ok: false, failure: "timeout", message: "no whole answer" } as const;
  const unreachable = { ok: false, failure: "unreachable", message: "connect ECONNREFUSED" } as const;

  harness.setFault(async (_request, pass) => pass().then(() => lost));
  expect(await answer(...createOrder("o-1"))).toMatchObject({ code: 7, error: { code: "outcome_unknown" } });
  harness.setFault(() => Promise.resolve(unreachable));
  const doubted = await answer(...createOrder("o-1"));
  expect(doubted).toMatchObject({ code: 7, error: { code: "outcome_unknown" } });
  harness.setFault((_request, pass) => pass());
  expect(await answer(...createOrder("o-1"))).toMatchObject({ code: 0, replayed: true });

  harness.setFault(() => Promise.resolve(unreachable));
  const nothing = await answer(...createOrder("o-1", "--new-attempt"));
  expect(nothing).toMatchObject({ code: 7, error: { code: "unreachable" } });
  harness.setFault((_request, pass) => pass());
  expect(await answer(...createOrder("o-1"))).toMatchObject({ code: 0, replayed: true });

  harness.setFault(() => Promise.resolve(lost));
  const second = await answer(...createOrder("o-1", "--new-attempt"));
  const third = await answer(...createOrder("o-1", "--new-attempt"));
  expect(third["idempotency_key"]).toBe(second["idempotency_key"]);
  harness.setFault((_request, pass) => pass());
  expect(await answer(...createOrder("o-1"))).toMatchObject({ code: 5, error: { code: "order_conflict" } });
  expect(await answer(...createOrder("o-1"))).toMatchObject({ code: 0, replayed: true });
  await running.stop();
});

test("orders create rejects an answer with another amount, and an idempotency key of another create", async () => {
  const harness = createHarness();
  await harness.start();
  harness.setFault(async (_request, pass) => {
    const answer = await pass();
    return answer.ok ? { ...answer, body: answer.body.replace("1999", "999999") } : answer;
  });
  const wrong = await harness.run(createOrder("o-1", "--json"));
  expect([wrong.code, wrong.stdout, json(wrong.stderr)["error"]]).toMatchObject([
    5,
    "",
    { code: "answer_mismatch" },
  ]);
  harness.setFault((_request, pass) => pass());
  const right = json((await harness.run(createOrder("o-1", "--json"))).stdout);
  const taken = await harness.run(
    createOrder("o-2", "--json", "--idempotency-key", String(right["idempotency_key"])),
  );
  expect([taken.code, json(taken.stderr)["error"]]).toMatchObject([5, { code: "idempotency_key_taken" }]);
});

test("an idempotency key that the service may have forgotten is not sent again", async () => {
  const harness = createHarness();
  await harness.start();
  await harness.run(createOrder("o-1"));
  harness.clock.advance(29 * 24 * 3_600_000 + 1);
  let sent = 0;
  harness.setFault((_request, pass) => {
    sent += 1;
    return pass();
  });
  const old = await harness.run(createOrder("o-1", "--json"));
  expect([old.code, sent, json(old.stderr)["error"]]).toMatchObject([
    5,
    0,
    { code: "idempotency_key_too_old" },
  ]);
});

test("a start avoids a taken default port, and names the program that has taken an explicit port", async () => {
  const harness = createHarness();
  harness.occupy(4242);
  const explicit = await harness.run(["sandbox", "start", "--port", "4242"]);
  expect(explicit.code).toBe(1);
  const taken = inOrder(" 4242 ", " another-program (pid 4711)");
  expect(explicit.stderr).toMatch(taken);
  const folder = join(harness.cwd, ".checkout");
  expect(existsSync(folder)).toBe(false);
  const detached = await harness.run(["sandbox", "start", "--detach", "--port", "4242"]);
  expect([detached.code, detached.stderr, existsSync(folder)]).toEqual([
    1,
    expect.stringMatching(taken),
    false,
  ]);
  expect((await harness.start()).ready.base_url).toBe("http://127.0.0.1:4243/v1");
  const second = await harness.run(["sandbox", "start", "--json"]);
  expect([second.code, json(second.stderr)]).toMatchObject([1, { error: { code: "already_running" } }]);
});

test("an ephemeral sandbox leaves no files, and a restart creates a new store", async () => {
  const harness = createHarness();
  const first = await harness.start(["--ephemeral", "--port", "0"]);
  expect(first.ready).toMatchObject({ ephemeral: true, data_dir: null });
  await first.stop();
  expect(readdirSync(harness.cwd)).toEqual([]);
  const second = await harness.start(["--ephemeral"]);
  expect(second.ready.store_id).not.toBe(first.ready.store_id);
  expect((await harness.run(["whoami", "--json"])).stdout).toContain('"api_key":{"value":null');
});

test("a damaged state file is refused with its own code, a damaged run.json is replaced, and without credentials.json the API key is null", async () => {
  const check = async (file: string, content: string, code: string): Promise<void> => {
    const harness: Harness = createHarness();
    const sandbox = await harness.start();
    await sandbox.stop();
    writeFileSync(join(harness.cwd, ".checkout", file), content);
    const again = await harness.run(["sandbox", "start", "--json"]);
    expect([file, again.code, again.stdout]).toEqual([file, 1, ""]);
    expect(json(again.stderr)).toMatchObject({ error: { code } });
  };
  await check("sandbox.db", "", "database_zero_bytes");
  await check("sandbox.db", "x".repeat(5000), "database_foreign");
  await check("master.key", "short", "state_file_unreadable");
  await check("master.key", "0".repeat(64), "master_key_foreign");
  await check("credentials.json", "{", "state_file_unreadable");
  await check("credentials.json", "", "state_file_unreadable");

  const harness = createHarness();
  await (await harness.start()).stop();
  for (const torn of ["{}", '{"pid": 12', "\u0000\u0000"]) {
    writeFileSync(join(harness.cwd, ".checkout/run.json"), torn, { mode: 0o600 });
    expect((await harness.run(["sandbox", "status", "--json"])).stderr).not.toContain("unreadable");
    await (await harness.start()).stop();
    expect(() => harness.readState("run.json")).toThrow("ENOENT");
  }
  rmSync(join(harness.cwd, ".checkout/credentials.json"));
  expect((await harness.start()).ready.api_key).toBeNull();
});

test("the state folder of a development version is recognised, refused and left unchanged", async () => {
  const harness = createHarness();
  const folder = join(harness.cwd, ".checkout");
  mkdirSync(folder, { mode: 0o700 });
  const run = { pid: 1, started: "1", port: 4242, admin_token: "old" };
  const old = { "administrator.json": "{}", "run.json": JSON.stringify(run), "sandbox.db": "" };
  for (const [name, content] of Object.entries(old)) writeFileSync(join(folder, name), content);
  const refused = await harness.run(["sandbox", "start", "--json"]);
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(json(refused.stderr)).toMatchObject({ error: { code: "state_folder_development_version" } });
  expect(readdirSync(folder).toSorted()).toEqual(Object.keys(old).toSorted());
  for (const [name, content] of Object.entries(old))
    expect([name, readFileSync(join(folder, name), "utf8")]).toEqual([name, content]);
});

test("the state folder is found in a parent folder, and --dir is used as given", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const below = join(harness.cwd, "src/deep");
  mkdirSync(below, { recursive: true });
  const found = json((await harness.run(["whoami", "--json"], { cwd: below })).stdout);
  expect(found).toMatchObject({ base_url: { value: ready.base_url } });
  const named = json((await harness.run(["whoami", "--json", "--dir", "other"], { cwd: below })).stdout);
  expect(named).toMatchObject({
    dir: { value: join(below, "other"), source: "--dir" },
    api_key: { value: null },
  });
});

test("help has examples, variables and exit codes", async () => {
  const harness = createHarness();
  const top = await harness.run(["--help"]);
  expect(top.code).toBe(0);
  expect(top.stdout).toContain(`130  ${EXIT_MEANINGS[EXIT.interrupted]}`);
  const create = await harness.run(["orders", "create", "--help"]);
  expect(create.stdout).toContain("[CHECKOUT_BASE_URL]");
  expect(create.stdout).not.toContain("CHECKOUT_IDEMPOTENCY_KEY");
  expect(create.stdout).toContain("$ checkout orders create --order-id order-1001");
  expect((await harness.run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("the request log has one line for each request, as text or JSON, with untrusted text escaped", async () => {
  const text = createHarness();
  const sandbox = await text.start();
  await text.run(createOrder("evil\u001b[2J"));
  await sandbox.request({ path: "/v1/\u202egnp" });
  const { stderr } = await sandbox.stop();
  expect(stderr).toMatch(/201 {2}POST \/v1\/orders {2}\d+\.\d ms {2}evil\\u\{1b\}\[2J {2}\S{36}\n/);
  expect(stderr).toContain("404  GET /v1/\\u{202e}gnp");

  const structured = createHarness();
  const other = await structured.start(["--log-format", "json"]);
  await structured.run(createOrder("o-1"));
  const line = json((await other.stop()).stderr.trim());
  expect(line).toMatchObject({ status: 201, method: "POST", target: "/v1/orders", note: "o-1" });
});
