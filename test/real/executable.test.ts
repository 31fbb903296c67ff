import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { request } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { fakeBrowser } from "../support/fake-browser.ts";
import { inOrder } from "../support/in-order.ts";
import {
  launch,
  PROGRAM,
  run,
  runHere,
  startSandbox,
  startSandboxHere,
  type SandboxProcess,
} from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CREATE = ["orders", "create", "--order-id", "order-1001", "--price-id", "price_bento", "--json"];
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

test("an opened browser neither blocks a command nor writes to its terminal", async () => {
  const cwd = tempFolder();
  await startSandboxHere({ cwd });
  const browser = fakeBrowser("echo noise; echo noise >&2; exec sleep 600");
  onTestFinished(() => void process.kill(browser.pid()));
  const env = { PATH: `${browser.folder}:/usr/bin:/bin` };
  const result = await run([...CREATE, "--open"], { cwd, env });
  const { data } = json(result.stdout) as { data: { checkout_url: string } };
  expect([result.code, result.stderr]).toEqual([0, ""]);
  await eventually("the browser is there", () => expect(browser.opened()).toEqual([data.checkout_url]));
  // The browser is still running: the command neither waited for it nor ended it.
  expect(process.kill(browser.pid(), 0)).toBe(true);
});

test("if no browser can be opened, the order is still created, with a warning that shows the address to open", async () => {
  const cwd = tempFolder();
  await startSandboxHere({ cwd });
  const rows = [
    [fakeBrowser("exit 3").folder, " 3"],
    [fakeBrowser("kill -9 $$").folder, " SIGKILL"],
    [tempFolder(), " ENOENT"],
  ] as const;
  for (const [PATH, said] of rows) {
    const result = await run([...CREATE, "--open"], { cwd, env: { PATH } });
    const { data } = json(result.stdout) as { data: { checkout_url: string } };
    expect([result.code, result.stderr.split("\n").length]).toEqual([0, 2]);
    expect(result.stderr).toMatch(inOrder(said, data.checkout_url));
  }
});

test("an old Node is refused with one line that states the remedy", async () => {
  const script = `Object.defineProperty(process.versions, "node", { value: process.argv[1] }); require(${JSON.stringify(PROGRAM)});`;
  for (const [version, refused] of [
    ["12.22.0", true],
    ["20.20.2", true],
    ["22.22.1", true],
    ["22.22.2", false],
    ["26.0.0", false],
  ] as const) {
    const failure = await promisify(execFile)(process.execPath, ["-e", script, version, "--version"]).catch(
      (error: unknown) => error as { code: number; stderr: string },
    );
    const code = "code" in failure ? failure.code : 0;
    expect([version, code]).toEqual([version, refused ? 1 : 0]);
    if (!refused) continue;
    expect(failure.stderr.split("\n")).toHaveLength(2);
    expect(failure.stderr).toMatch(inOrder("22.22.2", version, "npx"));
  }
});

test("the executable listens only on 127.0.0.1 and ::1, and refuses a Host that is neither its own address nor allowed", async () => {
  const { port } = await startSandboxHere({ cwd: tempFolder(), args: ["--allow-host", "checkout.local"] });
  const status = (host: string, hostHeader: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = request({ host, port, path: "/healthz", headers: { Host: hostHeader } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject).end();
    });
  const rows = [
    ["127.0.0.1", `127.0.0.1:${port}`, 200],
    ["::1", `[::1]:${port}`, 200],
    ["127.0.0.1", `localhost:${port}`, 200],
    ["127.0.0.1", "checkout.local", 200],
    ["127.0.0.1", `checkout.local:${port}`, 200],
    ["127.0.0.1", "rebound.example", 403],
    ["127.0.0.1", "127.0.0.1", 403],
  ] as const;
  for (const [host, header, expected] of rows)
    expect([header, await status(host, header)]).toEqual([header, expected]);
  const other = connect({ host: "127.0.0.2", port });
  const refused = await new Promise((resolve) =>
    other.on("error", resolve).on("connect", () => resolve("connected")),
  );
  expect(refused).toMatchObject({ code: "ECONNREFUSED" });
});

test("orders create reports an unknown outcome if the service answers only 101 Switching Protocols", async () => {
  const service = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
    );
  });
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  const { port } = service.address() as AddressInfo;
  const env = { CHECKOUT_BASE_URL: `http://127.0.0.1:${port}/v1`, CHECKOUT_API_KEY: "svc_test_x" };
  const result = await runHere([...CREATE, "--retries", "1"], { cwd: tempFolder(), env });
  service.close();
  expect([result.code, result.stdout]).toEqual([7, ""]);
  expect(json(result.stderr)).toMatchObject({ error: { code: "outcome_unknown" }, tries: 2 });
});

