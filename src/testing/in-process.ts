// Starts the sandbox of the test kit. Types: testing/types.ts; a store: testing/store.ts; restrictions in the user's
// process: `guestWorld` in world/real.ts; requests without a socket: web/fetch.ts.
import type { LoopbackHost } from "../core/loopback.ts";
import type { LogStream } from "../sandbox/runtime/access-log.ts";
import type { ReadyMessage } from "../host/ready.ts";
import { serveSandbox } from "../host/serve.ts";
import type { SandboxContext } from "../sandbox/sandbox.ts";
import { VERSION } from "../version.ts";
import type { GuestWorld, HttpRequest, HttpResponse, ServerLimits, Service } from "../world.ts";
import type { HostFailure } from "../host/failure.ts";
import { StartError } from "./errors.ts";
import type { ServeOptions } from "../host/options.ts";
import type { ServedSandbox } from "../host/hosting.ts";

/** A sandbox that runs in this process. */
export type InProcessSandbox = {
  readonly world: GuestWorld;
  readonly ready: ReadyMessage;
  /** The address of v1 for an application. */
  readonly baseUrl: string;
  readonly context: SandboxContext;
  readonly answer: (request: HttpRequest) => Promise<HttpResponse>;
  readonly service: Service;
  readonly limits: Partial<ServerLimits>;
  /** The line of the failure log about a request; undefined if the request did not fail. */
  readonly failureOf: (requestId: string) => string | undefined;
  readonly isClosed: () => boolean;
  /** The error for a call after the sandbox was closed, with the reason if the sandbox closed by itself. */
  readonly closedError: (cause?: unknown) => Error;
  /** Stops the sandbox as a signal stops `checkout sandbox start`; resolves when everything is on disk. */
  readonly close: () => Promise<void>;
  /** Resolves when the sandbox has closed, even by itself; never rejects. */
  readonly endPromise: Promise<void>;
  /** Ends all remaining timers, waits and requests. */
  readonly end: () => void;
  readonly renewSeed: (position: number) => void;
  readonly waitTimeoutMs: number;
};

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
): Promise<InProcessSandbox> {
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
    answer: service.answer,
    service,
    limits,
    failureOf: log.find,
    isClosed: () => isClosed,
    closedError: (cause) =>
      new Error(
        `the sandbox was closed${loss === undefined ? "" : `: ${loss.message}`}`,
        cause === undefined ? {} : { cause },
      ),
    close: async () => {
      isClosed = true;
      stop.resolve();
      await endPromise;
    },
    // An error at the end is thrown by `close`.
    endPromise: endPromise.then(
      () => undefined,
      () => undefined,
    ),
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
const SILENT_OUTPUT = { info: () => undefined, trace: () => undefined };

type MemoryLog = LogStream & { readonly find: (requestId: string) => string | undefined };

function createMemoryLog(): MemoryLog {
  const lines: string[] = [];
  return {
    writableNeedDrain: false,
    write: (text) => {
      lines.push(text);
      if (lines.length > MAX_LINES) lines.shift();
    },
    find: (requestId) => lines.find((line) => requestId !== "" && line.includes(requestId)),
  };
}

type OpenSandbox = Pick<InProcessSandbox, "service" | "limits">;

/** Makes the service available in this process and, if the sandbox has a socket, through the socket. */
function createAccess(
  world: GuestWorld,
  hasSocket: boolean,
): { readonly listen: GuestWorld["listen"]; readonly openSandbox: () => OpenSandbox } {
  let openSandbox: OpenSandbox | undefined;
  return {
    listen: (makeService, options) => {
      const make = (port: number, host: LoopbackHost): Service => {
        const service = makeService(port, host);
        openSandbox = { service, limits: options.limits ?? {} };
        return service;
      };
      if (hasSocket) return world.listen(make, options);
      make(0, "127.0.0.1");
      return Promise.resolve({ ok: true, value: { port: 0, close: () => Promise.resolve() } });
    },
    openSandbox: () => {
      if (openSandbox === undefined) throw new Error("a ready sandbox has its service");
      return openSandbox;
    },
  };
}
