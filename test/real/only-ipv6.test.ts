import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { PROGRAM } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { writeProject } from "../support/kit-projects.ts";

/** The commands that leave only ::1 on the loopback of a new network. */
const ONLY_IPV6 = "ip link set lo up && ip addr del 127.0.0.1/8 dev lo";
const HAS_NETWORKS = spawnSync("unshare", ["--net", "sh", "-c", ONLY_IPV6]).status === 0;

/** A merchant's first session, on a loopback with only ::1. */
const SCRIPT = `
set -e
${ONLY_IPV6}
checkout() { "$NODE" "$PROGRAM" "$@"; }
trap 'checkout sandbox stop > ended.txt 2>&1 || true' EXIT
checkout sandbox start --detach --port 0 --json > ready.json
checkout sandbox wait > wait.txt
eval "$(checkout env)"
echo "$CHECKOUT_BASE_URL"
"$NODE" shop.mjs
checkout orders create --order-id order-1001 --price-id price_coffee --json > order.json
checkout sandbox pay order-1001 --json > paid.json
checkout explain order-1001 | head -n 1
checkout sandbox status --json > status.json
grep -o '"base_url":"[^"]*"' status.json
checkout doctor --json > doctor.json
"$NODE" -p 'JSON.parse(fs.readFileSync("doctor.json")).checks.filter(({ status }) => status !== "ok").length'
checkout sandbox stop > stop.txt
"$NODE" kit.mjs
`;

const SHOP = `
const base = process.env.CHECKOUT_BASE_URL;
const orders = await fetch(base + "/orders/x", { headers: { Authorization: "Bearer " + process.env.CHECKOUT_API_KEY } });
const made = await fetch(base + "/orders", {
  method: "POST",
  headers: {
    Authorization: "Bearer " + process.env.CHECKOUT_API_KEY,
    "Content-Type": "application/json",
    "Idempotency-Key": "key-12345678",
  },
  body: JSON.stringify({ order_id: "order-1000", price_id: "price_coffee" }),
});
const { data } = await made.json();
const page = await fetch(data.checkout_url, { redirect: "manual" });
const health = await fetch(new URL(base).origin + "/healthz");
console.log(orders.status, made.status, new URL(data.checkout_url).origin === new URL(base).origin, page.status, health.status);
`;

const KIT = `
import { startSandbox } from "hosted-checkout/testing";
const sandbox = await startSandbox();
const { store } = sandbox;
const receiver = await store.receiver();
await store.orders.create({ order_id: "order-1001", price_id: "price_coffee" });
await store.pay("order-1001");
const { verified } = await receiver.waitFor("order.succeeded");
console.log(verified, new URL(store.env.CHECKOUT_BASE_URL).hostname);
await sandbox.close();
`;

test("the sandbox, its commands, a shop and the test kit work on a machine whose only loopback address is ::1", async ({
  annotate,
}) => {
  if (!HAS_NETWORKS) return void (await annotate("not tried: unshare makes no networks here"));
  const cwd = writeProject({ "shop.mjs": SHOP, "kit.mjs": KIT });
  writeFileSync(join(cwd, "script.sh"), SCRIPT);
  const env = { ...process.env, NODE: process.execPath, PROGRAM };
  const ran = spawnSync("unshare", ["--net", "sh", "script.sh"], { cwd, env, encoding: "utf8" });
  expect([ran.stderr, ran.status, ran.stdout]).toEqual([
    "",
    0,
    expect.stringMatching(
      /^http:\/\/\[::1\]:\d+\/v1\n404 201 true 200 200\n.*order-1001.*: succeeded.*\n"base_url":"http:\/\/\[::1\]:\d+\/v1"\n0\ntrue \[::1\]\n$/,
    ),
  ]);
});

/** The commands that leave two local ports in a new network, so that two connections to one address use them up. */
const TWO_PORTS = 'ip link set lo up && echo "40000 40001" > /proc/sys/net/ipv4/ip_local_port_range';
const HAS_TWO_PORTS = spawnSync("unshare", ["--net", "sh", "-c", TWO_PORTS]).status === 0;

const USED_UP = `
import { createServer } from "node:http";
import { connect } from "node:net";
const { send } = await import(process.env.NETWORK);
const serve = (host) => new Promise((done) => createServer((_, answer) => answer.end(host)).listen(5000, host, done));
const hold = () => new Promise((done) => connect(5000, "127.0.0.1", done));
await serve("127.0.0.1");
await serve("::1");
await hold();
await hold();
const limits = { method: "POST", headers: {}, timeoutMs: 10000, maxResponseBytes: 100 };
const own = await send({ ...limits, url: "http://127.0.0.1:5000/" });
const pinned = await send({
  ...limits,
  url: "http://localhost:5000/?ip=127.0.0.1",
  addresses: ["127.0.0.1"],
});
for (const { ok, body, facts } of [own, pinned]) console.log(ok, body ?? facts.fault);
process.exit();
`;

test("a request to 127.0.0.1 does not go to ::1 when the local ports are used up", async ({ annotate }) => {
  if (!HAS_TWO_PORTS) return void (await annotate("not tried: unshare makes no networks here"));
  const cwd = tempFolder();
  writeFileSync(join(cwd, "used-up.mjs"), USED_UP);
  const NETWORK = pathToFileURL(join(import.meta.dirname, "../../src/world/network.ts")).href;
  const line = `${TWO_PORTS} && "$NODE" used-up.mjs`;
  const env = { ...process.env, NODE: process.execPath, NETWORK };
  const ran = spawnSync("unshare", ["--net", "sh", "-c", line], { cwd, env, encoding: "utf8" });
  expect([ran.stderr, ran.stdout]).toEqual(["", "false no_route\nfalse no_route\n"]);
});
