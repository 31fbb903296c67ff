import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseCredentials } from "../../src/core/state-files.ts";
import { expect, onTestFinished, test } from "vitest";
import { part } from "../support/campaign.ts";
import { openControl, type Control } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import {
  begin,
  runHere,
  startSandbox,
  startSandboxHere,
  type Result,
  type Process,
  type SandboxProcess,
} from "../support/program.ts";
import { readBody } from "../support/http-receiver.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { sideBySide } from "../support/side-by-side.ts";

const AMOUNT = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

/** A client that reports each step to the shop, which may hold the answer, and that handles a lost answer correctly. */
const CLIENT = `
  import { fetch } from ${JSON.stringify(join(import.meta.dirname, "../support/light-fetch.cjs"))};
  const { CHECKOUT_BASE_URL: service, CHECKOUT_API_KEY: key, CHECKOUT_ORDER_ID: order, SHOP: shop } = process.env;
  const step = (name) => fetch(shop + "/step/" + name + "?" + process.pid);
  const create = () => fetch(service + "/orders", {
    method: "POST",
    headers: { Authorization: "Bearer " + key, "Content-Type": "application/json", "Idempotency-Key": order + "-key" },
    body: JSON.stringify({ order_id: order, ...${JSON.stringify(AMOUNT)} }),
  });
  await step("begun");
  await create().catch(() => undefined);
  await step("lost");
  await create();
  await step("replayed");
`;

/** The fields of an order's event that the shop reads. */
type EventFields = { readonly type: string; readonly data?: { readonly order_id?: string } };

