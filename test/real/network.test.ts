import { createServer, request as httpRequest } from "node:http";
import { basename } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { hostOf, listenAddresses, parseListenAddress } from "../../src/core/network/address.ts";
import { parsePublicUrl } from "../../src/core/network/public-url.ts";
import { REAL } from "../support/real.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness } from "../support/harness.ts";
import { listenUntilEnd, openHttpReceiver, readBody } from "../support/http-receiver.ts";
import { run, startSandbox } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ORDER = JSON.stringify({ order_id: "o-1", price_id: "price_coffee" });
const CLOCK = "/__sandbox/stores/default/clock";

test("a shop on another address creates an order, is paid through the public URL, and gets the webhooks", async () => {
  const cwd = tempFolder();
  const heard: string[] = [];
  const hooks = await openHttpReceiver((request, response) => {
    void readBody(request).then((body) => {
      heard.push(String(body));
      response.writeHead(204).end();
    });
  }, "127.0.0.3");
  let sandboxPort = 0;
  const proxy = createServer((request, response) => {
    const { method, url: path, headers } = request;
    const passed = httpRequest({ host: "127.0.0.2", port: sandboxPort, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  });
  const publicUrl = `http://127.0.0.2:${await listenUntilEnd(proxy, "127.0.0.2")}`;
  const { ready, port } = await startSandbox({
    cwd,
    args: ["--listen", "127.0.0.2", "--public-url", publicUrl],
  });
  sandboxPort = port;
  expect([ready.base_url, ready.checkout_origin]).toEqual([`http://127.0.0.1:${port}/v1`, publicUrl]);
  expect((await run(["endpoints", "add", hooks], { cwd })).code).toBe(0);

  const shown: string[] = [];
  const ask = async (url: string, init: RequestInit = {}): Promise<string> => {
    const answer = await fetch(url, init);
    shown.push(url, await answer.clone().text());
    expect([url, answer.status < 400]).toEqual([url, true]);
    return answer.text();
  };
  const headers = {
    Authorization: `Bearer ${ready.api_key}`,
    "Content-Type": "application/json",
    "Idempotency-Key": "key-of-the-test",
  };
  const made = await ask(`http://127.0.0.2:${port}/v1/orders`, { method: "POST", headers, body: ORDER });
  const { id, checkout_url: page } = (JSON.parse(made) as { data: { id: string; checkout_url: string } })
    .data;
  expect(page).toBe(`${publicUrl}/pay/${id}`);
  const submit = (form: string, fields: Record<string, string>): Promise<string> =>
    ask(`${publicUrl}${form}`, {
      method: "POST",
      headers: { Origin: publicUrl },
      body: new URLSearchParams(fields),
    });
  const token = /name="token" value="([^"]+)"/.exec(await ask(page))?.[1] ?? "";
  await submit(`/pay/${id}/start`, { token });
  await submit(`/pay/${id}/wallet/1`, { token, outcome: "succeeded" });
  await eventually("the payment was told", () => expect(heard.at(-1)).toContain('"order.succeeded"'));
  expect(heard.every((body) => body.includes(page))).toBe(true);
  expect([...shown, ...heard].filter((text) => text.includes("127.0.0.1"))).toEqual([]);
});

test("links, forms and the QR code have the public URL behind an https proxy, without a redirect loop", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(["--public-url", "https://pay.example"]);
  const made = await sandbox.request({
    path: "/v1/orders",
    headers: { "Idempotency-Key": "key-12345" },
    body: ORDER,
  });
  const { checkout_url: url } = (JSON.parse(String(made.body)) as { data: { checkout_url: string } }).data;
  expect(url).toMatch(/^https:\/\/pay\.example\/pay\//);
  const path = url.replace("https://pay.example", "");
  // The proxy keeps the browser's Host, or replaces it and adds a header with the browser's Host.
  const ways: readonly Record<string, string>[] = [
    { Host: "pay.example" },
    { Host: "localhost:4242", "X-Forwarded-Host": "pay.example" },
    { Host: "localhost:4242", Forwarded: "for=192.0.2.1;host=pay.example;proto=https" },
    { Host: "127.0.0.1:4242" },
  ];
  for (const way of ways) {
    const shown = await sandbox.request({ path, headers: way });
    expect([way, shown.status]).toEqual([way, 200]);
    const token = /name="token" value="([^"]+)"/.exec(String(shown.body))?.[1] ?? "";
    const form = (origin: string) =>
      sandbox.request({
        path: `${path}/start`,
        headers: { ...way, Origin: origin, "Content-Type": "application/x-www-form-urlencoded" },
        body: `token=${encodeURIComponent(token)}`,
      });
    expect((await form("https://other.example")).status).toBe(403);
    const started = await form("https://pay.example");
    expect([way, started.status, started.headers["Location"]?.startsWith("/pay/")]).toEqual([way, 303, true]);
    const wallet = await sandbox.request({ path: started.headers["Location"] ?? "", headers: way });
    expect([way, wallet.status]).toEqual([way, 200]);
  }
  // A request whose Host is localhost belongs to the portal: it is redirected to 127.0.0.1, which redirects no
  // further.
  const away = await sandbox.request({ path, headers: { Host: "localhost:4242" } });
  expect([away.status, away.headers["Location"]]).toEqual([307, `http://127.0.0.1:4242${path}`]);
});

