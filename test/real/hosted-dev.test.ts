import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WORKERD_VERSION } from "../../src/hosted/dev/workerd-config.ts";
import { indexPath } from "../../src/hosted/dev/state.ts";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { backUpByPage } from "../support/backup.ts";
import { eventually } from "../support/eventually.ts";
import { openHttpReceiver, readBody } from "../support/http-receiver.ts";
import { heldPort } from "../support/ports.ts";
import { begin, beginHere, launch, run, runHere, startSandboxHere } from "../support/program.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WORKER_FILE } from "../../src/host/folder/files.ts";
import type { World } from "../../src/world.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { inOrder } from "../support/in-order.ts";

/** This repository, in which workerd is installed. */
const ROOT = join(import.meta.dirname, "../..");

async function startDev(folder: string, more: readonly string[] = []) {
  const args = ["hosted", "dev", "--port", "0", "--dir", folder, "--json", ...more];
  const started = await launch(args, { cwd: ROOT });
  return { ...started, ready: JSON.parse(started.output.stdout) as ReadyMessage };
}

test("hosted dev serves the command line, keeps its state over restarts and kill -9, and restores a backup", async () => {
  const served = tempFolder();
  const folder = join(served, ".checkout");
  const first = await startDev(folder);
  const { base_url, api_key, control_token, store_id } = first.ready;
  expect(first.ready).toMatchObject({ event: "ready", portal_url: null, data_dir: folder, ephemeral: false });
  const env = {
    CHECKOUT_BASE_URL: base_url,
    CHECKOUT_API_KEY: api_key ?? "",
    CHECKOUT_CONTROL_TOKEN: control_token,
  };
  const cwd = tempFolder();
  const type = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await runHere(line.split(" "), { cwd, env });
    expect([line, code, stderr]).toEqual([line, 0, ""]);
    return stdout;
  };
  const heard: string[] = [];
  const url = await openHttpReceiver((request, response) => {
    void readBody(request).then((body) => {
      heard.push((JSON.parse(String(body)) as { readonly type: string }).type);
      response.end();
    });
  });
  await type(`endpoints add ${url}`);
  await type("orders create --order-id order-1 --price-id price_coffee --json");
  await type("sandbox pay order-1 --json");
  await type("sandbox clock advance 1h --json");
  expect(await type("explain order-1")).toMatch(inOrder("order-1", "4.50 EUR", "succeeded"));
  expect(await type("events list --json")).toContain("order.succeeded");
  await eventually("the events are delivered", () =>
    expect(heard.toSorted()).toEqual(["order.created", "order.pending", "order.succeeded"]),
  );
  expect(JSON.parse(await type("stores create --name Second --json"))).toMatchObject({ name: "Second" });
  for (const [line, commands] of [
    ["snapshots create one", ["checkout sandbox start"]],
    ["config export", ["checkout prices", "checkout endpoints"]],
    ["open --print", ["checkout events list", "checkout explain"]],
  ] as const) {
    const { code, stderr } = await runHere(line.split(" "), { cwd, env });
    expect([line, code, stderr]).toEqual([line, 5, expect.stringMatching(refusalText("hosted_without"))]);
    expect(stderr).toMatch(inOrder(...commands));
  }
  expect(await first.stop("SIGINT")).toBe(0);
  expect(existsSync(join(folder, "run.json"))).toBe(false);
  const again = await startDev(folder);
  expect(again.ready).toMatchObject({ api_key, store_id });
  expect(await ordersOf(folder)).toEqual(["order-1"]);
  const logs = await runHere(["sandbox", "logs", "--dir", folder], { cwd });
  expect([logs.code, logs.stderr]).toEqual([0, ""]);
  const doctor = await runHere(["doctor", "--dir", folder, "--json"], { cwd });
  const found = (JSON.parse(doctor.stdout) as { checks: { check: string; status: string }[] }).checks;
  const wrong = found.filter(({ status }) => status === "problem" || status === "warning");
  expect(wrong.map(({ check }) => check)).toEqual(["store_clock"]);
  const backup = join(await backUpByPage("docs/hosted.md", served), ".checkout");
  await createOrder("order-2", folder);
  await again.stop("SIGKILL");
  const restarted = await startDev(folder);
  expect(await ordersOf(folder)).toEqual(["order-1", "order-2"]);
  const stopped = await runHere(["sandbox", "stop", "--dir", folder], { cwd });
  expect([stopped.code, await restarted.ended]).toEqual([0, 0]);
  for (const line of ["sandbox status", "env"]) {
    const { code, stdout, stderr } = await runHere([...line.split(" "), "--dir", folder], { cwd });
    expect([line, code, stdout + stderr]).toEqual([
      line,
      7,
      expect.stringMatching(/→ (npx )?checkout( --dir \S+)? hosted dev\n$/),
    ]);
  }
  const unserved = await runHere(["doctor", "--dir", folder], { cwd });
  expect(unserved.stdout).toContain("checkout hosted dev");
  expect(unserved.stdout).not.toContain("sandbox start");
  const sandbox = await runHere(["sandbox", "start", "--dir", folder], { cwd });
  expect([sandbox.code, sandbox.stderr]).toEqual([
    2,
    expect.stringMatching(inOrder(folder, "checkout hosted dev")),
  ]);
  const restored = await startDev(backup, ["--adopt"]);
  const { signing_secret } = first.ready;
  expect(restored.ready).toMatchObject({ api_key, store_id, signing_secret, data_dir: backup });
  expect(await ordersOf(backup)).toEqual(["order-1"]);
  await createOrder("order-2", backup);
  expect(await ordersOf(backup)).toEqual(["order-1", "order-2"]);
  expect(await restored.stop("SIGTERM")).toBe(0);
});

