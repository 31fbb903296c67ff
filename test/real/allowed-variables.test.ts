import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseConfig } from "../../src/core/config/read.ts";
import { isTargetVariable, targetVariable } from "../../src/core/config/secrets.ts";
import { createHarness, type CommandOptions } from "../support/harness.ts";
import { run } from "../support/program.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";

const FILE = "checkout.config.json";
const GET = "sessions get 0199a3c4-5d00-7000-8000-000000000001 --retries 0 --target shop";
const KEY = "live-key-of-the-person";
const ENV = { SHOP_KEY: KEY };

test("a key leaves only by the variable of its target, or by one that was allowed", async () => {
  const { ask, save } = open();
  save({ env: "SHOP_KEY" });
  const refused = await ask(`${GET} --json`, { env: ENV });
  expect([refused.code, refused.sent]).toEqual([2, []]);
  expect(refused.stderr).toMatch(
    /variable_not_allowed.*:1:\d+: targets\.shop\.api_key\.env: there is no permission to send .*SHOP_KEY to https:\/\/pay\.example.*add --allow-env SHOP_KEY, or put the key into CHECKOUT_TARGET_SHOP_API_KEY/,
  );
  const own = await ask(GET, { env: { ...ENV, CHECKOUT_TARGET_SHOP_API_KEY: "own-key" } });
  expect([own.code, own.sent]).toEqual([7, ["https://pay.example own-key"]]);
  const other = await ask(`${GET} --allow-env OTHER_KEY`, { env: { ...ENV, OTHER_KEY: "x" } });
  expect([other.code, other.sent]).toEqual([2, []]);
  const unset = await ask(GET, {});
  expect([unset.code, unset.stderr]).toEqual([
    4,
    expect.stringMatching(/SHOP_KEY is not set.*set CHECKOUT_TARGET_SHOP_API_KEY to a key/s),
  ]);
  save({ env: "CHECKOUT_TARGET_SHOP_API_KEY" });
  expect((await ask(GET, { env: { CHECKOUT_TARGET_SHOP_API_KEY: "own-key" } })).sent).toEqual([
    "https://pay.example own-key",
  ]);
});

test("--allow-env allows a variable once and for later, and what is kept holds no value", async () => {
  const { ask, save, settings } = open();
  save({ env: "SHOP_KEY" });
  const allowed = await ask(`${GET} --allow-env OTHER --allow-env SHOP_KEY`, { env: ENV });
  expect([allowed.code, allowed.sent]).toEqual([7, [`https://pay.example ${KEY}`]]);
  expect(allowed.stderr).toContain("note: SHOP_KEY may be sent to https://pay.example from");
  const path = join(settings, "allowed.json");
  const text = readFileSync(path, "utf8");
  expect(JSON.parse(text)).toMatchObject({
    variables: [{ name: "SHOP_KEY", origin: "https://pay.example" }],
  });
  expect(text).not.toMatch(/OTHER|live-key/);
  expect([statSync(path).mode & 0o777, statSync(settings).mode & 0o777]).toEqual([0o600, 0o700]);
  const again = await ask(GET, { env: ENV });
  expect([again.code, again.sent, again.stderr.includes("note")]).toEqual([
    7,
    [`https://pay.example ${KEY}`],
    false,
  ]);
  expect(readFileSync(path, "utf8")).toBe(text);
});

test("at a terminal it is asked once, and the answer is no unless it is yes", async () => {
  const { ask, save, settings } = open();
  save({ env: "SHOP_KEY" });
  const question = "Send the variable SHOP_KEY as the API key to https://pay.example";
  for (const answer of ["", "n"]) {
    const no = await ask(GET, { env: ENV, typed: [[question, answer]] });
    expect([no.code, no.sent, existsSync(settings)]).toEqual([130, [], false]);
    expect(no.stderr).toContain("nothing was sent");
  }
  const yes = await ask(GET, { env: ENV, typed: [[question, "y"]] });
  expect([yes.code, yes.sent]).toEqual([7, [`https://pay.example ${KEY}`]]);
  const later = await ask(GET, { env: ENV, typed: [] });
  expect([later.code, later.sent]).toEqual([7, [`https://pay.example ${KEY}`]]);
  expect(later.stderr).not.toContain("?");
});

