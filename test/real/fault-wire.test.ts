import { connect } from "node:net";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import {
  runHere,
  startSandbox,
  startSandboxHere,
  type SandboxHere,
  type SandboxProcess,
} from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** The text received on a connection, and its end: `closed` or an error code. */
type ReceivedBytes = { readonly text: string; readonly end: string };

type ServedSandbox = Pick<SandboxHere, "ready" | "port">;

/** A sandbox, and the command line of its merchant. */
async function open<Sandbox extends SandboxHere | SandboxProcess>(
  start: (options: { readonly cwd: string }) => Promise<Sandbox>,
) {
  const cwd = tempFolder();
  const sandbox = await start({ cwd });
  const type = (line: string) => runHere(line.split(" "), { cwd });
  const add = async (line: string): Promise<void> => {
    const { code, stderr } = await type(`faults add ${line}`);
    expect([line, code, stderr]).toEqual([line, 0, ""]);
  };
  return { sandbox, type, add };
}

/** Sends a create on a new connection, and reads until the connection is closed. */
async function create({ ready, port }: ServedSandbox, orderId: string): Promise<ReceivedBytes> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  let end = "closed";
  socket.setEncoding("utf8").on("data", (part: string) => (text += part));
  socket.on("error", (error: NodeJS.ErrnoException) => (end = error.code ?? error.message));
  const body = JSON.stringify({ order_id: orderId, price_id: "price_coffee" });
  const lines = [
    "POST /v1/orders HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${ready.api_key ?? ""}`,
    "Content-Type: application/json",
    `Idempotency-Key: key-of-${orderId}`,
    "Connection: close",
    `Content-Length: ${body.length}`,
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  await new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  return { text, end };
}

/** The announced and the received number of body bytes. */
function bodyOf(text: string): readonly [announced: number, came: number] {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  return [Number(/content-length: (\d+)/i.exec(head)?.[1]), Buffer.byteLength(body)];
}

test("each fault of a connection or a body has the expected effect on the wire", async () => {
  const { sandbox, add, type } = await open(startSandboxHere);
  const right = await create(sandbox, "right");
  const [length] = bodyOf(right.text);
  expect([right.end, bodyOf(right.text)]).toEqual(["closed", [length, length]]);
  const rows = [
    ["lose_answer", { text: "", end: "closed" }],
    ["lose_request", { text: "", end: "closed" }],
    ["reset", { text: "", end: "ECONNRESET" }],
  ] as const;
  for (const [action, expected] of rows) {
    await add(action);
    expect([action, await create(sandbox, action)]).toEqual([action, expected]);
  }
  await add("empty");
  const empty = await create(sandbox, "empty");
  expect([empty.text.slice(0, 12), bodyOf(empty.text)]).toEqual(["HTTP/1.1 201", [0, 0]]);
  await add("truncate");
  const [announced, came] = bodyOf((await create(sandbox, "truncate")).text);
  expect([came > 0, came < announced, announced > 300]).toEqual([true, true, true]);
  await add("slow_body --latency 160ms");
  const slow = await create(sandbox, "slow");
  const [whole, got] = bodyOf(slow.text);
  expect([slow.text.slice(0, 12), got]).toEqual(["HTTP/1.1 201", whole]);
  const made = JSON.parse((await type("orders list --json")).stdout) as {
    readonly checkouts: readonly { readonly order_id: string }[];
  };
  expect(made.checkouts.map((checkout) => checkout.order_id).toReversed()).toEqual([
    "right",
    "lose_answer",
    "empty",
    "truncate",
    "slow",
  ]);
});

test("an answer that a fault delays does not delay a reset or the stop of the sandbox", async () => {
  const { sandbox, add, type } = await open(startSandbox);
  await add("latency --latency 5m");
  const late = create(sandbox, "late");
  await eventually("the order is made", async () =>
    expect((await type("orders list --json")).stdout).toContain('"late"'),
  );
  expect((await type("sandbox reset --yes")).code).toBe(0);
  expect((await type("orders list --json")).stdout).not.toContain('"late"');
  expect(await sandbox.stop("SIGTERM")).toBe(0);
  expect((await late).text).toMatch(/^HTTP\/1\.1 201 /);
});
