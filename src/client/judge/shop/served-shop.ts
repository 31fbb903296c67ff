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
  readonly kills?: readonly ScheduledFault[];
  readonly port?: number | undefined;
};

export type ServedShop = Awaited<ReturnType<typeof startShop>>;

export class ShopFailure extends Error {
  override readonly name = "ShopFailure";
  readonly next: string;

  constructor(message: string, next = "the command must listen on the port in PORT") {
    super(message);
    this.next = next;
  }
}

export type ShopWorld = {
  readonly world: Pick<World, "run" | "sleep" | "monotonic" | "send" | "listen">;
  readonly signal: AbortSignal;
};

const START_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 20;
const CHECK_TIMEOUT_MS = 5000;
const RUN_TIMEOUT_MS = 24 * 3_600_000;
const MAX_KILL_DELAY_MS = 50;
const DELIVERY_TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024;

export async function startShop(
  shopWorld: ShopWorld,
  { commandLine, receiverPath, env, kills = [], port: requestedPort }: ShopCommand,
) {
  const { world } = shopWorld;
  const endings: StepValue[] = [];
  const start = (port: number): Promise<RunningShop> =>
    serveShop(shopWorld, { commandLine, env, port, endings });
  if (requestedPort !== undefined && (await isReachable(world, requestedPort)))
    throw new ShopFailure(
      `port ${requestedPort} of your enabled endpoint is in use by a running program`,
      "stop that program; or omit serve, to test the shop that is running",
    );
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
  const restart = (mode?: "stop"): Promise<void> => runInTurn(() => startAgain(mode));
  const url = `http://127.0.0.1:${port}${receiverPath}`;
  const killProxy = kills.length === 0 ? undefined : await openKillProxy(world, { url, kills, restart });
  return {
    port,
    receiverUrl: killProxy === undefined ? url : `http://127.0.0.1:${killProxy.port}${receiverPath}`,
    restart,
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
