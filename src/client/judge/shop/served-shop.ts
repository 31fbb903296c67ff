import { headerPairs } from "../../../core/network/headers.ts";
import { type ScheduledFault } from "../../../core/judge/schedule.ts";
import { isRecord, parseJson } from "../../../core/json.ts";
import type { HttpRequest, HttpResponse, Listener, ShellEnd, ShellResult, World } from "../../../world.ts";
import type { EnvironmentVariables } from "./view.ts";
import type { StepValue } from "../../../core/readiness/drill-shapes.ts";
import { englishOf } from "../../../core/readiness/drills/said.ts";
import { commandResult, runMerchantCommand } from "../../merchant-command.ts";
import { createQueue } from "../../../core/mutex.ts";
import { poll } from "../../poll.ts";

/** How a shop is started. The shop gets its port in the variable `PORT`, and webhooks at `receiverPath`. */
type ShopCommand = {
  readonly commandLine: string;
  readonly receiverPath: string;
  readonly env: EnvironmentVariables;
  /** The kills of the shop at deliveries. Default: none. */
  readonly kills?: readonly ScheduledFault[];
  /** Default: a free port. */
  readonly port?: number | undefined;
};

export type ServedShop = Awaited<ReturnType<typeof startShop>>;

/** Thrown if a shop does not start to listen; the message has the reason. */
export class ShopFailure extends Error {
  override readonly name = "ShopFailure";
}

export type ShopWorld = {
  readonly world: Pick<World, "run" | "sleep" | "monotonic" | "send" | "listen">;
  readonly signal: AbortSignal;
};

/** Time within which a shop must listen on its port, in milliseconds. */
const START_TIMEOUT_MS = 30_000;
/** Pause between two checks whether the shop is listening, in milliseconds. */
const POLL_INTERVAL_MS = 20;
/** Timeout of a check whether the shop is listening, in milliseconds. */
const CHECK_TIMEOUT_MS = 5000;
const RUN_TIMEOUT_MS = 24 * 3_600_000;
/** Maximum time from a delivery to the kill, in milliseconds; the shop is killed earlier if it answers earlier. */
const MAX_KILL_DELAY_MS = 50;
const DELIVERY_TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024;

/** Starts the shop. Throws a ShopFailure if the shop does not start to listen. */
export async function startShop(
  shopWorld: ShopWorld,
  { commandLine, receiverPath, env, kills = [], port: requestedPort }: ShopCommand,
) {
  const { world } = shopWorld;
  /** The unexpected ends of the shop. */
  const endings: StepValue[] = [];
  const start = (port: number): Promise<RunningShop> =>
    serveShop(shopWorld, { commandLine, env, port, endings });
  let port = requestedPort ?? (await freePort(world));
  let isDown = false;
  let shop = await start(port).catch(async (error: unknown) => {
    if (requestedPort !== undefined) throw error;
    // Another program may have taken the port meanwhile.
    port = await freePort(world);
    return start(port);
  });
  let isStopped = false;
  // Two kills at the same time would start the shop twice on one port.
  const runInTurn = createQueue();
  const startAgain = async (mode?: "stop"): Promise<void> => {
    if (isStopped) return;
    await shop.stop(mode);
    try {
      shop = await start(port);
    } catch (error) {
      if (!(error instanceof ShopFailure)) throw error;
      isDown = true;
    }
  };
  /** Kills all processes of the shop, or asks them to stop, and starts the shop again. */
  const restart = (mode?: "stop"): Promise<void> => runInTurn(() => startAgain(mode));
  const url = `http://127.0.0.1:${port}${receiverPath}`;
  const killProxy = kills.length === 0 ? undefined : await openKillProxy(world, { url, kills, restart });
  return {
    port,
    /** The address for webhooks: the shop's own or, if a delivery is to kill the shop, the address of a proxy. */
    receiverUrl: killProxy === undefined ? url : `http://127.0.0.1:${killProxy.port}${receiverPath}`,
    restart,
    /** Whether a restart of the shop has failed. */
    isDown: () => isDown,
    endings,
    restartIfEnded: () => runInTurn(async () => (shop.hasEnded() ? startAgain() : undefined)),
    stop: async (): Promise<void> => {
      isStopped = true;
      await killProxy?.close(0);
      await runInTurn(() => shop.stop());
    },
  };
}

async function freePort(world: Pick<World, "listen">): Promise<number> {
  const listenResult = await world.listen(() => EMPTY_SERVICE, { port: 0 });
  if (!listenResult.ok)
    throw new ShopFailure(`no port is free for the shop: ${listenResult.refusal.message}`);
  await listenResult.value.close(0);
  return listenResult.value.port;
}

const UNAVAILABLE_ANSWER: HttpResponse = { status: 503, headers: {}, body: "" };
const EMPTY_SERVICE = { answer: () => Promise.resolve(UNAVAILABLE_ANSWER), refuse: () => UNAVAILABLE_ANSWER };

