import { PassThrough } from "node:stream";
import { toolNames, type ToolName } from "../../../src/core/mcp/tools.ts";
import { eventually } from "../eventually.ts";
import { agree } from "./agree.ts";
import type { Site } from "./site.ts";

/** The arguments of each tool, in the order of the calls; `EVENT` stands for an event_id. */
const ARGUMENTS: Readonly<Record<ToolName, object>> = {
  status: {},
  create: { object: "order", order_id: "by-an-agent", price_id: "price_coffee" },
  explain: { id: "by-an-agent" },
  list: { what: "events", order_id: "by-an-agent" },
  wait_for: { type: "order.created", order_id: "by-an-agent", timeout_s: 1 },
  checklist: {},
  assumptions: { used: true },
  diagnose_webhook: { event_id: "EVENT" },
  pay: { id: "by-an-agent", advance: "1s" },
  fault: { action: "drop", event: "order.expired" },
  retry: { order_id: "by-an-agent" },
  replay_or_restore: { event_id: "EVENT" },
};

type Reply = {
  readonly id: number;
  readonly result: {
    readonly tools?: readonly { readonly name: string }[];
    readonly isError?: boolean;
    readonly content?: readonly { readonly text: string }[];
  };
};

/** Calls every tool of `checkout mcp`, as an agent does over standard input. */
export async function walkMcp(site: Site): Promise<void> {
  const stdin = new PassThrough();
  const server = site.form.begin(["mcp", "--allow-write"], { cwd: site.cwd, stdin });
  const say = (message: object): void =>
    void stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let asked = 0;
  const ask = async (method: string, params: object): Promise<Reply["result"]> => {
    const id = (asked += 1);
    say({ id, method, params });
    return eventually(`${method} is answered`, () => {
      const lines = server.output.stdout.split("\n").slice(0, -1);
      const reply = lines.map((line) => JSON.parse(line) as Reply).find((one) => one.id === id);
      if (reply === undefined) throw new Error(server.output.stderr);
      return reply.result;
    });
  };
  const clientInfo = { name: "journey", version: "1" };
  await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  say({ method: "notifications/initialized" });
  const { tools = [] } = await ask("tools/list", {});
  agree("the tools", tools.map(({ name }) => name).toSorted(), toolNames().toSorted());
  let event = "";
  for (const [name, given] of Object.entries(ARGUMENTS)) {
    const filled = JSON.parse(JSON.stringify(given).replace("EVENT", event)) as object;
    const { isError, content = [] } = await ask("tools/call", { name, arguments: filled });
    const text = content.map((part) => part.text).join("");
    agree(`the tool ${name}: ${text}`, isError, false);
    if (name === "list") [, event = ""] = /"event_id":"([^"]+)"/.exec(text) ?? [];
  }
  stdin.end();
  agree("the end of mcp", await server.ended, 0);
}
