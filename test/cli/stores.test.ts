import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { ProgramResult } from "../../src/world.ts";
import { expect, test } from "vitest";
import { adaptHintToTypedLine } from "../../src/cli/hints/again.ts";
import { OTHER_COMMANDS, COMMANDS, argsOf } from "../support/commands.ts";
import { createHarness, type CommandOptions, type Harness } from "../support/harness.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { inOrder } from "../support/in-order.ts";

type Made = {
  readonly store_id: string;
  readonly merchant_id: string;
  readonly name: string;
  readonly api_key: string;
  readonly signing_secret: string;
};
type Fault = { readonly error: { readonly code: string; readonly message: string } };

type CommandResult<Said> = { readonly code: number; readonly said: Said; readonly stderr: string };

const UNKNOWN = "00000000-0000-7000-8000-00000000ffff";

/** Runs a command with --json; returns its parsed output, stderr and exit code. */
async function ask<Said>(
  harness: Harness,
  line: string,
  command: CommandOptions = {},
): Promise<CommandResult<Said>> {
  const typed = [...(line.match(/'[^']*'|\S+/g) ?? []), "--json"].map((word) => word.replaceAll("'", ""));
  const { code, stdout, stderr } = await harness.run(typed, command);
  const last = (stdout || stderr).trimEnd().split("\n").at(-1) ?? "";
  return { code, said: JSON.parse(last) as Said, stderr };
}

async function make(harness: Harness, args = ""): Promise<Made> {
  const { code, said } = await ask<Made>(harness, `stores create ${args}`.trim());
  expect(code).toBe(0);
  return said;
}

function rows<Row>(harness: Harness, sql: string): Row[] {
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
  try {
    return database.prepare<[], Row>(sql).all();
  } finally {
    database.close();
  }
}

/** The stores of an order's checkouts, in order of creation. */
function storeOf(harness: Harness, orderId: string): string[] {
  return rows<{ store_id: string }>(
    harness,
    `SELECT store_id FROM checkouts WHERE order_id = '${orderId}' ORDER BY rowid`,
  ).map((row) => row.store_id);
}

test("stores create makes a store with its own keys and settings, for the first merchant or another merchant", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const tea = await make(harness, "--name 'Tea Shop'");
  expect(tea).toEqual({
    store_id: expect.not.stringContaining(ready.store_id) as string,
    merchant_id: ready.merchant_id,
    name: "Tea Shop",
    api_key: expect.stringMatching(/^svc_test_/) as string,
    signing_secret: expect.stringMatching(/^whsec_/) as string,
  });
  expect(tea.signing_secret).not.toBe(ready.signing_secret);
  const book = await make(harness, "--name Books --merchant new");
  expect(book.merchant_id).not.toBe(ready.merchant_id);
  const more = await make(harness, `--merchant ${book.merchant_id}`);
  expect(more).toMatchObject({ name: "Sandbox Store", merchant_id: book.merchant_id });
  const kept = JSON.parse(harness.readState("credentials.json")) as { stores: Record<string, object> };
  expect(Object.entries(kept.stores).slice(1)).toEqual(
    [tea, book, more].map(({ store_id, name, api_key }) => [store_id, { name, api_key }]),
  );
  const { said } = await ask<{ stores: Record<string, unknown>[] }>(harness, "stores list");
  expect(said.stores.map((store) => [store["store_id"], store["name"], store["merchant_id"]])).toEqual([
    [ready.store_id, "Sandbox Store", ready.merchant_id],
    ...[tea, book, more].map(({ store_id, name, merchant_id }) => [store_id, name, merchant_id]),
  ]);
  expect((await ask(harness, "stores show Books")).said).toMatchObject({
    merchant: { id: book.merchant_id },
    store: { id: book.store_id, name: "Books", active: true },
    prices: expect.arrayContaining([expect.objectContaining({ id: "price_coffee" })]) as unknown,
    api_keys: [{ last_four: book.api_key.slice(-4) }],
  });
  expect((await ask(harness, `stores show ${tea.store_id.toUpperCase()}`)).said).toMatchObject({
    store: { name: "Tea Shop" },
  });
  expect((await ask<Fault>(harness, `stores create --merchant ${UNKNOWN}`)).said.error.code).toBe(
    "not_found",
  );
});

test("a store name is refused if it is an id, a keyword or a secret, or is too long or unprintable", async () => {
  const harness = createHarness();
  await harness.start();
  const names = [UNKNOWN, UNKNOWN.toUpperCase(), "default", "new", "a\u0007b", "x".repeat(65)];
  for (const name of [...names, `svc_test_${"a".repeat(33)}`]) {
    const { code, stderr } = await harness.run(["stores", "create", "--name", name, "--json"]);
    expect([name, code, (JSON.parse(stderr) as Fault).error.code]).toEqual([name, 2, "usage"]);
    expect(stderr).not.toContain("aaaaaaaaaaaa");
  }
  for (const merchant of ["", "acme", "old"]) {
    const typed = ["stores", "create", "--merchant", merchant, "--json"];
    expect((await harness.run(typed)).code).toBe(2);
  }
  expect(rows(harness, "SELECT id FROM stores")).toHaveLength(1);
});

test("an ambiguous or unknown store name exits with 2 and lists the stores", async () => {
  const harness = createHarness();
  await harness.start();
  const [one, two] = [await make(harness, "--name Tea"), await make(harness, "--name Tea")];
  const lines = [
    "stores show Tea",
    "stores use Tea",
    "events list --store Tea",
    "sessions get ID --store Tea",
  ];
  for (const line of [...lines, "admin log --store Tea", "exec --store Tea -- true"]) {
    const { code, stdout, stderr } = await harness.run([...argsOf(line)]);
    expect([line, code, stdout]).toEqual([line, 2, ""]);
    for (const { store_id: id } of [one, two]) expect(stderr).toContain(id);
    const none = await harness.run(argsOf(line.replace("Tea", "Coffee")));
    expect([line, none.code]).toEqual([line, 2]);
    expect(none.stderr).toMatch(inOrder(/^✗ .* "Coffee"/, "checkout stores list"));
  }
});

/** The store that a command reaches through the control API and through v1, or the exit code. */
async function targets(harness: Harness, flag: string, env: Readonly<Record<string, string>>, order: string) {
  const named = flag === "" ? [] : ["--store", flag];
  const listed = await harness.run(["return-origins", "list", "--json", ...named], { env });
  const control = listed.code === 0 ? (JSON.parse(listed.stdout) as Made).store_id : listed.code;
  const typed = ["orders", "create", "--order-id", order, "--price-id", "price_coffee", "--json", ...named];
  const created = await harness.run(typed, { env });
  return { control, v1: created.code === 0 ? storeOf(harness, order).at(-1) : created.code };
}

test("a command's store comes from flag, environment, stores use, key, first store, in this order", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const tea = await make(harness, "--name Tea");
  const book = await make(harness, "--name Books");
  const ids = { first: ready.store_id, tea: tea.store_id, book: book.store_id };
  const keys = { first: ready.api_key ?? "", tea: tea.api_key, book: book.api_key };
  type Name = keyof typeof ids;
  type Row = readonly [
    flag: Name | "-",
    variable: Name | "-",
    use: Name | "-",
    key: Name | "-",
    control: Name,
    v1: Name | number,
  ];
  const table: readonly Row[] = [
    ["-", "-", "-", "-", "first", "first"],
    ["-", "-", "-", "tea", "tea", "tea"],
    ["-", "tea", "-", "-", "tea", "tea"],
    ["-", "tea", "-", "tea", "tea", "tea"],
    ["tea", "-", "-", "-", "tea", "tea"],
    ["tea", "book", "-", "-", "tea", "tea"],
    ["tea", "-", "-", "tea", "tea", "tea"],
    // The chosen store contradicts the key's store.
    ["tea", "-", "-", "book", "tea", 2],
    ["tea", "book", "-", "book", "tea", 2],
    ["-", "tea", "-", "book", "tea", 2],
    ["-", "-", "tea", "-", "tea", "tea"],
    ["-", "-", "tea", "tea", "tea", "tea"],
    ["book", "-", "tea", "-", "book", "book"],
    ["-", "book", "tea", "-", "book", "book"],
    ["-", "first", "tea", "first", "first", "first"],
    ["-", "-", "tea", "book", "tea", 2],
  ];
  for (const [at, [flag, variable, use, key, control, v1]] of table.entries()) {
    const path = join(harness.cwd, ".checkout/store.json");
    if (use !== "-") expect((await harness.run(["stores", "use", ids[use]])).code).toBe(0);
    const env = {
      ...(variable === "-" ? {} : { CHECKOUT_STORE_ID: ids[variable] }),
      ...(key === "-" ? {} : { CHECKOUT_API_KEY: keys[key] }),
    };
    const expected = { control: ids[control], v1: typeof v1 === "number" ? v1 : ids[v1] };
    const row = [flag, variable, use, key];
    expect([row, await targets(harness, flag === "-" ? "" : ids[flag], env, `o-${at}`)]).toEqual([
      row,
      expected,
    ]);
    // The name of a store in the flag works like its id.
    const name = { tea: "Tea", book: "Books", first: "Sandbox Store", "-": "" }[flag];
    expect([row, await targets(harness, name, env, `n-${at}`)]).toEqual([row, expected]);
    if (use !== "-") writeFileSync(path, "");
  }
});

