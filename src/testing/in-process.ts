// Starts the sandbox of the test kit. Types: testing/types.ts; a store: testing/store.ts; restrictions in the user's
// process: `guestWorld` in world/real.ts; requests without a socket: web/fetch.ts.
import type { LoopbackHost } from "../core/loopback.ts";
import { serveSandbox } from "../host/serve.ts";
import { VERSION } from "../version.ts";
import type { GuestWorld, ServerLimits, Service } from "../world.ts";
import type { HostFailure } from "../host/failure.ts";
import { StartError } from "./errors.ts";
import type { ServeOptions } from "../host/options.ts";
import type { ServedSandbox } from "../host/hosting.ts";

export type InProcessSandbox = Readonly<Awaited<ReturnType<typeof startInProcess>>>;

/** The settings of a sandbox, with its state folder, its socket and its seed. */
export type InProcessOptions = ServeOptions & {
  /** The state folder; undefined if the state is in memory. */
  readonly folder: string | undefined;
  /** Whether the sandbox listens on a port; otherwise only this process can reach it. */
  readonly hasSocket: boolean;
  /** Continues with ids from another seed; does nothing for a sandbox without a seed. */
  readonly renewSeed: (position: number) => void;
  readonly waitTimeoutMs: number;
};

/** Maximum number of lines of the failure log. */
const MAX_LINES = 1000;

/** Starts a sandbox with the code of `checkout sandbox start`. Throws a StartError. */
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
    /** The address of v1 for an application. */
    baseUrl: hasSocket ? ready.base_url : `${ready.checkout_origin}/v1`,
    context: outcome.sandbox.context,
    service,
    limits,
    /** The line of the failure log about a request; undefined if the request did not fail. */
    failureOf: log.find,
    isClosed: () => isClosed,
    /** The error for a call after the sandbox was closed, with the reason if the sandbox closed by itself. */
    closedError: (cause?: unknown) =>
      new Error(
        `the sandbox was closed${loss === undefined ? "" : `: ${loss.message}`}`,
        cause === undefined ? {} : { cause },
      ),
    /** Stops the sandbox as a signal stops `checkout sandbox start`; resolves when everything is on disk. */
    close: async () => {
      isClosed = true;
      stop.resolve();
      await endPromise;
    },
    /** Resolves when the sandbox has closed, even by itself; never rejects: `close` rejects with an error of the end. */
    endPromise: endPromise.then(
      () => undefined,
      () => undefined,
    ),
    /** Ends all remaining timers, waits and requests. */
    end: guest.end,
    renewSeed,
    waitTimeoutMs,
  };
}

/** Throws if the sandbox was closed, because its context can no longer be used. */
export function refuseClosed({ isClosed, closedError }: InProcessSandbox): void {
  if (isClosed()) throw closedError();
}

/** Runs work on the context of a sandbox. Throws if the sandbox was closed before or meanwhile. */
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

/** Discards messages: the kit prints nothing, and throws errors instead. */
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

/** Makes the service available in this process and, if the sandbox has a socket, through the socket. */
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
