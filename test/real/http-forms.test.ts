import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { startSandboxHere, type SandboxHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const JSON_TYPE = "application/json";

/** Sends a request unchanged, and reads the answer until the connection ends. */
async function send({ port }: SandboxHere, lines: readonly string[], body = ""): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
  socket.write(
    [...lines, "Connection: close", `Content-Length: ${Buffer.byteLength(body)}`, "", body].join("\r\n"),
  );
  await once(socket, "close");
  return answer;
}

test("HEAD is answered with the status and headers of GET, and no body", async () => {
  const sandbox = await startSandboxHere({ cwd: tempFolder() });
  const { origin } = new URL(sandbox.ready.base_url);
  const auth = { Authorization: `Bearer ${sandbox.ready.api_key ?? ""}` };
  const create = { order_id: "order-1", amount_minor: 1, currency: "EUR", payment_method: "alipay_plus" };
  const made = await fetch(`${origin}/v1/orders`, {
    method: "POST",
    headers: { ...auth, "Content-Type": JSON_TYPE, "Idempotency-Key": "the-first-key" },
    body: JSON.stringify(create),
  });
  expect(made.headers.get("content-type")).toBe(JSON_TYPE);
  const { data } = (await made.json()) as { readonly data: { readonly id: string } };
  const control = { Authorization: `Bearer ${sandbox.ready.control_token}` };
  const rows: readonly (readonly [path: string, headers: Record<string, string>, status: number])[] = [
    ["/healthz", {}, 200],
    ["/", {}, 200],
    [`/pay/${data.id}`, {}, 200],
    [`/v1/checkout-sessions/${data.id}`, auth, 200],
    [`/v1/checkout-sessions/${data.id}`, {}, 401],
    ["/__sandbox/stores", control, 200],
    ["/__sandbox/openapi.json", control, 200],
  ];
  for (const [path, headers, status] of rows) {
    const [got, head] = await Promise.all(
      ["GET", "HEAD"].map((method) => fetch(`${origin}${path}`, { method, headers })),
    );
    expect([path, got?.status, head?.status]).toEqual([path, status, status]);
    expect([path, await head?.text()]).toEqual([path, ""]);
    for (const name of ["content-type", "content-length", "www-authenticate"])
      expect([path, name, head?.headers.get(name)]).toEqual([path, name, got?.headers.get(name)]);
    expect(got?.headers.get("www-authenticate")).toBe(status === 401 ? "Bearer" : null);
    if (!["/", `/pay/${data.id}`].includes(path)) expect(got?.headers.get("content-type")).toBe(JSON_TYPE);
  }
});

test("an absolute request target is checked by its own host, whatever the Host header says, and is refused if it has a user name", async () => {
  const sandbox = await startSandboxHere({ cwd: tempFolder() });
  const { host } = new URL(sandbox.ready.base_url);
  const auth = `Authorization: Bearer ${sandbox.ready.api_key ?? ""}`;
  const head = (target: string, named: string): string[] => [
    `POST ${target} HTTP/1.1`,
    `Host: ${named}`,
    auth,
  ];
  const typed = [`Content-Type: ${JSON_TYPE}`];
  const body = JSON.stringify({
    order_id: "order-1",
    amount_minor: 1,
    currency: "EUR",
    payment_method: "alipay_plus",
  });
  const create = (target: string, named: string, key: string): Promise<string> =>
    send(sandbox, [...head(target, named), ...typed, `Idempotency-Key: ${key}`], body);
  expect(await create(`http://${host}/v1/orders`, host, "the-first-key")).toMatch(/^HTTP\/1.1 201 /);
  expect(await create(`HTTP://${host}/v1/orders`, "shop.example", "the-first-key")).toMatch(
    /^HTTP\/1.1 201 /,
  );
  expect(await create("http://shop.example/v1/orders", host, "the-first-key")).toMatch(/^HTTP\/1.1 403 /);
  // A user name and a password before the host are refused, and are not repeated in the answer.
  for (const path of ["/v1/orders", "/pay/x", "/portal", "/__sandbox/clock", "/"]) {
    for (const lines of [
      [`GET http://me:hunter2@shop.example${path} HTTP/1.1`, `Host: ${host}`],
      [`GET http://me:hunter2@${host}${path} HTTP/1.1`, `Host: ${host}`],
      [`GET ${path} HTTP/1.1`, `Host: me:hunter2@${host}`],
    ]) {
      const answer = await send(sandbox, lines);
      expect([lines, /^HTTP\/1.1 40[03] /.test(answer), answer.includes("hunter2")]).toEqual([
        lines,
        true,
        false,
      ]);
    }
  }
  expect(await send(sandbox, [`GET http://${host}?a HTTP/1.1`, `Host: ${host}`])).toMatch(/^HTTP\/1.1 200 /);
  expect(await send(sandbox, [`GET http://${host}/healthz HTTP/1.1`, `Host: ${host}`])).toContain(
    '{"ok":true}',
  );
});