async function createOrder(orderId: string, folder: string): Promise<void> {
  const args = ["orders", "create", "--order-id", orderId, "--price-id", "price_coffee", "--json"];
  const { code, stderr } = await runHere([...args, "--dir", folder], { cwd: tempFolder() });
  expect([orderId, code, stderr]).toEqual([orderId, 0, ""]);
}

async function ordersOf(folder: string): Promise<readonly string[]> {
  const args = ["orders", "list", "--dir", folder, "--json"];
  const { code, stdout } = await runHere(args, { cwd: tempFolder() });
  expect(code).toBe(0);
  const { checkouts } = JSON.parse(stdout) as { readonly checkouts: readonly { order_id: string }[] };
  return checkouts.map(({ order_id: orderId }) => orderId).toSorted();
}

/** Copies the built package to a folder without workerd; returns the command that runs it. */
function programWithoutWorkerd(): readonly string[] {
  const folder = tempFolder();
  for (const name of ["bin/checkout.cjs", "dist", "package.json"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(join(ROOT, "node_modules/better-sqlite3"), join(folder, "node_modules/better-sqlite3"));
  return [process.execPath, join(folder, "bin/checkout.cjs")];
}

/** Adds a workerd to a folder of packages; when it runs, it creates the file `ran`. */
function writeWorkerd(modules: string, ran: string): void {
  const program = join(modules, "@cloudflare/workerd-linux-64/bin/workerd");
  mkdirSync(join(program, ".."), { recursive: true });
  mkdirSync(join(modules, "workerd"));
  writeFileSync(join(modules, "workerd/package.json"), JSON.stringify({ version: WORKERD_VERSION }));
  writeFileSync(program, `#!/bin/sh\ntouch '${ran}'\n`, { mode: 0o755 });
}

const OTHER_GROUP = 12_345;

test("hosted dev never runs workerd from a parent folder, and runs the project's workerd only if other users cannot replace it", async () => {
  const [parent, bin] = [tempFolder(), tempFolder()];
  const ran = join(tempFolder(), "ran");
  const command = programWithoutWorkerd();
  writeFileSync(join(bin, "npx"), "#!/bin/sh\nexit 9\n", { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
  const project = join(parent, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), "{}");
  writeWorkerd(join(parent, "node_modules"), ran);
  let said = "";
  const start = async (): Promise<boolean> => {
    const args = ["hosted", "dev", "--port", "0", "--dir", join(tempFolder(), ".checkout")];
    const { code, stderr } = await run(args, { cwd: project, env, command });
    expect(code).toBe(1);
    said = stderr;
    return existsSync(ran);
  };
  expect(await start()).toBe(false);
  expect(said).toContain("npm install");
  writeWorkerd(join(project, "node_modules"), ran);
  chmodSync(join(project, "node_modules"), 0o777);
  expect(await start()).toBe(false);
  expect(said).toContain(`${join(project, "node_modules")} `);
  expect(said).not.toContain("npm install");
  // The usual mode for a user with a private group.
  chmodSync(join(project, "node_modules"), 0o775);
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  expect(await start()).toBe(user === group);
  rmSync(ran, { force: true });
  // Only root can give a folder to a group without this user.
  if (user === 0) {
    chownSync(join(project, "node_modules"), 0, OTHER_GROUP);
    expect(await start()).toBe(false);
  }
  chmodSync(join(project, "node_modules"), 0o755);
  expect(await start()).toBe(true);
});

test("hosted dev refuses the folder of a sandbox, and reports that workerd could not be fetched", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandboxHere({ cwd });
  await sandbox.stop();
  const refused = await run(["hosted", "dev"], { cwd });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("checkout sandbox start")]);
  const command = programWithoutWorkerd();
  // A registry at which nothing listens.
  const env = {
    npm_config_registry: "http://127.0.0.1:1/",
    npm_config_fetch_retries: "0",
    npm_config_cache: cwd,
  };
  const args = ["hosted", "dev", "--json", "--port", "0", "--dir", "hosted"];
  const without = await run(args, { cwd, env, command });
  expect([without.code, without.stderr]).toEqual([
    1,
    expect.stringMatching(inOrder('"workerd_unavailable"', WORKERD_VERSION)),
  ]);
  expect(existsSync(join(cwd, "hosted/run.json"))).toBe(false);
});

