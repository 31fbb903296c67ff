import type { LoopbackHost } from "../core/loopback.ts";
import { serveSandbox } from "../host/serve.ts";
import { VERSION } from "../version.ts";
import type { GuestWorld, ServerLimits, Service } from "../world.ts";
import type { HostFailure } from "../host/failure.ts";
import { StartError } from "./errors.ts";
import type { ServeOptions } from "../host/options.ts";
import type { ServedSandbox } from "../host/hosting.ts";

export type InProcessSandbox = Readonly<Awaited<ReturnType<typeof startInProcess>>>;

export type InProcessOptions = ServeOptions & {
  readonly folder: string | undefined;
  /** If false, only this process can reach the sandbox. */
  readonly hasSocket: boolean;
  /** Makes later ids differ from earlier ones, by adding this position to the seed. Does nothing without a seed. */
  readonly renewSeed: (position: number) => void;
  readonly waitTimeoutMs: number;
};

const MAX_LINES = 1000;

/** Rejects with a StartError if the sandbox ends before it is ready. */
export async function startInProcess(
  guest: { readonly world: GuestWorld; readonly end: () => void },
  { folder, hasSocket, renewSeed, waitTimeoutMs, ...options }: InProcessOptions,
) {
  const log = createMemoryLog();
  const access = createAccess(guest.world, hasSocket);
  const readySandbox = Promise.withResolvers<ServedSandbox>();
  const stop = Promise.withResolvers<void>();
  const host = {
    world: { ...guest.world, listen: access.listen },
    printer: SILENT_OUTPUT,
    version: VERSION,
    isGuest: true,
  };
  let isClosed = false;
  let loss: HostFailure | undefined;
  const endPromise = serveSandbox(host, options, {
    location: { folder, log },
    use: async (sandbox) => {
      readySandbox.resolve(sandbox);
      loss = (await Promise.race([stop.promise, sandbox.stopRequest, sandbox.stateLoss])) ?? undefined;
      isClosed = true;
    },
  });
  const outcome = await Promise.race([readySandbox.promise, endPromise]);
  if (!("ready" in outcome)) throw new StartError(outcome.ok ? START_FAILURE : outcome.refusal);
  const { ready } = outcome;
  const { service, limits } = access.openSandbox();
  return {
    world: guest.world,
    ready,
    baseUrl: hasSocket ? ready.base_url : `${ready.checkout_origin}/v1`,
    context: outcome.sandbox.context,
    service,
    limits,
    failureOf: log.find,
    isClosed: () => isClosed,
    closedError: (cause?: unknown) =>
      new Error(
        `the sandbox was closed${loss === undefined ? "" : `: ${loss.message}`}`,
        cause === undefined ? {} : { cause },
      ),
    close: async () => {
      isClosed = true;
      stop.resolve();
      await endPromise;
    },
    /** Resolves when the sandbox has closed for any reason. Never rejects; `close` reports errors. */
    endPromise: endPromise.then(
      () => undefined,
      () => undefined,
    ),
    end: guest.end,
    renewSeed,
    waitTimeoutMs,
  };
}

export function refuseClosed({ isClosed, closedError }: InProcessSandbox): void {
  if (isClosed()) throw closedError();
}

/** Throws `closedError` if the sandbox is already closed, or if the work fails because it was closed meanwhile. */
export async function runWhileOpen<Value>(
  sandbox: InProcessSandbox,
  work: () => Promise<Value>,
): Promise<Value> {
  refuseClosed(sandbox);
  try {
    return await work();
  } catch (error) {
    throw sandbox.isClosed() ? sandbox.closedError(error) : error;
  }
}

const START_FAILURE = {
  code: "internal_error",
  message: "it ended before it was ready",
  next: "report this bug",
};

/** The kit throws errors instead of printing them. */
export const SILENT_OUTPUT = { info: () => undefined, trace: () => undefined };

function createMemoryLog() {
  const lines: string[] = [];
  return {
    writableNeedDrain: false,
    write: (text: string) => {
      lines.push(text);
      if (lines.length > MAX_LINES) lines.shift();
    },
    find: (requestId: string) => lines.find((line) => requestId !== "" && line.includes(requestId)),
  };
}

function createAccess(world: GuestWorld, hasSocket: boolean) {
  let openSandbox: { readonly service: Service; readonly limits: Partial<ServerLimits> } | undefined;
  const listen: GuestWorld["listen"] = (makeService, options) => {
    const make = (port: number, host: LoopbackHost): Service => {
      const service = makeService(port, host);
      openSandbox = { service, limits: options.limits ?? {} };
      return service;
    };
    if (hasSocket) return world.listen(make, options);
    make(0, "127.0.0.1");
    return Promise.resolve({ ok: true, value: { port: 0, close: () => Promise.resolve() } });
  };
  return {
    listen,
    openSandbox: () => {
      if (openSandbox === undefined) throw new Error("a ready sandbox has its service");
      return openSandbox;
    },
  };
}
