import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseConfig } from "../../src/core/config/read.ts";
import { isTargetVariable, targetVariable } from "../../src/core/config/secrets.ts";
import { createHarness, type CommandOptions } from "../support/harness.ts";
import { equivalentCommands } from "../../src/cli/hints/equivalents.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalMessage } from "../support/refusal-texts.ts";

const FILE = "checkout.config.json";
const GET = "sessions get 0199a3c4-5d00-7000-8000-000000000001 --retries 0 --target shop";
const KEY = "live-key-of-the-person";
const OWN = { CHECKOUT_TARGET_SHOP_API_KEY: KEY };

test("a target's API key is read only from the variable named after the target", async () => {
  const { ask, save } = open();
  save();
  const own = await ask(GET, { env: { ...OWN, CHECKOUT_API_KEY: "other-key" } });
  expect([own.code, own.sent]).toEqual([7, [`https://pay.example ${KEY}`]]);
  const others = { CHECKOUT_API_KEY: "x", SHOP_KEY: "x", CHECKOUT_TARGET_SHOPS_API_KEY: "x" };
  const unset = await ask(`${GET} --json`, { env: others });
  expect([unset.code, unset.sent]).toEqual([4, []]);
  const [variable] = Object.keys(OWN);
  expect(JSON.parse(unset.stderr)).toMatchObject({
    error: {
      code: "credential_missing",
      message: expect.stringMatching(new RegExp(String.raw`:1:\d+: targets\.shop: .*${variable}`)) as string,
    },
    next: expect.stringContaining(`${variable}`) as string,
  });
});

test("the field api_key of an older configuration file is ignored, and a message names the variable to set", async () => {
  const { ask, save } = open();
  const text = inOrder(`${FILE}:1:67: targets.shop.api_key: `, / .*CHECKOUT_TARGET_SHOP_API_KEY/);
  for (const env of ["SHOP_KEY", "CHECKOUT_API_KEY", "constructor", "__proto__"]) {
    save({ api_key: { env } });
    const checked = await ask("config validate", {});
    expect([env, checked.code, checked.stderr]).toEqual([env, 0, expect.stringMatching(text)]);
    const refused = await ask(GET, { env: { SHOP_KEY: KEY, CHECKOUT_API_KEY: KEY } });
    expect([env, refused.code, refused.sent]).toEqual([env, 4, []]);
    expect(refused.stderr).toMatch(text);
    expect((await ask(GET, { env: OWN })).sent).toEqual([`https://pay.example ${KEY}`]);
  }
  save({ api_key: { env: "CHECKOUT_TARGET_SHOP_API_KEY" } });
  expect(await ask("config validate", {})).toMatchObject({ code: 0, stderr: "" });
});

test("--allow-env is an unknown option, and the hint names the variable to set", async () => {
  const { ask, save } = open();
  save({ api_key: { env: "SHOP_KEY" } });
  const old = await ask(`${GET} --allow-env SHOP_KEY`, { env: { SHOP_KEY: KEY } });
  expect([old.code, old.sent]).toEqual([2, []]);
  expect(old.stderr).toMatch(
    inOrder("'--allow-env'", `\n  → ${String(equivalentCommands(["--allow-env"]))}`),
  );
});

test("two targets with the same variable are refused", () => {
  const target = { base_url: "https://pay.example/v1" };
  expect(faultsOf({ "eu-shop": target, eu_shop: target, eu: target })).toEqual([
    expect.stringMatching(inOrder(/^targets\.eu_shop: /, "eu-shop", "CHECKOUT_TARGET_EU_SHOP_API_KEY")),
  ]);
  for (const name of ["a", "eu-shop", "0_1", "constructor"])
    expect(isTargetVariable(targetVariable(name))).toBe(true);
});

test("a target with an http address must be on this machine", () => {
  const faults = (address: string) => faultsOf({ shop: { base_url: address } });
  for (const here of [
    "http://127.0.0.1:9/v1",
    "http://localhost/v1",
    "http://[::1]:80/v1",
    "https://pay.example/v1",
  ])
    expect(faults(here)).toEqual([]);
  for (const elsewhere of [
    "http://pay.example/v1",
    "http://10.0.0.1/v1",
    "http://localhost.example/v1",
    "HTTP://127.0.0.1.nip.io/v1",
  ])
    expect(faults(elsewhere)).toEqual([`targets.shop.base_url: ${refusalMessage("plain_http_target")}`]);
});

test("whoami prints the variable of a target's key, hides the key, and does not warn about its form", async () => {
  const { ask, save } = open();
  save();
  const { code, stdout, stderr } = await ask("whoami --target shop --json", { env: OWN });
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { api_key: { value: "…", source: "CHECKOUT_TARGET_SHOP_API_KEY" } },
  ]);
  expect(stderr).toBe("");
  expect(`${stdout}${stderr}`).not.toContain(KEY);
});

test("doctor lists the variable of a target, and does not show its value", async () => {
  const { ask } = open();
  const { stdout } = await ask("doctor --json", { env: OWN });
  expect(stdout).toContain("CHECKOUT_TARGET_SHOP_API_KEY");
  expect(stdout).not.toContain(KEY);
});

/** A harness that records the origin and the key of each request, and answers none. */
function open() {
  const harness = createHarness();
  const { cwd } = harness;
  let sent: string[] = [];
  harness.setFault(({ url, headers }) => {
    const key = String(headers["Authorization"]).replace("Bearer ", "");
    sent.push(`${new URL(url).origin} ${key}`);
    return Promise.resolve({ ok: false, failure: "unreachable", message: "no" });
  });
  const ask = async (line: string, options: CommandOptions) => {
    sent = [];
    return { ...(await harness.run(line.split(" "), options)), sent };
  };
  const save = (fields: Readonly<Record<string, unknown>> = {}): void =>
    writeFileSync(
      join(cwd, FILE),
      JSON.stringify({ targets: { shop: { base_url: "https://pay.example/v1", ...fields } } }),
    );
  return { ask, save };
}

function faultsOf(targets: unknown): string[] {
  const read = parseConfig(JSON.stringify({ targets }));
  return read.ok ? [] : read.refusal.map(({ message }) => message);
}