test("neither --listen, --allow-host nor --public-url opens the control API to other machines, but --allow-control-host does", async () => {
  const harness = createHarness();
  const args = ["--listen", "0.0.0.0", "--allow-host", "app", "--public-url", "https://pay.example"];
  const sandbox = await harness.start(args);
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const status = async (path: string, Host: string, fromOutside: boolean): Promise<number> => {
    const bearer = path === CLOCK ? token : (sandbox.ready.api_key ?? "");
    const headers = { Host, Authorization: `Bearer ${bearer}` };
    return (await sandbox.request({ path, headers, fromOutside })).status;
  };
  for (const host of ["app", "app:4242", "pay.example", "127.0.0.1:4242", "localhost:4242", "[::1]:4242"]) {
    expect([host, await status("/healthz", host, true)]).toEqual([host, 200]);
    expect([host, await status(CLOCK, host, true)]).toEqual([host, 403]);
  }
  expect(await status(CLOCK, "127.0.0.1:4242", false)).toBe(200);
  expect(await status("/healthz", "other.example", true)).toBe(403);
  const { stderr } = await sandbox.stop();
  expect(stderr).toContain("0.0.0.0");
  expect(stderr).toContain("app, pay.example");

  const open = await harness.start([...args, "--allow-control-host", "ops"]);
  const live = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const headers = { Host: "ops:4242", Authorization: `Bearer ${live.control_token}` };
  expect((await open.request({ path: CLOCK, headers, fromOutside: true })).status).toBe(200);
  expect((await open.stop()).stderr).toMatch(/\bops\b/);
});

test("an invalid listen address or public URL, or an open address without an allowed name, is refused before anything is created", async () => {
  const refused: readonly (readonly string[])[] = [
    ["--listen", "0.0.0.0"],
    ["--listen", "::"],
    ["--listen", "192.168.1.5"],
    ["--listen", "localhost"],
    ["--listen", "127.0.0.2:80"],
    ["--listen", "0x7f.1"],
    ["--listen", "fe80::1%eth0"],
  ];
  const urls = [
    "pay.example",
    "ftp://pay.example",
    "https://pay.example/prefix",
    "https://pay.example/?a",
    "https://pay.example#",
    "https://me:hunter2@pay.example",
    "http://localhost:8080",
    "http://[::1]:8080",
    "http://0.0.0.0:8080",
  ];
  const harness = createHarness();
  for (const args of refused) {
    const { code, stderr } = await harness.run(["sandbox", "start", ...args]);
    expect([args, code, stderr]).toEqual([args, 2, expect.stringMatching(/--listen/)]);
  }
  for (const url of urls) {
    const env = { CHECKOUT_SANDBOX_PUBLIC_URL: url };
    const { code, stderr } = await harness.run(["sandbox", "start"], { env });
    expect([url, code]).toEqual([url, 2]);
    expect(stderr).not.toContain("hunter2");
  }
  expect(() => harness.readState(".gitignore")).toThrow(/ENOENT/);
  expect(parsePublicUrl("https://Pay.Example:443/")).toEqual({ ok: true, value: "https://pay.example" });
  expect(parseListenAddress("[0:0::1]")).toEqual({ ok: true, value: "::1" });
  expect(hostOf("::")).toBe("[::]");
});

test("a sandbox with a public URL does not move to another port", async () => {
  const harness = createHarness();
  harness.occupy(4242);
  const start = ["sandbox", "start", "--public-url", "https://pay.example", "--json"];
  const { code, stderr } = await harness.run(start);
  expect([code, stderr]).toEqual([1, expect.stringContaining('"code":"port_unavailable"')]);
  expect(stderr).toContain("4242");
});

