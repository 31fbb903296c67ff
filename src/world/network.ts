import type { OutboundRequest, OutboundResult, World } from "../world.ts";
import { clearTimeout, clock, setTimeout } from "./clock.ts";

/** Cached, because in the bundle each dynamic import copies the exports of its module. */
let sendModule: Promise<typeof import("../web/send.ts")> | undefined;

export async function send(request: OutboundRequest): Promise<OutboundResult> {
  const { sendHttp, timeoutResult } = await (sendModule ??= import("../web/send.ts"));
  const { timeoutMs, signal } = request;
  // Cleared when the answer arrives; the timer of AbortSignal.timeout would run to its end.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), Math.ceil(timeoutMs)).unref();
  const signals = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  const result = await sendHttp(request, signals, lacksIpv4).finally(() => clearTimeout(timer));
  if (result.ok || result.failure !== "aborted" || signal?.aborted === true) return result;
  return timeoutResult(request, result);
}

function lacksIpv4(): boolean {
  const interfaces = Object.values(process.getBuiltinModule("node:os").networkInterfaces());
  return !interfaces.some((addresses = []) => addresses.some(({ address }) => address.startsWith("127.")));
}

export async function addressesOf(host: string): Promise<readonly string[]> {
  try {
    const records = await process
      .getBuiltinModule("node:dns")
      .promises.lookup(host.replace(/^\[|\]$/g, ""), { all: true });
    return records.map(({ address }) => address);
  } catch {
    return [];
  }
}

export const listen: World["listen"] = async (makeService, options) => {
  const [{ serveHttp }, { notifyWhenQuiet }] = [
    await import("../web/server/serve.ts"),
    await import("../web/quiet.ts"),
  ];
  const after: World["after"] = (milliseconds, run) => void setTimeout(run, milliseconds).unref();
  const watch = { after, monotonic: clock.monotonic, quietMs: QUIET_MS, onQuiet: releaseMemory };
  const makeWatched: typeof makeService = (port, host) => notifyWhenQuiet(makeService(port, host), watch);
  return serveHttp(makeWatched, { ...options, after: clock.after });
};

/** After this time without requests, a server returns unused memory to the system. */
const QUIET_MS = 10_000;

/** Node has V8's `gc` only in contexts that were created with this flag (decision 102). */
function releaseMemory(): void {
  process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
  const collectGarbage = process.getBuiltinModule("node:vm").runInNewContext("gc") as typeof gc;
  collectGarbage?.({ type: "major", execution: "sync", flavor: "last-resort" });
}