test("a permission is for one folder and one address, by whatever path the folder is named", async () => {
  const { ask, save, cwd } = open();
  save({ env: "SHOP_KEY" });
  expect((await ask(`${GET} --allow-env SHOP_KEY`, { env: ENV })).code).toBe(7);
  const sends = async (more: CommandOptions = {}): Promise<boolean> =>
    (await ask(GET, { env: ENV, ...more })).sent.length > 0;
  const link = join(tempFolder(), "link");
  symlinkSync(cwd, link);
  expect(await sends({ cwd: link })).toBe(true);
  save({ env: "SHOP_KEY" }, "https://pay.example:443/other/v1");
  expect(await sends()).toBe(true);
  for (const address of [
    "https://pay.example:8443/v1",
    "https://pay.example.evil.example/v1",
    "http://127.0.0.1:9/v1",
  ]) {
    save({ env: "SHOP_KEY" }, address);
    expect([address, await sends()]).toEqual([address, false]);
  }
  save({ env: "OTHER_KEY" });
  expect((await ask(GET, { env: { ...ENV, OTHER_KEY: "x" } })).sent).toEqual([]);
  save({ env: "SHOP_KEY" });
  expect(await sends()).toBe(true);
  const moved = join(cwd, "moved");
  mkdirSync(moved);
  renameSync(join(cwd, FILE), join(moved, FILE));
  expect(await sends({ cwd: moved })).toBe(false);
  // The file that is read counts, not the link to it.
  symlinkSync(join(moved, FILE), join(cwd, FILE));
  expect(await sends()).toBe(false);
});

test("the file of permissions is believed only as checkout writes it", async () => {
  const text = (cwd: string): string =>
    JSON.stringify({ variables: [{ name: "SHOP_KEY", folder: cwd, origin: "https://pay.example" }] });
  const spoilt: Readonly<Record<string, (path: string, folder: string) => void>> = {
    "can be read by other users": (path) => chmodSync(path, 0o640),
    "can be written by other users": (_path, folder) => chmodSync(folder, 0o777),
    "is a symbolic link": (path) => {
      renameSync(path, `${path}.kept`);
      symlinkSync(`${path}.kept`, path);
    },
    "is a folder": (path) => {
      renameSync(path, `${path}.kept`);
      mkdirSync(path);
    },
    "was not written by checkout": (path) => writeFileSync(path, '{"variables":[{"name":1}]}'),
    "not written by checkout": (path) => writeFileSync(path, "{"),
  };
  for (const [why, spoil] of Object.entries(spoilt)) {
    const { ask, save, settings, cwd } = open();
    save({ env: "SHOP_KEY" });
    mkdirSync(settings, { recursive: true, mode: 0o700 });
    const path = join(settings, "allowed.json");
    writeFileSync(path, text(REAL.files.realPath(cwd)), { mode: 0o600 });
    expect((await ask(GET, { env: ENV })).sent).toHaveLength(1);
    spoil(path, settings);
    for (const words of [GET, `${GET} --allow-env SHOP_KEY`]) {
      const { code, sent, stderr } = await ask(words, { env: ENV });
      expect([why, code, sent]).toEqual([why, 1, []]);
      expect(stderr).toContain(why);
      expect(stderr).toMatch(
        /this file decides where API keys are sent.*move .* away.*CHECKOUT_TARGET_SHOP_API_KEY/s,
      );
    }
  }
  const { ask, save, settings } = open();
  save({ env: "SHOP_KEY" });
  mkdirSync(settings, { recursive: true, mode: 0o700 });
  writeFileSync(join(settings, "allowed.json"), "", { mode: 0o600 });
  expect((await ask(`${GET} --allow-env SHOP_KEY`, { env: ENV })).sent).toHaveLength(1);
  expect((await ask(GET, { env: ENV })).sent).toHaveLength(1);
});

test("where nothing can be kept, --allow-env is for this call, and the command says so", async () => {
  const { ask, save } = open();
  save({ env: "SHOP_KEY" });
  const readOnly = { ...REAL.files, makeFolder: () => fail("EROFS") };
  for (const [world, why] of [
    [{ settingsFolder: () => undefined }, "there is no home folder"],
    [{ files: readOnly }, "the file or its disk is read-only"],
  ] as const) {
    const once = await ask(`${GET} --allow-env SHOP_KEY`, { env: ENV, world });
    expect([once.code, once.sent]).toEqual([7, [`https://pay.example ${KEY}`]]);
    expect(once.stderr).toContain(`for this call only, because the permission could not be stored: ${why}`);
    expect((await ask(GET, { env: ENV, world })).code).toBe(2);
  }
});

test("each target has a variable of its own", () => {
  const target = { base_url: "https://pay.example/v1", api_key: { env: "SHOP_KEY" } };
  expect(faultsOf({ "eu-shop": target, eu_shop: target, eu: target })).toEqual([
    "targets.eu_shop: has the same variable as eu-shop, CHECKOUT_TARGET_EU_SHOP_API_KEY; rename one of the two targets",
  ]);
  for (const name of ["a", "eu-shop", "0_1", "constructor"])
    expect(isTargetVariable(targetVariable(name))).toBe(true);
});