type RunningShop = { readonly stop: (mode?: "stop") => Promise<void>; readonly hasEnded: () => boolean };

/** Runs the command of a shop until `stop` is called, and notes an unexpected end; returns when the shop is listening. */
async function serveShop(
  { world, signal }: ShopWorld,
  {
    commandLine,
    env,
    port,
    endings,
  }: Pick<ShopCommand, "commandLine" | "env"> & { readonly port: number; readonly endings: StepValue[] },
): Promise<RunningShop> {
  const killController = new AbortController();
  let shopResult: ShellResult | undefined;
  let hasListened = false;
  const shopCommand = runMerchantCommand(world, {
    commandLine,
    env: { ...env, PORT: String(port) },
    timeoutMs: RUN_TIMEOUT_MS,
    maxOutputBytes: MAX_BYTES,
    signal: AbortSignal.any([signal, killController.signal]),
  }).then((result) => {
    shopResult = result;
    if (hasListened && !killController.signal.aborted && !signal.aborted) endings.push(commandResult(result));
  });
  const stop = async (mode?: "stop"): Promise<void> => {
    killController.abort(mode === undefined ? undefined : ("terminate" satisfies ShellEnd));
    await shopCommand;
  };
  const isListening = await poll(world, () => isReachable(world, port), {
    isEnough: (isUp) => isUp || shopResult !== undefined || signal.aborted,
    waitMs: START_TIMEOUT_MS,
    firstPauseMs: POLL_INTERVAL_MS,
    signal,
  });
  if (isListening && shopResult === undefined) {
    hasListened = true;
    return { stop, hasEnded: () => shopResult !== undefined };
  }
  const reason =
    shopResult === undefined
      ? `it does not listen on port ${port}, which is in PORT`
      : englishOf(commandResult(shopResult));
  await stop();
  throw new ShopFailure(`the shop did not start: ${reason}`);
}

async function isReachable({ send }: Pick<World, "send">, port: number): Promise<boolean> {
  const answer = await send({
    method: "GET",
    url: `http://127.0.0.1:${port}/`,
    headers: {},
    timeoutMs: CHECK_TIMEOUT_MS,
    maxResponseBytes: MAX_BYTES,
    oversize: "cut",
    addresses: ["127.0.0.1"],
  });
  return answer.ok || answer.failure !== "unreachable";
}

/** Forwards deliveries to the shop, and kills the shop at each delivery that a scheduled kill matches. */
async function openKillProxy(
  world: Pick<World, "listen" | "send" | "sleep">,
  {
    url,
    kills,
    restart,
  }: Required<Pick<ShopCommand, "kills">> & { readonly url: string; readonly restart: () => Promise<void> },
): Promise<Listener> {
  const countByType = new Map<string, number>();
  const findKill = (body: Uint8Array): ScheduledFault | undefined => {
    const type = typeOf(body);
    const ordinal = (countByType.get(type) ?? 0) + 1;
    countByType.set(type, ordinal);
    return kills.find(({ match = {} }) => match.eventType === type && (match.nth ?? 1) === ordinal);
  };
  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    const kill = findKill(request.body);
    const shopResponse = forward(world, url, request);
    if (kill === undefined) return shopResponse;
    if (kill.action === "kill") {
      await Promise.race([shopResponse, world.sleep(MAX_KILL_DELAY_MS)]);
      await restart();
      return { ...UNAVAILABLE_ANSWER, isDropped: true };
    }
    const response = await shopResponse;
    await restart();
    return response;
  };
  const listenResult = await world.listen(() => ({ answer, refuse: () => UNAVAILABLE_ANSWER }), { port: 0 });
  if (!listenResult.ok) throw new ShopFailure(`no port is free: ${listenResult.refusal.message}`);
  return listenResult.value;
}

function typeOf(body: Uint8Array): string {
  const event = parseJson(Buffer.from(body).toString("utf8"));
  return isRecord(event) ? String(event["type"]) : "";
}

async function forward(
  { send }: Pick<World, "send">,
  url: string,
  { rawHeaders, body }: HttpRequest,
): Promise<HttpResponse> {
  const forwardedHeaders = headerPairs(rawHeaders).filter(
    ([name]) => !CONNECTION_HEADERS.has(name.toLowerCase()),
  );
  const reply = await send({
    method: "POST",
    url,
    headers: Object.fromEntries(forwardedHeaders),
    body,
    timeoutMs: DELIVERY_TIMEOUT_MS,
    maxResponseBytes: MAX_BYTES,
    oversize: "cut",
    addresses: ["127.0.0.1"],
  });
  return reply.ok
    ? { status: reply.status, headers: {}, body: reply.body }
    : { ...UNAVAILABLE_ANSWER, isDropped: true };
}

const CONNECTION_HEADERS = new Set(["host", "connection", "content-length", "transfer-encoding"]);