test.for([
  ["its folder", (folder: string) => rmSync(folder, { recursive: true }), /"state_lost".*objects /],
  ["its list of stores", (folder: string) => rmSync(indexPath(folder)), /"state_lost".*\.sqlite /],
] as const)("hosted dev ends when %s is deleted, and says why", async ([, lose, why]) => {
  const folder = join(tempFolder(), "hosted");
  const served = await startDev(folder);
  lose(folder);
  expect([await served.ended, served.output.stderr]).toEqual([1, expect.stringMatching(why)]);
  expect(served.output.stderr).toMatch(/checkout( --dir \S+)? hosted dev/);
  expect(served.output.stderr).not.toMatch(/\n\s+at /);
  await expect(fetch(served.ready.base_url)).rejects.toThrow("fetch failed");
});

test("hosted dev can be stopped while workerd is being fetched", async () => {
  const [cwd, bin] = [tempFolder(), tempFolder()];
  writeFileSync(join(bin, "npx"), "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
  const started = begin(["hosted", "dev", "--port", "0"], { cwd, env, command: programWithoutWorkerd() });
  const config = join(cwd, ".checkout/workerd.capnp");
  await eventually("workerd is being fetched", () => expect(existsSync(config)).toBe(true));
  expect([await started.stop("SIGINT"), started.output.stdout]).toEqual([0, ""]);
  expect(existsSync(join(cwd, ".checkout/run.json"))).toBe(false);
});

/** A world in which another program takes the port that a start has chosen, before the runtime listens. */
function worldWithStranger(cwd: string) {
  const asked: string[] = [];
  const strangers: Server[] = [];
  const runAfterStranger: World["run"] = async (command) => {
    const config = readFileSync(join(cwd, "hosted/workerd.capnp"), "utf8");
    const port = Number(/address = "127\.0\.0\.1:(\d+)"/.exec(config)?.[1]);
    if (strangers.length === 0) {
      const stranger = createServer((request, response) => {
        asked.push(`${request.method} ${request.url}`);
        response.writeHead(401).end();
      });
      strangers.push(stranger.listen(port, "127.0.0.1"));
      await once(stranger, "listening");
    }
    return REAL.run(command);
  };
  onTestFinished(() => strangers.forEach((stranger) => stranger.close()));
  return {
    asked,
    strangers,
    run: runAfterStranger,
    packageFolder: () => ROOT,
    ownFile: () => readFileSync(join(ROOT, "dist", WORKER_FILE), "utf8"),
  };
}

test.for([
  ["chooses another free port", [], /"event":"ready"/],
  ["reports that a given port is used", ["named"], /"port_unavailable"/],
] as const)(
  "hosted dev sends nothing to another program that takes the port first, and %s",
  async ([, named, said]) => {
    const cwd = tempFolder();
    const { asked, strangers, ...world } = worldWithStranger(cwd);
    const port = named.length === 0 ? 0 : await heldPort();
    const args = ["hosted", "dev", "--port", String(port), "--dir", "hosted", "--json"];
    const running = beginHere(args, { cwd, world });
    await Promise.race([running.firstLine, running.ended]);
    expect(running.output.stdout + running.output.stderr).toMatch(said);
    expect([strangers.length, asked]).toEqual([1, []]);
    expect(await running.stop()).toBe(named.length === 0 ? 0 : 1);
  },
);