test("whoami prints the store, its source and any contradiction between settings", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const tea = await make(harness, "--name Tea");
  const shown = async (args = "", env = {}) => {
    const { said, stderr } = await ask<Record<string, { value: unknown; source: string }>>(
      harness,
      `whoami ${args}`.trim(),
      { env },
    );
    const { store_id: id, store_name: name } = said;
    return [id?.value, id?.source.split("/").at(-1), name?.value, stderr.includes("warning")];
  };
  const { store_id: first } = ready;
  expect(await shown()).toEqual([first, "credentials.json", "Sandbox Store", false]);
  expect(await shown("--store Tea")).toEqual([tea.store_id, "--store", "Tea", false]);
  const env = { CHECKOUT_STORE_ID: tea.store_id };
  expect(await shown("", env)).toEqual([tea.store_id, "CHECKOUT_STORE_ID", "Tea", false]);
  expect(await shown("", { CHECKOUT_API_KEY: tea.api_key })).toEqual([
    tea.store_id,
    "credentials.json",
    "Tea",
    false,
  ]);
  expect((await harness.run(["stores", "use", "Tea"])).stdout).toContain(tea.store_id);
  expect(await shown()).toEqual([tea.store_id, "store.json", "Tea", false]);
  expect(await shown("", { CHECKOUT_API_KEY: ready.api_key })).toEqual([
    tea.store_id,
    "store.json",
    "Tea",
    true,
  ]);
});

