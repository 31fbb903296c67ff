import type { OutboundRequest, OutboundResult } from "../../src/world.ts";
import { createHarness, type RunningSandbox } from "./harness.ts";

const ALLOWED = ["--allow-host", "box.example", "--allow-control-host", "box.example"];

/**
 * A sandbox on another machine, which a colleague reaches as box.example, with the token of one of its two stores. The
 * sandbox immediately answers requests that would wait for deliveries, because a wait would advance its time.
 */
export async function openTeam(role: string) {
  const owner = createHarness();
  const site: { sandbox: RunningSandbox } = {
    sandbox: await owner.start(ALLOWED),
  };
  const run = async (line: string): Promise<string> => (await owner.run(line.split(" "))).stdout;
  const json = async (line: string) => JSON.parse(await run(`${line} --json`)) as { [key: string]: string };
  const bob = await json("stores create --name Bob");
  const store = bob["store_id"] ?? "";
  const made = await json(`tokens create --store ${store} --role ${role} --valid 1h`);
  const colleague = createHarness();
  const sent: string[] = [];
  const network = { isDown: false, lost: (_path: string): "request" | "answer" | undefined => undefined };
  const deliver = async (request: OutboundRequest): Promise<OutboundResult> => {
    const { pathname, search, host } = new URL(request.url);
    const unreachable = { ok: false, failure: "unreachable", message: "it is down" } as const;
    sent.push(request.headers["Authorization"] ?? "");
    const loses = network.isDown ? "request" : network.lost(`${request.method} ${pathname}`);
    if (loses === "request") return unreachable;
    const isFetch = pathname.endsWith("/listener/requests");
    const answer = await site.sandbox.request({
      method: request.method,
      path: pathname + (isFetch ? search.replace(/wait_ms=\d+/, "wait_ms=0") : search),
      headers: { ...request.headers, Host: host },
      body: request.body ?? "",
      fromOutside: true,
    });
    if (isFetch) await new Promise((resolve) => setTimeout(resolve, 1));
    if (loses === "answer") return unreachable;
    const lower = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]);
    return { ok: true, status: answer.status, headers: Object.fromEntries(lower), body: String(answer.body) };
  };
  colleague.setFault((request, pass) =>
    new URL(request.url).hostname === "box.example" ? deliver(request) : pass(),
  );
  const env = { CHECKOUT_BASE_URL: "https://box.example/v1", CHECKOUT_CONTROL_TOKEN: made["token"] ?? "" };
  return {
    owner,
    colleague,
    site,
    bob,
    store,
    made,
    env,
    sent,
    network,
    run,
    /** Runs a command line on the colleague's machine. */
    type: (line: string, more = {}) => colleague.run(line.split(" "), { env: { ...env, ...more } }),
    revoke: () => run(`tokens revoke ${made["token_id"] ?? ""} --store ${store}`),
    /** Starts the sandbox again at the same address. */
    restart: async () => {
      const { port } = new URL(site.sandbox.ready.base_url);
      network.isDown = true;
      await site.sandbox.stop();
      site.sandbox = await owner.start([...ALLOWED, "--port", port]);
      network.isDown = false;
    },
  };
}
