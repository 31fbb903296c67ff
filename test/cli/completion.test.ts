import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { COMPLETION_SCRIPTS } from "../../src/cli/completion/commands.ts";
import { kindOfArgument, kindOfOption } from "../../src/cli/completion/kinds.ts";
import { commandPaths, createProgram } from "../../src/cli/program.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { REAL } from "../support/real.ts";
import { inOrder } from "../support/in-order.ts";

type Answer = { readonly values: readonly string[]; readonly directive: string };

/** The completions for these words; the last word is being typed. */
async function complete(harness: Harness, words: readonly string[], before: string[] = []): Promise<Answer> {
  const { code, stdout, stderr } = await harness.run(["complete", ...before, "--", ...words]);
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.trimEnd().split("\n");
  return {
    values: lines.slice(0, -1).map((line) => line.split("\t")[0] ?? ""),
    directive: lines.at(-1) ?? "",
  };
}

const valuesOf = async (harness: Harness, ...words: string[]) => (await complete(harness, words)).values;

test("Tab offers commands, options and choices by their first letters", async () => {
  const harness = createHarness();
  expect(await valuesOf(harness, "or")).toEqual(["orders"]);
  expect(await valuesOf(harness, "orders", "")).toEqual(["create", "get", "list"]);
  expect(await valuesOf(harness, "checklist", "run", "d")).toEqual(["duplicates"]);
  expect(await valuesOf(harness, "orders", "create", "--pa")).toEqual(["--payment-method"]);
  expect(await valuesOf(harness, "orders", "create", "")).toEqual(
    expect.arrayContaining(["--order-id", "--json", "--help"]),
  );
  expect(await valuesOf(harness, "sandbox", "pay", "x", "--outcome", "de")).toEqual(["declined"]);
  expect(await valuesOf(harness, "sandbox", "pay", "x", "--outcome=de")).toEqual(["--outcome=declined"]);
  expect(await valuesOf(harness, "checklist", "--item", "return_origins,st")).toEqual([
    "return_origins,store_active",
  ]);
  expect(await valuesOf(harness, "trigger", "order.s")).toEqual(["order.succeeded"]);
  expect(await valuesOf(harness, "help", "web")).toEqual(["webhooks"]);
  expect(await valuesOf(harness, "help", "orders", "g")).toEqual(["get"]);
  expect((await complete(harness, ["or"], ["--next"])).values).toEqual([]);
  expect((await complete(harness, ["orders"], ["--next"])).values).toEqual(["create", "get", "list"]);
});

test("Tab skips options before the command, and offers nothing after an unknown word or for another program", async () => {
  const harness = createHarness();
  expect(await valuesOf(harness, "--json", "--dir", "orders", "sandbox", "st")).toEqual([
    "start",
    "status",
    "stop",
  ]);
  expect(await complete(harness, ["--dir", ""])).toEqual({ values: [], directive: ":0" });
  expect(await complete(harness, ["orders", "create", "--order-id", ""])).toEqual({
    values: [],
    directive: ":4",
  });
  expect(await complete(harness, ["nothing", ""])).toEqual({ values: [], directive: ":4" });
  for (const words of [
    ["exec", ""],
    ["exec", "--", "npm", "--"],
    ["exec", "npm", "--"],
    ["explore", "--", ""],
  ])
    expect(await complete(harness, words)).toEqual({ values: [], directive: ":0" });
  expect((await complete(harness, ["listen", "--ca", "/et"])).directive).toBe(":0");
  expect(await complete(harness, [""])).toMatchObject({ directive: ":4" });
});

test("Tab offers order_ids, ids, endpoints, faults, snapshots and stores of the running sandbox", async () => {
  const harness = createHarness();
  await harness.start();
  const run = (words: string) => harness.ask(words);
  const made = await run("orders create --order-id order-1 --price-id price_coffee");
  const { id } = made["data"] as { readonly id: string };
  const endpoint = await run("endpoints add http://localhost:3000/hooks");
  await run("faults add lose_answer");
  await run("snapshots create before");

  expect(await valuesOf(harness, "sandbox", "pay", "")).toEqual(["order-1"]);
  expect(await valuesOf(harness, "explain", id.slice(0, 20))).toEqual([id]);
  expect(await valuesOf(harness, "orders", "list", "--order-id", "ord")).toEqual(["order-1"]);
  expect(await valuesOf(harness, "events", "list", "--order-id=ord")).toEqual(["--order-id=order-1"]);
  expect(await valuesOf(harness, "endpoints", "pause", "")).toEqual([endpoint["id"]]);
  expect(await valuesOf(harness, "events", "replay", "x", "--endpoint", "")).toEqual([endpoint["id"]]);
  expect(await valuesOf(harness, "faults", "remove", "")).toHaveLength(1);
  expect(await valuesOf(harness, "snapshots", "restore", "be")).toEqual(["before"]);
  expect(await valuesOf(harness, "stores", "use", "Sand")).toEqual(["Sandbox Store"]);
  for (const words of ["events get", "requests get", "keys revoke", "prices retire"])
    expect([words, await valuesOf(harness, ...words.split(" "), "")]).toEqual([words, []]);
  const other = (await run("stores create --name Other"))["store_id"];
  expect(await valuesOf(harness, "--store", String(other), "sandbox", "pay", "")).toEqual([]);
  expect(await valuesOf(harness, "sandbox", "pay", "--store", "Nothing", "")).toEqual([]);
});