test("a store that CHECKOUT_STORE_ID or checkout stores use selects applies only to its own service", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const tea = await make(harness, "--name Tea");
  await harness.run(["stores", "use", "Tea"]);
  const elsewhere = { CHECKOUT_BASE_URL: "https://pay.example/v1", CHECKOUT_STORE_ID: "shop-7" };
  // An id of another service may have any form, and names no store here.
  const { said } = await ask<{ store_id: string }>(harness, "return-origins list", { env: elsewhere });
  expect(said.store_id).toBe(tea.store_id);
  const other = await harness.start(["--ephemeral", "--port", "0"]);
  const env = {
    CHECKOUT_BASE_URL: other.ready.base_url,
    CHECKOUT_CONTROL_TOKEN: other.ready.control_token,
    CHECKOUT_API_KEY: other.ready.api_key ?? "",
  };
  const there = await ask<{ store_id: string }>(harness, "return-origins list", { env });
  expect(there.said.store_id).toBe(other.ready.store_id);
  const made = await ask<Made>(harness, "stores create --name There", { env });
  expect((await ask<Made>(harness, "return-origins list --store There", { env })).said.store_id).toBe(
    made.said.store_id,
  );
  const used = await ask<Fault>(harness, "stores use There", { env });
  expect([used.code, used.said.error.message]).toEqual([2, expect.stringContaining("CHECKOUT_BASE_URL")]);
  expect((await ask<Fault>(harness, "return-origins list --store Tea", { env })).code).toBe(2);
  expect(ready.store_id).not.toBe(other.ready.store_id);
});

