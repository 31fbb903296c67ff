import { execFileSync, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { quotedFault } from "../../src/cli/target/surroundings.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { createHarness } from "../support/harness.ts";
import { NO_SANDBOX } from "../../src/cli/problem.ts";

const words = (line: string): string[] => line.split(" ");

test("a shell with set -e stops at env if no sandbox is running", async () => {
  const harness = createHarness();
  const { code, stdout, stderr } = await harness.run(["env"]);
  expect([code, stderr]).toEqual([7, expect.stringContaining(NO_SANDBOX)]);
  const script = 'set -e; eval "$1"; echo went on';
  expect(spawnSync("sh", ["-c", script, "sh", stdout], { encoding: "utf8" })).toMatchObject({
    status: 7,
    stdout: "",
  });
  for (const format of ["dotenv", "json", "fish", "powershell", "github"]) {
    const other = await harness.run(["env", "--format", format]);
    expect([format, other.code, other.stdout]).toEqual([format, 7, ""]);
  }
  await harness.start();
  const running = await harness.run(["env"]);
  expect(execFileSync("sh", ["-c", script, "sh", running.stdout], { encoding: "utf8" })).toBe("went on\n");
});

test("a start on a port that browsers block prints a warning", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(["--port", "6000"]);
  expect((await sandbox.stop()).stderr).toMatch(/6000.*--port/);
  const usual = await harness.start(["--port", "6001"]);
  expect((await usual.stop()).stderr).not.toContain("--port");
});

test("a command reports quotation marks around the value of a variable", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const create = words("orders create --order-id order-1 --price-id price_coffee");
  for (const mark of ['"', "'", "`"]) {
    const quoted = `${mark}${ready.api_key ?? ""}${mark}`;
    const key = await harness.run(create, {
      env: { CHECKOUT_BASE_URL: ready.base_url, CHECKOUT_API_KEY: quoted },
    });
    expect([mark, key.code, key.stderr]).toEqual([mark, 4, expect.stringContaining(quotedFault(quoted))]);
    expect(key.stderr).not.toContain(ready.api_key);
    const url = await harness.run(create, { env: { CHECKOUT_BASE_URL: `${mark}${ready.base_url}${mark}` } });
    expect([mark, url.code, url.stderr]).toEqual([mark, 2, expect.stringContaining(quotedFault(quoted))]);
  }
  expect([quotedFault(ready.api_key ?? ""), quotedFault('"x"')]).toEqual(["", expect.stringMatching(/./)]);
});

test("sandbox pay pays the only payable checkout of an order_id", async () => {
  const harness = createHarness();
  await harness.start();
  const run = (line: string) => harness.run(words(line));
  const create = "orders create --order-id order-1 --price-id price_coffee --new-attempt";
  await run(create);
  await run("sandbox pay order-1 --outcome failed");
  await run(create);
  await run("sandbox pay order-1 --outcome cancelled");
  const ended = await run("sandbox pay order-1 --json");
  const { candidates } = JSON.parse(ended.stderr) as { readonly candidates: readonly unknown[] };
  expect([ended.code, candidates.length]).toEqual([2, 2]);
  await run(create);
  const paid = await run("sandbox pay order-1");
  expect([paid.code, paid.stdout]).toEqual([0, expect.stringContaining("succeeded")]);
  expect((await run("orders get order-1")).code).toBe(2);
});

test("listen reads an address without a scheme as http, in --forward and --route", async () => {
  const harness = createHarness();
  await harness.start();
  for (const [address, meant] of [
    ["localhost:3002/x", "http://localhost:3002/x"],
    ["127.0.0.1:3002", "http://127.0.0.1:3002"],
    ["localhost", "http://localhost"],
    ["3002", "http://localhost:3002"],
  ] as const) {
    const listening = await harness.launch(["listen", "--json", "--forward", address]);
    const routed = await harness.launch(["listen", "--json", "--route", `order.*=${address}`]);
    for (const one of [listening, routed]) expect((await one.stop()).stdout).toContain(meant);
  }
  const foreign = await harness.run(["listen", "--forward", "shop.example:3002/x"]);
  expect([foreign.code, foreign.stderr]).toEqual([2, expect.stringContaining("--allow-target shop.example")]);
});

test("events list prints the command for the next page, with every filter", async () => {
  const harness = createHarness();
  await harness.start();
  const run = (line: string) => harness.run(words(line));
  for (const id of ["order-1", "order-2", "order-3"])
    for (const line of [`orders create --order-id ${id} --price-id price_coffee`, `sandbox pay ${id}`])
      await run(line);
  type Page = {
    readonly events: readonly { readonly event_id: string }[];
    readonly next_before: string | null;
  };
  const page = async (filter: string) =>
    JSON.parse((await run(`events list --json ${filter}`)).stdout) as Page;
  for (const filter of ["", "--order-id order-2", "--checkout order-3", "--type order.created"]) {
    const all = await page(filter === "" ? "--limit 1000" : filter);
    expect([filter, all.events.length > 1, all.next_before]).toEqual([filter, true, null]);
    const shown = await run(`events list ${filter} --limit 2`.replace("  ", " "));
    const more = `checkout events list ${filter} --limit 2 --before`.replace("  ", " ");
    expect([filter, shown.stdout]).toEqual([filter, expect.stringContaining(more)]);
    const read: string[] = [];
    for (let before: string | null = ""; before !== null;) {
      const part: Page = await page(
        `${filter} --limit 2${before === "" ? "" : ` --before ${before}`}`.trim(),
      );
      read.unshift(...part.events.map(({ event_id: id }) => id));
      before = part.next_before;
    }
    expect([filter, read]).toEqual([filter, all.events.map(({ event_id: id }) => id)]);
  }
  const unknown = await run("events list --before 0199a3c4-5d00-7000-8000-000000000001");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringMatching(refusalText("no_event"))]);
});