test("Tab offers no value with a control character, and no argument that looks like an option", async () => {
  const harness = createHarness();
  await harness.start();
  for (const orderId of ["a\tb", "a\u001b[2Jc", "a\nd", "a\u0085e", "-f", "a g"]) {
    const { code } = await harness.run([
      "orders",
      "create",
      `--order-id=${orderId}`,
      "--price-id",
      "price_coffee",
    ]);
    expect([0, 2]).toContain(code);
  }
  expect(await valuesOf(harness, "sandbox", "pay", "")).toEqual(["a g"]);
  expect(await valuesOf(harness, "orders", "list", "--order-id=")).toEqual([
    "--order-id=a g",
    "--order-id=-f",
  ]);
});

test("Tab offers values for four options, and for every argument except the arguments in the snapshot", async () => {
  const registry = { world: { ...REAL, argv: [] }, version: "0.0.0", exit: () => undefined };
  const without: string[] = [];
  const options = new Set<string>();
  for (const path of await commandPaths(registry)) {
    let command = await createProgram({ ...registry, world: { ...REAL, argv: path.slice(0, 1) } });
    for (const word of path) command = command.commands.find((one) => one.name() === word) ?? command;
    for (const option of command.options) if (kindOfOption(option) !== undefined) options.add(option.name());
    const [argument] = command.registeredArguments;
    if (argument !== undefined && argument.argChoices === undefined)
      if (kindOfArgument(path.join(" ")) === undefined) without.push(`${path.join(" ")} ${argument.name()}`);
  }
  expect([...options].toSorted()).toEqual(["checkout", "endpoint", "order-id", "store"]);
  expect(without).toMatchInlineSnapshot(`
    [
      "sandbox clock advance duration",
      "sandbox clock set time",
      "exec command",
      "return-origins add origin",
      "return-origins remove origin",
      "prices add id",
      "prices retire id",
      "idempotency show key",
      "idempotency forget key",
      "endpoints add url",
      "events get event_id",
      "events replay event_id",
      "snapshots create name",
      "explore command",
      "admin enable-capability name",
      "admin disable-capability name",
      "admin approve-price id",
      "admin revoke-price id",
      "keys revoke key_id",
      "tokens revoke token_id",
      "requests get request_id",
    ]
  `);
});

test("completion prints the script of each shell, installs it in the shell's completion folder, and removes only its own scripts", async () => {
  const harness = createHarness();
  const env = { HOME: harness.cwd, SHELL: "/usr/bin/fish" };
  for (const [shell, script] of Object.entries(COMPLETION_SCRIPTS)) {
    expect((await harness.run(["completion", shell])).stdout).toBe(script);
    const written = await harness.run(["completion", "install", shell, "--json"], { env });
    const { path } = JSON.parse(written.stdout) as { readonly path: string };
    expect(readFileSync(path, "utf8")).toBe(script);
    expect(path.startsWith(harness.cwd)).toBe(true);
    expect((await harness.run(["completion", "install", shell], { env })).code).toBe(0);
  }
  const removed = await harness.run(["completion", "uninstall"], { env });
  expect([removed.code, removed.stdout.match(/✓ removed/g)?.length]).toEqual([0, 4]);
  const chosen = await harness.run(["completion", "install"], { env });
  expect(chosen.stdout).toContain(join(".config", "fish", "completions", "checkout.fish"));
  await harness.run(["completion", "uninstall", "fish"], { env });

  const foreign = join(harness.cwd, ".local/share/bash-completion/completions/checkout");
  mkdirSync(dirname(foreign), { recursive: true });
  writeFileSync(foreign, "# somebody else's\n");
  for (const verb of ["install", "uninstall"])
    expect((await harness.run(["completion", verb, "bash"], { env })).code).toBe(1);
  expect(existsSync(foreign)).toBe(true);
  expect((await harness.run(["completion", "install", "ksh"], { env })).code).toBe(2);
  expect((await harness.run(["completion", "install"], { env: { HOME: harness.cwd } })).code).toBe(2);
  expect((await harness.run(["completion", "install", "zsh"], { env: {} })).code).toBe(1);
});

test("completion install says why it cannot write to the home folder, and how to get the script otherwise", async () => {
  const harness = createHarness();
  const file = join(harness.cwd, "file");
  writeFileSync(file, "");
  const rows: readonly (readonly [env: Record<string, string>, cause: RegExp])[] = [
    [{}, /^✗ .* \(HOME\)\n/],
    [{ HOME: "" }, /^✗ .* \(HOME\)\n/],
    [{ HOME: "home" }, /^✗ HOME .*: home\//],
    [{ HOME: harness.cwd, XDG_DATA_HOME: "data" }, /^✗ XDG_DATA_HOME .*: data\n/],
    [{ HOME: file }, /ENOTDIR|EEXIST/],
    [{ HOME: harness.cwd, XDG_DATA_HOME: join(file, "data") }, /ENOTDIR|EEXIST/],
    ...(existsSync("/proc/self") ? [[{ HOME: "/proc/none" }, /ENOENT/] as const] : []),
  ];
  for (const [env, cause] of rows) {
    const { code, stderr } = await harness.run(["completion", "install", "bash"], { env });
    expect([env, code, stderr]).toEqual([env, 1, expect.stringMatching(cause)]);
    expect(stderr).toMatch(inOrder("→ ", "XDG_DATA_HOME", ": checkout completion bash\n"));
    expect(stderr).not.toContain("--dir");
  }
});