test("a key goes over plain http to this machine alone", () => {
  const faults = (address: string) =>
    faultsOf({ shop: { base_url: address, api_key: { env: "CHECKOUT_TARGET_SHOP_API_KEY" } } });
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
    expect(faults(elsewhere)).toEqual([
      expect.stringMatching(/^targets\.shop\.base_url: must begin with https: /),
    ]);
});

test("a name that every object has is no variable", async () => {
  for (const env of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    const { ask, save } = open();
    save({ env });
    const { code, sent, stderr } = await ask(`${GET} --allow-env ${env}`, { env: ENV });
    expect([env, code, sent]).toEqual([env, 4, []]);
    expect(stderr).toContain(`the environment variable ${env} is not set`);
  }
});

test("--allow-env is refused without a target, and without the name of a variable", async () => {
  const { ask, save } = open();
  save({ env: "SHOP_KEY" });
  const alone = await ask("whoami --allow-env SHOP_KEY", { env: ENV });
  expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining("--allow-env needs --target")]);
  const odd = await ask(`whoami --target shop --allow-env SHOP-KEY`, { env: ENV });
  expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining("Expected the name of a variable")]);
});

test("whoami shows which variable the key comes from, and takes a real service's key as it is", async () => {
  const { ask, save } = open();
  save({ env: "SHOP_KEY" });
  const { code, stdout, stderr } = await ask("whoami --target shop --allow-env SHOP_KEY --json", {
    env: ENV,
  });
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { api_key: { value: "…", source: "SHOP_KEY" } }]);
  expect(stderr).not.toContain("warning");
  expect(`${stdout}${stderr}`).not.toContain(KEY);
});

test("doctor knows the variable of a target, and does not show its value", async () => {
  const { ask } = open();
  const { stdout } = await ask("doctor --json", { env: { CHECKOUT_TARGET_SHOP_API_KEY: KEY } });
  expect(stdout).toContain("CHECKOUT_TARGET_SHOP_API_KEY (secret)");
  expect(stdout).not.toContain(KEY);
});

test("the program keeps permissions in the folder of a person's settings", async () => {
  const cwd = tempFolder();
  const home = tempFolder();
  const address = "http://127.0.0.1:9/v1";
  const shop = { base_url: address, api_key: { env: "SHOP_KEY" } };
  writeFileSync(join(cwd, FILE), JSON.stringify({ targets: { shop } }));
  const whoami = ["whoami", "--target", "shop", "--allow-env", "SHOP_KEY"];
  const rows = [
    [join(home, "settings"), join(home, "settings/hosted-checkout")],
    ["relative", join(home, ".config/hosted-checkout")],
  ] as const;
  for (const [named, folder] of rows) {
    const env = { ...ENV, HOME: home, XDG_CONFIG_HOME: named };
    const { code, stderr } = await run(whoami, { cwd, env });
    expect([code, stderr]).toEqual([0, expect.stringContaining(folder)]);
    expect(existsSync(join(folder, "allowed.json"))).toBe(true);
  }
});

function fail(code: string): never {
  throw Object.assign(new Error(code), { code });
}

/** A harness, whose requests are noted by origin and key and never answered. */
function open() {
  const harness = createHarness();
  const { cwd } = harness;
  let sent: string[] = [];
  harness.setFault(({ url, headers }) => {
    const key = String(headers["Authorization"]).replace("Bearer ", "");
    sent.push(`${new URL(url).origin} ${key}`);
    return Promise.resolve({ ok: false, failure: "unreachable", message: "no" });
  });
  const settings = join(tempFolder(), "hosted-checkout");
  const ask = async (line: string, { world, ...options }: CommandOptions) => {
    sent = [];
    const personal = { settingsFolder: () => settings, ...world };
    return { ...(await harness.run(line.split(" "), { ...options, world: personal })), sent };
  };
  const save = (apiKey: { readonly env: string }, address = "https://pay.example/v1"): void =>
    writeFileSync(
      join(cwd, FILE),
      JSON.stringify({ targets: { shop: { base_url: address, api_key: apiKey } } }),
    );
  return { cwd, settings, ask, save };
}

function faultsOf(targets: unknown): string[] {
  const read = parseConfig(JSON.stringify({ targets }));
  return read.ok ? [] : read.refusal.map(({ field, message }) => `${field}: ${message}`);
}