test("a start refuses a state folder that is a link, has another program's files or is open to other users, and writes nothing there", async () => {
  const cwd = tempFolder();
  const elsewhere = tempFolder();
  symlinkSync(elsewhere, join(cwd, ".checkout"));
  const project = tempFolder();
  writeFileSync(join(project, "package.json"), "{}");
  writeFileSync(join(project, "credentials.json"), '{"web":{}}', { mode: 0o600 });
  const open = join(tempFolder(), "open");
  mkdirSync(open);
  chmodSync(open, 0o777);
  const foreign = join(tempFolder(), "own");
  mkdirSync(foreign, { mode: 0o700 });
  writeFileSync(join(foreign, "credentials.json"), '{"web":{}}', { mode: 0o600 });
  const rows = [
    [cwd, [], "state_folder_refused"],
    [project, ["--dir", "."], "state_folder_refused"],
    [open, ["--dir", "."], "state_folder_refused"],
    [foreign, ["--dir", "."], "state_file_unreadable"],
  ] as const;
  for (const [folder, flags, code] of rows) {
    const result = await runHere(["sandbox", "start", "--json", "--port", "0", ...flags], { cwd: folder });
    expect([result.code, json(result.stderr)["error"]]).toMatchObject([1, { code }]);
  }
  expect(readdirSync(elsewhere)).toEqual([]);
  expect(readdirSync(project)).toEqual(["credentials.json", "package.json"]);
  expect(readFileSync(join(foreign, "credentials.json"), "utf8")).toBe('{"web":{}}');
});

test("broken connections do not stop the sandbox, no output or process list has a secret, and a stop waits for a request in flight", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd });
  const sockets = await disturb(sandbox.port);
  const health = await fetch(`${sandbox.ready.checkout_origin}/healthz`);
  expect([health.status, sandbox.process.exitCode]).toEqual([200, null]);

  const apiKey = sandbox.ready.api_key ?? "";
  const client = await run([...CREATE, "--show-headers"], { cwd });
  await runHere(["sessions", "get", "unknown"], { cwd });
  const processes =
    process.platform === "linux" ? readFileSync(`/proc/${sandbox.ready.pid}/cmdline`, "utf8") : "";
  const live = readFileSync(join(cwd, ".checkout/run.json"), "utf8");
  const administrator = readFileSync(join(cwd, ".checkout/admin.json"), "utf8");

  const { answered, finish } = await beginCreate(sandbox);
  const stopped = sandbox.stop("SIGINT");
  finish();
  expect(await answered).toMatch(/^HTTP\/1\.1 201 /);
  expect(await stopped).toBe(0);
  for (const socket of sockets) socket.destroy();

  const tokens = [json(live)["control_token"], json(administrator)["admin_token"]];
  for (const secret of [apiKey, sandbox.ready.signing_secret, ...tokens.map(String)]) {
    for (const said of [client.stdout, client.stderr, sandbox.output.stderr, processes])
      expect(said).not.toContain(secret);
  }
});

/** Disturbs the sandbox with bad requests; returns sockets that stay open even if the server closes its side. */
async function disturb(port: number): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  const talk = (text: string): Promise<Socket> =>
    new Promise((resolve) => {
      // The client keeps its side open, even if the server closes the connection.
      const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
      sockets.push(socket);
      socket.on("error", () => undefined).once("data", () => resolve(socket));
      socket.write(text);
    });
  const foreign = "CONNECT x HTTP/1.1\r\nHost: evil\r\n\r\n";
  const bad = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? foreign : "GARBAGE\r\n\r\n"));
  await Promise.all(bad.map(async (text) => (await talk(text)).resetAndDestroy()));
  await Promise.all([talk(foreign), talk("GARBAGE\r\n\r\n"), talk("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET")]);
  return sockets;
}

/** Sends a create without the end of its body, which `finish` sends. */
async function beginCreate({ port, ready }: SandboxProcess) {
  const body = '{"order_id":"o-1","price_id":"price_bento"}';
  const socket = connect({ host: "127.0.0.1", port });
  const head = [
    "POST /v1/orders HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${ready.api_key ?? ""}`,
    "Content-Type: application/json",
    "Idempotency-Key: in-flight-1",
    "Connection: close",
    `Content-Length: ${body.length}`,
  ].join("\r\n");
  const answered = new Promise<string>((resolve) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("utf8"))).on("close", () => resolve(text));
  });
  await new Promise((resolve) => socket.write(`${head}\r\n\r\n${body.slice(0, 10)}`, resolve));
  // An answer to another request shows that the sandbox has read this part of the create.
  const alive = await runHere(["sessions", "get", "0199a3c4-5d00-7000-8000-000000000001"], {
    cwd: tempFolder(),
    env: { CHECKOUT_BASE_URL: ready.base_url, CHECKOUT_API_KEY: "x" },
  });
  expect(alive.code).toBe(4);
  return { answered, finish: () => void socket.write(body.slice(10)) };
}

test("concurrent commands in a new folder share one journal", async () => {
  const sandbox = await startSandboxHere({ cwd: tempFolder() });
  const cwd = tempFolder();
  const env = { CHECKOUT_BASE_URL: sandbox.ready.base_url, CHECKOUT_API_KEY: sandbox.ready.api_key ?? "" };
  const create = (orderId: string) =>
    run(["orders", "create", "--order-id", orderId, "--price-id", "price_bento"], { cwd, env });
  const orders = ["a", "b", "c", "a", "b", "c"];
  const results = await Promise.all(orders.map(create));
  expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(orders.map(() => [0, ""]));
  const listed = await runHere(["idempotency", "list", "--json"], { cwd });
  expect(JSON.parse(listed.stdout)).toHaveLength(3);
});

test("a sandbox keeps running after the readers of its stdout and stderr close their pipes", async () => {
  const cwd = tempFolder();
  const sandbox = await launch(["sandbox", "start", "--port", "0"], { cwd });
  sandbox.process.stdout?.destroy();
  sandbox.process.stderr?.destroy();
  const answers = await Promise.all([1, 2, 3].map(() => runHere(CREATE, { cwd })));
  expect(answers.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(await sandbox.stop("SIGTERM")).toBe(0);
});
