import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { unpackNode } from "../node-package.ts";
import { PLATFORMS } from "../platforms.ts";
import { makeBundle } from "./bundle.ts";
import { run } from "./run.ts";

const COMPOSE_FILE = "fixtures/ci/compose.yaml";
/** The names are the services of the Compose file. */
const ADDRESSES = { checkout: "172.30.0.2", shop: "172.30.0.3" } as const;
/** The webhook of a paid order usually arrives immediately; a loaded machine may need longer. */
const [MAX_ATTEMPTS, PAUSE_MS] = [50, 200];

type Service = {
  readonly environment: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
};
type Compose = { readonly services: Readonly<Record<keyof typeof ADDRESSES, Service>> };

/**
 * Runs both services of the Compose file in containers connected by a virtual cable. The shop reaches the sandbox by
 * name, creates an order, and learns from a webhook that the order is paid.
 */
export async function tryCompose(folder: string, executable: string): Promise<string> {
  const text = readFileSync(COMPOSE_FILE, "utf8");
  const { services } = parse(text) as Compose;
  const keys = run(executable, ["keys", "generate"]).split("\n");
  const container = (name: keyof typeof ADDRESSES): Container =>
    makeContainer(join(folder, name), { ...services[name], address: ADDRESSES[name], keys });
  const [sandbox, shop] = [container("checkout"), container("shop")];
  try {
    addShop(shop);
    for (const { bundle, name } of [sandbox, shop]) create(bundle, name);
    connect(sandbox, shop);
    run("runc", ["start", sandbox.name]);
    const checkout = (...words: readonly string[]) => run("runc", ["exec", sandbox.name, ...words]);
    checkout("/usr/bin/checkout", "sandbox", "wait", "--timeout", "20s");
    // The command that the head of the Compose file tells users to type.
    const [, register = ""] = /exec checkout (checkout endpoints add \S+)/.exec(text) ?? [];
    checkout(...register.split(" "));
    run("runc", ["start", shop.name]);
    const ask = (path: string, order?: object) => askShop(shop, path, order);
    const createdOrder = await eventually("the shop has created an order", () =>
      ask("/orders", { order_id: "compose-1", price_id: "price_coffee" }),
    );
    const publicUrl = services.checkout.environment["CHECKOUT_SANDBOX_PUBLIC_URL"] ?? "";
    if (!String(createdOrder["checkout_url"]).startsWith(`${publicUrl}/pay/`))
      throw new Error(`the payment page is not at ${publicUrl}: ${JSON.stringify(createdOrder)}`);
    checkout("checkout", "sandbox", "pay", "compose-1", "--outcome", "succeeded");
    await eventually("the shop has the webhook", () => {
      const { status } = ask("/orders/compose-1");
      if (status !== "succeeded") throw new Error(`the order is ${String(status)}`);
    });
    return `${ADDRESSES.shop} created an order at http://checkout:4242, and has the webhook of its payment`;
  } finally {
    for (const { name } of [sandbox, shop]) run("runc", ["delete", "--force", name]);
  }
}

type Container = { readonly name: string; readonly bundle: string; readonly address: string };

/** Replaces `${NAME:?…}` in the service's variables by the generated keys. */
function makeContainer(
  bundle: string,
  {
    environment,
    command,
    address,
    keys,
  }: Service & { readonly address: string; readonly keys: readonly string[] },
): Container {
  const keyValues = new Map(keys.map((line) => line.split("=") as [string, string]));
  const env = Object.entries(environment).map(([name, value]) => {
    const text = value.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, key: string) => keyValues.get(key) ?? "");
    return `${name}=${text}`;
  });
  makeBundle(bundle, {
    env,
    ...(command === undefined ? {} : { args: ["/usr/bin/tini", "--", ...command] }),
  });
  const hosts = Object.entries(ADDRESSES).map(([name, hostAddress]) => `${hostAddress} ${name}\n`);
  writeFileSync(join(bundle, "rootfs/etc/hosts"), `127.0.0.1 localhost\n${hosts.join("")}`);
  return { name: `checkout-release-${process.pid}-${address}`, bundle, address };
}

function addShop({ bundle }: Container): void {
  const platform = PLATFORMS.find(({ name }) => name === "linux-x64");
  if (platform === undefined) throw new Error("there is no Node for linux-x64");
  const node = join(bundle, "rootfs/usr/bin/node");
  copyFileSync(join(unpackNode(platform), "bin/node"), node);
  chmodSync(node, 0o755);
  cpSync("fixtures/ci/shop", join(bundle, "rootfs/shop"), { recursive: true });
}

/** No pipes: the container would keep them open, and this process would wait for them. */
function create(bundle: string, name: string): void {
  execFileSync("runc", ["create", "--bundle", bundle, name], { stdio: "ignore" });
}

/** Connects the network namespaces of two containers, which otherwise have only loopback. */
function connect(one: Container, other: Container): void {
  const pids = [one, other].map(({ name }) => {
    const { pid } = JSON.parse(run("runc", ["state", name])) as { readonly pid: number };
    return String(pid);
  });
  const [first = "", second = ""] = pids;
  const [end, peer] = [
    ["eth0", "netns", first],
    ["eth0", "netns", second],
  ];
  run("ip", ["link", "add", ...end, "type", "veth", "peer", "name", ...peer]);
  for (const [index, { address }] of [one, other].entries()) {
    const namespaceOptions = ["--target", pids[index] ?? "", "--net", "ip"];
    run("nsenter", [...namespaceOptions, "address", "add", `${address}/24`, "dev", "eth0"]);
    run("nsenter", [...namespaceOptions, "link", "set", "eth0", "up"]);
  }
}

/** Sends a request from inside the shop's container. Throws if the answer is not a success. */
function askShop({ name }: Container, path: string, order?: object): Readonly<Record<string, unknown>> {
  const options = order === undefined ? {} : { method: "POST", body: JSON.stringify(order) };
  const script = `const answer = await fetch("http://shop:3000${path}", ${JSON.stringify(options)});
    console.log(await answer.text()); process.exitCode = answer.ok ? 0 : 1;`;
  const words = ["exec", name, "/usr/bin/node", "--input-type=module", "--eval", script];
  return JSON.parse(run("runc", words)) as Readonly<Record<string, unknown>>;
}

async function eventually<Value>(goal: string, work: () => Value): Promise<Value> {
  let lastError: unknown;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    try {
      return work();
    } catch (error) {
      lastError = error;
      await sleep(PAUSE_MS);
    }
  }
  throw new Error(`not in time: ${goal}: ${String(lastError)}`, { cause: lastError });
}