/** A correct shop that records its requests, and holds the answer that `pauseAt` chooses. */
async function openShop() {
  const asked: string[] = [];
  const pids = new Set<number>();
  const state = { pauseAt: "", open: [] as ServerResponse[] };
  const paid = new Set<string>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    asked.push(path);
    if (path.startsWith("/step/")) pids.add(Number(query));
    const count = asked.filter((one) => one === path).length;
    const body = await readBody(request);
    if (body === undefined) return;
    if (`${path} ${count}` === state.pauseAt) return void state.open.push(response);
    if (path === "/hooks") {
      const { type, data } = JSON.parse(body.toString()) as EventFields;
      if (type.endsWith(".succeeded")) paid.add(data?.order_id ?? "");
    }
    response.end(paid.has(query) ? "paid" : "open");
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  const letGo = (): void => state.open.splice(0).forEach((response) => void response.end("open"));
  onTestFinished(() => {
    letGo();
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    /** The process ids of all clients so far. */
    pids,
    /** Clears the recorded requests, and holds the nth answer to a path from now on. */
    pauseAt: (path: string, nth: number): void => {
      asked.length = 0;
      state.pauseAt = `${path} ${nth}`;
    },
    isPaused: (): boolean => state.open.length > 0,
    letGo,
  };
}

/**
 * A sandbox with an endpoint, in this process or as the real program, and the command lines that drill a shop. After a
 * restart the sandbox is always in this process.
 */
async function openLaboratory<Sandbox extends Pick<SandboxProcess, "ready" | "port">>(
  start: (options: { readonly cwd: string }) => Promise<Sandbox>,
) {
  const [shop, cwd] = [await openShop(), tempFolder()];
  const started = async <One extends Pick<SandboxProcess, "ready" | "port">>(
    begun: (options: { readonly cwd: string }) => Promise<One>,
  ) => {
    const sandbox = await begun({ cwd });
    return { sandbox, control: openControl(sandbox.port, join(cwd, ".checkout")) };
  };
  const current = await started(start);
  await current.control.call("addEndpoint", { body: { url: `${shop.url}/hooks` } });
  const script = join(cwd, "client.mjs");
  writeFileSync(script, CLIENT);
  const client = ["--client-command", `SHOP="${shop.url}" "${process.execPath}" "${script}"`];
  const view = ["--order-view", `${shop.url}/orders?{order_id}`, "--paid-when", "^paid$"];
  const lines = {
    idempotency: ["idempotency", ...client],
    browser_return: ["browser-return", "--return-url", `${shop.url}/thanks`, ...view],
    webhook: ["webhooks"],
    duplicates: ["duplicates", ...view],
  };
  const lineOf = (kind: keyof typeof lines): readonly string[] => [
    "checklist",
    "run",
    ...lines[kind],
    "--json",
  ];
  return {
    shop,
    cwd,
    current,
    restart: async () => void Object.assign(current, await started(startSandboxHere)),
    drill: (kind: keyof typeof lines): Process => begin(lineOf(kind), { cwd }),
    drillHere: (kind: keyof typeof lines): Promise<Result> => runHere(lineOf(kind), { cwd }),
  };
}

/** The steps at which a drill is killed: the nth answer to a path, which the shop holds. */
const STEPS = [
  // The first answer is to the plain purchase, which runs without a lease.
  ["idempotency", "/step/begun", 2],
  ["idempotency", "/step/lost", 2],
  ["idempotency", "/step/replayed", 2],
  ["idempotency", "/step/begun", 3],
  ["idempotency", "/step/begun", 5],
  ["browser_return", "/orders", 1],
  ["browser_return", "/thanks", 1],
  ["browser_return", "/thanks", 3],
  // This answer comes after the plain purchase, which runs without a lease.
  ["browser_return", "/orders", 12],
  ["webhook", "/hooks", 1],
  ["webhook", "/hooks", 5],
  ["duplicates", "/orders", 1],
  ["duplicates", "/hooks", 2],
  ["duplicates", "/hooks", 12],
] as const;

/** Opens laboratories that work side by side, because each mostly waits. */
const openLaboratories = <Laboratory>(count: number, open: () => Promise<Laboratory>) =>
  Promise.all(Array.from({ length: count }, open));

test("a killed drill leaves no fault, pause, lease or partial result behind", async () => {
  const laboratories = await openLaboratories(3, () => openLaboratory(startSandboxHere));
  await sideBySide(
    part(STEPS, 3, 2),
    laboratories,
    async ([kind, path, nth], { shop, cwd, current, drill }) => {
      const label = `${kind} at ${path} ${nth}`;
      shop.pauseAt(path, nth);
      const running = drill(kind);
      await eventually(label, () => expect(shop.isPaused()).toBe(true));
      await running.stop("SIGKILL");
      await expectNothingLeft({ label, ...current, cwd });
      await eventually(`${label}: the client has ended with its drill`, () =>
        expect([...shop.pids].filter(isRunning)).toEqual([]),
      );
      shop.letGo();
    },
  );
  const clients = laboratories.reduce((sum, { shop }) => sum + shop.pids.size, 0);
  expect(clients).toBeGreaterThan(2);
});

test("webhooks held by a drill are delivered after the sandbox was killed and restarted", async () => {
  const kills = [STEPS[0], STEPS[7], STEPS[10], STEPS[13]];
  const laboratories = await openLaboratories(kills.length, () => openLaboratory(startSandbox));
  await sideBySide(kills, laboratories, async ([kind, path, nth], laboratory) => {
    const { shop, cwd, current, drillHere, restart } = laboratory;
    const label = `the sandbox during ${kind}`;
    shop.pauseAt(path, nth);
    const drilled = drillHere(kind);
    await eventually(label, () => expect(shop.isPaused()).toBe(true));
    expect((await current.control.call("checklist", {})).underway).toHaveLength(1);
    await current.sandbox.stop("SIGKILL");
    await restart();
    await expectNothingLeft({ label, ...current, cwd });
    shop.letGo();
    const { code, stdout } = await drilled;
    expect([label, code, stdout]).toEqual([label, 7, ""]);
  });
});

/** Whether a process is running; a killed process stays a zombie until its parent notices. */
function isRunning(pid: number): boolean {
  try {
    const state = execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
    return !state.trim().startsWith("Z");
  } catch {
    return false;
  }
}

let creates = 0;

/** Checks that the next create gets its answer, that every endpoint gets its events, and that no drill was recorded. */
async function expectNothingLeft(site: {
  readonly label: string;
  readonly sandbox: Pick<SandboxProcess, "ready">;
  readonly control: Control;
  readonly cwd: string;
}): Promise<void> {
  const { label, sandbox, control, cwd } = site;
  await eventually(`${label}: no drill runs`, async () =>
    expect((await control.call("checklist", {})).underway).toEqual([]),
  );
  const credentials = parseCredentials(readFileSync(join(cwd, ".checkout/credentials.json"), "utf8"));
  const apiKey = Object.values(credentials?.stores ?? {})[0]?.api_key ?? "";
  const order = `after-kill-${(creates += 1)}`;
  const { status } = await fetch(`${sandbox.ready.base_url}/orders`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": order,
    },
    body: JSON.stringify({ order_id: order, ...AMOUNT }),
  });
  expect([label, status]).toEqual([label, 201]);
  const { endpoints } = await control.call("listEndpoints", {});
  expect([label, endpoints.map(({ state }) => state)]).toEqual([label, ["enabled"]]);
  await eventually(`${label}: every webhook is delivered`, async () => {
    const { deliveries } = await control.call("listDeliveries", { body: { state: "due" } });
    expect(deliveries).toEqual([]);
  });
  expect([label, (await control.call("listDrills", { body: {} })).drills]).toEqual([label, []]);
}
