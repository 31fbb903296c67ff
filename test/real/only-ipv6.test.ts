import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROGRAM } from "../support/program.ts";
import { projectOf } from "../support/kit-projects.ts";

/** A network of its own whose loopback has only ::1. */
const ONLY_IPV6 = "ip link set lo up && ip addr del 127.0.0.1/8 dev lo";
const HAS_NETWORKS = spawnSync("unshare", ["--net", "sh", "-c", ONLY_IPV6]).status === 0;

/** A merchant's first session. */
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
checkout doctor | tail -n 1
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

test("on a machine whose loopback has only ::1, the sandbox, its commands, a shop and the test kit work", async ({
  annotate,
}) => {
  if (!HAS_NETWORKS) return void (await annotate("not tried: unshare makes no networks here"));
  const cwd = projectOf({ "shop.mjs": SHOP, "kit.mjs": KIT });
  writeFileSync(join(cwd, "script.sh"), SCRIPT);
  const env = { ...process.env, NODE: process.execPath, PROGRAM };
  const ran = spawnSync("unshare", ["--net", "sh", "script.sh"], { cwd, env, encoding: "utf8" });
  expect([ran.stderr, ran.status, ran.stdout]).toEqual([
    "",
    0,
    expect.stringMatching(
      /^http:\/\/\[::1\]:\d+\/v1\n404 201 true 200 200\norder order-1001, .*: succeeded.*\n"base_url":"http:\/\/\[::1\]:\d+\/v1"\n0 problems, 0 warnings, 0 unknown\ntrue \[::1\]\n$/,
    ),
  ]);
});