test("a store that the sandbox does not have is reported, with the command that lists stores", async () => {
  const harness = createHarness();
  await harness.start();
  for (const line of [`events list --store ${UNKNOWN}`, `sandbox clock advance 1h --store ${UNKNOWN}`]) {
    const { code, stderr } = await harness.run(line.split(" "));
    expect([line, code]).toEqual([line, 1]);
    expect(stderr).toMatch(refusalText("no_store", { store: UNKNOWN }));
    expect(stderr).toContain("checkout stores list");
  }
  const { code, said } = await ask<Fault>(harness, `sessions get ${UNKNOWN} --store ${UNKNOWN}`);
  expect([code, said.error.code]).toEqual([4, "credential_missing"]);
  const env = { CHECKOUT_STORE_ID: "Tea" };
  expect((await ask<Fault>(harness, "events list", { env })).code).toBe(2);
  const elsewhere = "checklist --store Tea --base-url https://pay.example/v1";
  expect((await ask<Fault>(harness, elsewhere)).code).toBe(2);
});

/** Commands about the whole sandbox, or about no existing store. */
const OF_NO_STORE = /^(config|sandbox logs|portal sign-out|stores (create|list|use|delete))/;

/** Commands that send no request about the store: they print a request or a link, or refuse a shop without a view. */
const ASKS_NOTHING = /--dry-run|^open |run (duplicates|browser-return)/;

test("every command that acts in a store takes --store and acts only in that store", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const tea = await make(harness, "--name Tea");
  const env = { CHECKOUT_API_KEY: "" };
  for (const line of COMMANDS) {
    const help = await harness.run([...argsOf(line).filter((word) => !word.startsWith("-")), "--help"]);
    const takes = help.stdout.includes("--store <id|name>") || line === "sandbox reset";
    expect([line, takes]).toEqual([line, !OF_NO_STORE.test(line)]);
    const hint = adaptHintToTypedLine(`checkout ${line}`, { env: {}, argv: ["--store", "Tea"] });
    expect(hint.startsWith("checkout --store Tea ")).toBe(takes);
    if (OF_NO_STORE.test(line)) continue;
    const asked: string[] = [];
    const sent: string[] = [];
    harness.setFault((request, pass) => {
      const { pathname } = new URL(request.url);
      const [, store] = /^\/__sandbox\/stores\/([^/]+)/.exec(pathname) ?? [];
      if (store !== undefined) asked.push(store);
      if (pathname.startsWith("/v1/")) sent.push(request.headers["Authorization"] ?? "");
      if (store === undefined && !pathname.startsWith("/v1/")) return pass();
      return Promise.resolve({ ok: false, failure: "unreachable", message: "not in this test" });
    });
    await harness.run([...argsOf(line), "--store", "Tea", "--json"], { env });
    expect([line, new Set(asked)]).toEqual([line, new Set(asked.length === 0 ? [] : [tea.store_id])]);
    expect([line, new Set(sent)]).toEqual([
      line,
      new Set(sent.length === 0 ? [] : [`Bearer ${tea.api_key}`]),
    ]);
    expect([line, asked.length + sent.length > 0 || ASKS_NOTHING.test(line)]).toEqual([line, true]);
  }
  for (const line of OTHER_COMMANDS.filter(
    (alone) =>
      !/^(calibrate|exec|explore|whoami|shop (init|check)|sandbox reset|snapshots (create|restore) one)$/.test(
        alone,
      ),
  )) {
    const help = await harness.run([...line.split(" "), "--help"]);
    expect([line, help.stdout.includes("--store")]).toEqual([line, false]);
  }
  expect(ready.store_id).not.toBe(tea.store_id);
});

test("one order_id in two stores has two idempotency keys, two journal entries and two orders", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const tea = await make(harness, "--name Tea");
  const create = (args = "", env = {}) =>
    ask<{ data: { id: string } }>(
      harness,
      `orders create --order-id o-1 --price-id price_coffee ${args}`.trim(),
      {
        env,
      },
    );
  const [first, second, again, byKey] = [
    await create(),
    await create("--store Tea"),
    await create(`--store ${tea.store_id}`),
    await create("", { CHECKOUT_API_KEY: tea.api_key }),
  ];
  expect([first, second, again, byKey].map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(new Set([first, second].map(({ said }) => said.data.id)).size).toBe(2);
  expect([again, byKey].map(({ said }) => said.data.id)).toEqual([second.said.data.id, second.said.data.id]);
  expect(storeOf(harness, "o-1")).toEqual([ready.store_id, tea.store_id]);
  const { said } = await ask<{ key: string; store_id: string }[]>(harness, "idempotency list");
  expect(new Set(said.map(({ key }) => key)).size).toBe(2);
  expect(new Set(said.map((entry) => entry.store_id))).toEqual(new Set([ready.store_id, tea.store_id]));
});