test("whatever addresses a server listens on, loopback also answers, duplicate addresses count once, and an address of another machine is reported", async () => {
  const all = (more: readonly string[]): string[] => listenAddresses(more).map(({ address }) => address);
  expect(all([])).toEqual(["127.0.0.1", "::1"]);
  expect(all(["127.0.0.1", "::1"])).toEqual(["127.0.0.1", "::1"]);
  expect(all(["127.0.0.2", "127.0.0.2"])).toEqual(["127.0.0.1", "::1", "127.0.0.2"]);
  expect(all(["0.0.0.0", "127.0.0.2", "10.0.0.1"])).toEqual(["0.0.0.0", "::1"]);
  expect(all(["::", "fd00::1", "127.0.0.2"])).toEqual(["127.0.0.1", "::", "127.0.0.2"]);

  const service = {
    answer: () => Promise.resolve({ status: 200, headers: {}, body: "here" }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  };
  for (const addresses of [["127.0.0.2"], ["0.0.0.0"], ["0.0.0.0", "127.0.0.2"]]) {
    const listening = await REAL.listen(() => service, { port: 0, addresses });
    if (!listening.ok) throw new Error(listening.refusal.message);
    const { port, close } = listening.value;
    for (const address of ["127.0.0.1", "127.0.0.2"])
      expect(await (await fetch(`http://${address}:${port}/`)).text()).toBe("here");
    await close(0);
  }
  const nowhere = await REAL.listen(() => service, { port: 0, addresses: ["192.0.2.1"] });
  expect(nowhere).toMatchObject({ ok: false, refusal: { reason: "no_such_address", address: "192.0.2.1" } });
});

test("sandbox start --allow-target permits deliveries to a name with a private address", async () => {
  const harness = createHarness();
  const sent: (readonly string[] | undefined)[] = [];
  harness.name("app", ["172.18.0.3"]);
  const sandbox = await harness.start(["--allow-target", "app"]);
  expect((await harness.run(["endpoints", "add", "http://app:3000/hooks"])).code).toBe(0);
  harness.setFault((request, deliver) => {
    if (!request.url.startsWith("http://app")) return deliver();
    sent.push(request.addresses);
    return Promise.resolve({ ok: true, status: 200, headers: {}, body: "" });
  });
  await sandbox.request({ path: "/v1/orders", headers: { "Idempotency-Key": "key-12345" }, body: ORDER });
  await eventually("the event came", () => expect(sent).toEqual([["172.18.0.3"]]));
});

test.runIf(process.platform === "linux")(
  "the reported owner of a used port is a program, not a thread",
  async () => {
    const service = {
      answer: () => Promise.reject(new Error("unused")),
      refuse: () => ({ status: 400, headers: {}, body: "" }),
    };
    const listening = await REAL.listen(() => service, { port: 0 });
    if (!listening.ok) throw new Error(listening.refusal.message);
    onTestFinished(() => listening.value.close(0));
    expect(REAL.portOwner(listening.value.port)).toBe(`${basename(process.execPath)} (pid ${process.pid})`);
  },
);

test("a proxy that removes the port from Host reaches the payment page and the portal, but not the control API", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([
    "--public-url=https://pay.example:8443",
    "--portal-url=https://portal.example:9443",
  ]);
  const made = await sandbox.request({
    path: "/v1/orders",
    headers: { Host: "pay.example", "Idempotency-Key": "key-12345" },
    body: ORDER,
  });
  const { checkout_url: url } = (JSON.parse(String(made.body)) as { data: { checkout_url: string } }).data;
  const path = url.replace("https://pay.example:8443", "");
  const host = { Host: "Pay.example" };
  const shown = await sandbox.request({ path, headers: host });
  const token = /name="token" value="([^"]+)"/.exec(String(shown.body))?.[1] ?? "";
  const begin = async (origin: string): Promise<number> => {
    const headers = { ...host, Origin: origin, "Content-Type": "application/x-www-form-urlencoded" };
    const body = `token=${encodeURIComponent(token)}`;
    return (await sandbox.request({ path: `${path}/start`, headers, body })).status;
  };
  // Another program's pages may be at the default port of the same host.
  expect(await begin("http://pay.example")).toBe(403);
  expect(await begin("https://pay.example")).toBe(403);
  expect(await begin("https://pay.example:8443")).toBe(303);
  const portal = `${new URL(sandbox.ready.portal_url ?? "").pathname}/sign-in`;
  const rows: readonly (readonly [path: string, headers: Record<string, string>, status: number])[] = [
    [path, { Host: "pay.example:8443" }, 200],
    [path, { Host: "localhost:4242", "X-Forwarded-Host": "pay.example" }, 200],
    [path, { Host: "pay.example:1" }, 403],
    [path, { Host: "portal.example" }, 403],
    [portal, { Host: "portal.example" }, 200],
    [portal, { Host: "portal.example:9443" }, 200],
    [portal, { Host: "localhost:4242", "X-Forwarded-Host": "portal.example" }, 200],
    [portal, { Host: "portal.example:1" }, 403],
    [portal, { Host: "pay.example" }, 403],
    [portal, { Host: "localhost:4242", "X-Forwarded-Host": "pay.example" }, 403],
    ["/__sandbox/stores", { Host: "pay.example" }, 403],
    ["/__sandbox/stores", { Host: "portal.example" }, 403],
  ];
  for (const [place, headers, status] of rows)
    expect([place, headers, (await sandbox.request({ path: place, headers })).status]).toEqual([
      place,
      headers,
      status,
    ]);
});

test("the refusal of a foreign Host does not list the allowed names", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([
    "--allow-host=tunnel-1f3a.example",
    "--allow-control-host=ops.example",
    "--public-url=https://pay.example",
    "--portal-url=https://portal.example",
  ]);
  for (const path of [
    "/v1/orders",
    "/__sandbox/stores",
    "/portal/sign-in",
    "/pay/x",
    "/",
    "/healthz",
    "/nowhere",
  ]) {
    const { status, headers, body } = await sandbox.request({ path, headers: { Host: "shop.example" } });
    const told = JSON.stringify([headers, String(body)]);
    expect([path, status, /tunnel-1f3a|ops\.example|pay\.example|portal\.example/.exec(told)]).toEqual([
      path,
      403,
      null,
    ]);
    expect(told).toMatch(/--(allow-host|allow-control-host|portal-url)/);
  }
});