test("the command that is suggested after a lost answer names the same store", async () => {
  const harness = createHarness();
  await harness.start();
  await make(harness, "--name Tea");
  harness.setFault(() => Promise.resolve({ ok: false, failure: "connection_lost", message: "lost" }));
  const typed = "orders create --order-id o-1 --price-id price_coffee --store Tea --retries 0".split(" ");
  const { stderr } = await harness.run(typed);
  const [, resume = ""] = /checkout (orders create .*)$/m.exec(stderr) ?? [];
  harness.setFault((_request, pass) => pass());
  const found = await harness.run(resume.replaceAll("'", "").split(" "));
  expect([resume, found.code, found.stderr]).toEqual([expect.stringContaining("--store "), 0, ""]);
  const { said } = await ask<unknown[]>(harness, "idempotency list");
  expect(said).toHaveLength(1);
});

test("env prints the variables of any store, and exec runs a command in a named or a fresh store", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const tea = await make(harness, "--name Tea");
  const variables = (store: Made) => ({
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: store.api_key,
    CHECKOUT_STORE_ID: store.store_id,
    CHECKOUT_SIGNING_SECRET: store.signing_secret,
  });
  expect((await ask(harness, "env --store Tea")).said).toEqual(variables(tea));
  const withToken = { ...variables(tea), CHECKOUT_CONTROL_TOKEN: ready.control_token };
  expect((await ask(harness, "env --store Tea --control")).said).toEqual(withToken);
  const first = { ...ready, name: ready.store_name, api_key: ready.api_key ?? "" };
  expect((await ask(harness, "env")).said).toEqual(variables(first));
  // Users run `env` to replace the variables of a deleted state, so `env` ignores these variables.
  const stale = { CHECKOUT_STORE_ID: UNKNOWN, CHECKOUT_API_KEY: tea.api_key };
  expect((await ask(harness, "env", { env: stale })).said).toEqual(variables(first));
  expect((await harness.run(["stores", "use", "Tea"])).code).toBe(0);
  expect((await ask(harness, "env", { env: stale })).said).toEqual(variables(tea));
  expect((await harness.run(["stores", "use", first.store_id])).code).toBe(0);
  harness.setProgram(() => Promise.resolve({ ending: "exited", exitCode: 5 }));
  expect((await harness.run("exec --store Tea -- npm test --store x".split(" "))).code).toBe(5);
  const env = { ...variables(first), CHECKOUT_DIR: ".checkout", CHECKOUT_ADMIN_TOKEN: "other" };
  const kept = await harness.run("exec --store new --keep -- npm test".split(" "), { env });
  expect(kept.code).toBe(5);
  const [known, fresh] = harness.programs;
  expect(known).toMatchObject({ program: "npm", args: ["test", "--store", "x"], env: variables(tea) });
  const stores = rows<{ id: string; name: string }>(harness, "SELECT id, name FROM stores ORDER BY rowid");
  expect(stores).toHaveLength(3);
  expect(kept.stderr).toContain(`checkout stores delete ${stores[2]?.id} --yes`);
  expect(fresh?.env).toMatchObject({
    CHECKOUT_STORE_ID: stores[2]?.id,
    CHECKOUT_CONTROL_TOKEN: ready.control_token,
    CHECKOUT_ADMIN_TOKEN: undefined,
  });
  const keys = (JSON.parse(harness.readState("credentials.json")) as { stores: Record<string, Made> }).stores;
  expect(fresh?.env["CHECKOUT_API_KEY"]).toBe(keys[stores[2]?.id ?? ""]?.api_key);
  for (const flag of ["--port 0", "--rate-limit off", "--config x.json"]) {
    const refused = await harness.run(`exec --store new ${flag} -- true`.split(" "));
    expect([flag, refused.code]).toEqual([flag, 2]);
  }
});

test("exec deletes the store that it created, however its program ends, and keeps an existing store", async () => {
  const harness = createHarness();
  await harness.start();
  await make(harness, "--name Tea");
  const names = (): string[] =>
    rows<{ name: string }>(harness, "SELECT name FROM stores ORDER BY rowid").map(({ name }) => name);
  const before = names();
  const during: string[][] = [];
  const ends: readonly (readonly [ProgramResult, number])[] = [
    [{ ending: "exited", exitCode: 5 }, 5],
    [{ ending: "killed", signal: "SIGKILL", signalNumber: 9 }, 137],
    [{ ending: "not_found", message: "none" }, 127],
  ];
  for (const [end, exitCode] of ends) {
    harness.setProgram(() => {
      during.push(names());
      return Promise.resolve(end);
    });
    const { code, stderr } = await harness.run("exec --store new -- npm test".split(" "));
    expect([code, stderr]).toEqual([exitCode, exitCode === 127 ? expect.stringMatching(/^✗ .*\n.*\n$/) : ""]);
    expect(names()).toEqual(before);
  }
  expect(during).toEqual(Array.from({ length: 3 }, () => [...before, "checkout exec"]));
  harness.setProgram(() => Promise.resolve({ ending: "exited", exitCode: 0 }));
  expect((await harness.run("exec --store Tea -- npm test".split(" "))).code).toBe(0);
  const refused = await harness.run("exec --store Tea --keep -- npm test".split(" "));
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(inOrder(" Tea ", "--keep"))]);
  expect(names()).toEqual(before);
});

test("exec --store needs a running sandbox", async () => {
  const harness = createHarness();
  const { code, stderr } = await harness.run("exec --store new -- true".split(" "));
  expect([code, stderr]).toEqual([7, expect.stringContaining("checkout sandbox start")]);
  expect(harness.programs).toEqual([]);
});

test("a renamed store is found only by its new name", async () => {
  const harness = createHarness();
  await harness.start();
  const tea = await make(harness, "--name Tea");
  const file = join(harness.cwd, "checkout.config.json");
  writeFileSync(file, JSON.stringify({ stores: [{ id: tea.store_id, name: "Leaves" }] }));
  expect((await harness.run(["config", "apply"])).code).toBe(0);
  const create = "orders create --order-id o-1 --price-id price_coffee --store";
  expect((await ask(harness, `${create} Leaves`)).code).toBe(0);
  expect((await ask<Fault>(harness, `${create} Tea`)).code).toBe(2);
  expect(storeOf(harness, "o-1")).toEqual([tea.store_id]);
});

test("stores that are created concurrently each have their key in credentials.json", async () => {
  const harness = createHarness();
  const { ready, request } = await harness.start();
  const headers = { Authorization: `Bearer ${ready.control_token}` };
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      request({ path: "/__sandbox/stores", headers, body: JSON.stringify({ name: `store ${at}` }) }),
    ),
  );
  const made = answers.map(({ body }) => (JSON.parse(String(body)) as { data: Made }).data);
  const kept = (JSON.parse(harness.readState("credentials.json")) as { stores: Record<string, object> })
    .stores;
  expect(Object.keys(kept)).toHaveLength(21);
  for (const { store_id: id, name, api_key } of made) expect(kept[id]).toEqual({ name, api_key });
  expect(new Set(made.map(({ api_key }) => api_key)).size).toBe(20);
});

test("a store whose key cannot be stored is not created, and the sandbox keeps running", async () => {
  const harness = createHarness();
  await harness.start();
  const path = join(harness.cwd, ".checkout/credentials.json");
  const before = harness.readState("credentials.json");
  writeFileSync(path, "{ not what checkout wrote");
  const failed = await harness.run(["stores", "create", "--json"]);
  expect(failed.code).toBe(7);
  expect(rows(harness, "SELECT id FROM stores")).toHaveLength(1);
  expect(harness.readState("credentials.json")).toBe("{ not what checkout wrote");
  writeFileSync(path, before);
  await make(harness);
  expect(rows(harness, "SELECT id FROM stores")).toHaveLength(2);
});

test("the first store stays the default store after credentials.json was deleted", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  rmSync(join(harness.cwd, ".checkout/credentials.json"));
  const tea = await make(harness, "--name Tea");
  const { said } = await ask<Record<string, { value: unknown }>>(harness, "whoami");
  expect([said["store_id"]?.value, said["api_key"]?.value]).toEqual([ready.store_id, null]);
  const create = "orders create --order-id o-1 --price-id price_coffee";
  const refused = await ask<Fault>(harness, create);
  expect([refused.code, refused.said.error.code]).toEqual([4, "credential_missing"]);
  expect((await ask(harness, `${create} --store Tea`)).code).toBe(0);
  expect(storeOf(harness, "o-1")).toEqual([tea.store_id]);
});
