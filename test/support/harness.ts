import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { main } from "../../src/cli/main.ts";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { REAL } from "./real.ts";
import type {
  DetachedProcess,
  Service,
  HttpRequest,
  HttpResponse,
  OutboundRequest,
  OutboundResult,
  ProgramCall,
  ShellCommand,
  World,
} from "../../src/world.ts";
import { seededRandom } from "./campaign.ts";
import { tempFolder } from "./temp-folder.ts";

/** An argument for the harness only: later commands get variables of the sandbox that `checkout exec` can set. */
const WITH_ACCESS = "(with access)";

/**
 * The options of a sandbox in memory that commands can find: with a state on disk, most tests would take twice as long.
 * With `--ephemeral` alone, commands do not find the sandbox, as in the real program.
 */
export const EPHEMERAL: readonly string[] = ["--ephemeral", WITH_ACCESS];

/** The output and the exit code of a command line. */
export type Result = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type CommandOptions = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The answers that a person types, in order; makes the command interactive. */
  readonly typed?: readonly (readonly [question: string, answer: string])[];
  /** Whether stdout is a terminal. */
  readonly terminal?: boolean;
  /** The width of stdout in characters; default: unknown. */
  readonly columns?: number;
  /** The version that the program reports. */
  readonly version?: string;
  /** The process that started the command detached. */
  readonly starter?: World["starter"];
  /** Whether processes on its operating system can handle signals; default: they can. */
  readonly signals?: boolean;
  /** Replaced parts of the world of this command. */
  readonly world?: Partial<World>;
  /** Kills the command as SIGKILL does: its connections are closed, and its waits never end. */
  readonly killed?: AbortSignal;
};

/** A command that runs until it is stopped. */
export type RunningCommand = {
  /** The output so far. */
  readonly text: () => { readonly stdout: string; readonly stderr: string };
  readonly press: (keys: string) => void;
  readonly stop: () => Promise<Result>;
  readonly ended: Promise<Result>;
};

/** A sandbox that runs in this process. */
export type RunningSandbox = {
  readonly ready: ReadyMessage;
  /** Sends a request. If the answer stays open, returns its first part, and leaves it open. */
  readonly request: (request: Partial<ApiCall> & Pick<ApiCall, "path">) => Promise<FullAnswer>;
  readonly stop: () => Promise<Result>;
};

/** An answer with its complete body, or with the first part of the body if the answer stays open. */
export type FullAnswer = HttpResponse & { readonly body: string | Uint8Array };

export type ApiCall = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Whether the request is sent to an address that other machines can reach. */
  readonly fromOutside: boolean;
};

/** The network's reaction to a request; `deliver` lets the request pass. */
type Fault = (request: OutboundRequest, deliver: () => Promise<OutboundResult>) => Promise<OutboundResult>;

type CreatedOrder = { readonly id: string; readonly checkout_url: string };

export type Harness = ReturnType<typeof createHarness>;

const FIRST_PID = 1001;
const NOT_OURS: Service = {
  answer: () => Promise.reject(new Error("not ours")),
  refuse: () => ({ status: 500, headers: {}, body: "" }),
};
const { files } = REAL;
/** The administrator's token of a sandbox in memory. */
const ADMIN_TOKEN = "administrator-of-the-harness";
const START_OF_TIME = Date.UTC(2026, 0, 15, 12);

/**
 * The whole program in one process: client, service, store, with a clock that only the test and the program's sleeps
 * move, seeded randomness and a network without sockets. Files are real, in a temporary folder.
 */
export function createHarness(options: { readonly seed?: number; readonly now?: number } = {}) {
  const cwd = tempFolder();
  const settings = tempFolder();
  const random = seededRandom(options.seed ?? 1);
  const clock = createClock(options.now ?? START_OF_TIME);
  const ports = new Map<number, Service>();
  const alive = new Set<number>();
  const stops: (() => void)[] = [];
  const stopsOf = new Map<number, ReadonlySet<() => void>>();
  const names = new Map<string, readonly string[]>();
  let nextPid = FIRST_PID;
  let ids = 0;
  let fault: Fault = (_request, pass) => pass();
  // Commands find a sandbox in memory only by variables.
  let access: Readonly<Record<string, string>> = {};
  const opened: string[] = [];
  let browser: World["openBrowser"] = () => Promise.resolve({ ok: true });
  const commands: ShellCommand[] = [];
  let shell: World["run"] = () =>
    Promise.resolve({ ending: "exited", exitCode: 127, stdout: "", stderr: "no such command" });
  const programs: ProgramCall[] = [];
  let runProgram: World["runProgram"] = () =>
    Promise.resolve({ ending: "not_found", message: "no such program" });
  onTestFinished(() => stops.splice(0).forEach((stop) => stop()));

  const readState = (file: string): string => readFileSync(join(cwd, ".checkout", file), "utf8");
  const randomBytes = (length: number): Uint8Array =>
    Uint8Array.from({ length }, () => Math.floor(random() * 256));

  function createWorld(
    argv: readonly string[],
    command: CommandOptions,
  ): World & { readonly output: Output; readonly ownStops: Set<() => void> } {
    const output = createOutput();
    const ownStops = new Set<() => void>();
    const pid = nextPid++;
    const killed = command.killed ?? new AbortController().signal;
    alive.add(pid);
    stopsOf.set(pid, ownStops);
    const stdin = new PassThrough();
    answerQuestions(output, stdin, command.typed ?? []);
    if (command.terminal === true) Object.assign(output.stdout, { isTTY: true });
    if (command.columns !== undefined) Object.assign(output.stdout, { columns: command.columns });
    return {
      ...clock,
      argv,
      env: { ...access, ...command.env },
      cwd: command.cwd ?? cwd,
      pid,
      isInteractive: () => command.typed !== undefined,
      stdin: () => stdin,
      stdout: output.stdout,
      isResultLost: () => false,
      stderr: output.stderr,
      files,
      machine: () => ({
        nodeVersion: "22.22.2",
        node: { path: "/usr/bin/node", isEmbedded: false },
        system: "Linux",
      }),
      settingsFolder: () => join(settings, "hosted-checkout"),
      packageFolder: () => undefined,
      ownFile: () => undefined,
      sqliteAddon: () => undefined,
      soon: (run) => void setImmediate(run),
      uuid: () => fakeUuid(clock.now(), (ids += 1)),
      freshId: randomUUID,
      randomBytes,
      random,
      send: (outbound) => unlessKilled(killed, () => fault(outbound, () => deliver(ports, outbound, killed))),
      resolve: (host) => Promise.resolve(names.get(host) ?? []),
      listen: (makeService, { port }) => Promise.resolve(listen(ports, makeService, port)),
      openBrowser: (url) => {
        opened.push(url);
        return browser(url);
      },
      temporaryFile: (name, content) => {
        const path = join(tempFolder(), name);
        writeFileSync(path, content, { mode: 0o600 });
        return { path, remove: () => rmSync(path) };
      },
      temporaryPath: () => {
        const path = join(tempFolder(), "made-later");
        return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
      },
      run: (line) => {
        commands.push(line);
        return shell(line);
      },
      runProgram: (call) => {
        programs.push(call);
        return runProgram(call);
      },
      startDetached: ({ logFile }) => detach(argv, command, logFile),
      starter: command.starter,
      terminate: (of) => {
        if (command.signals === false) return "no_signals";
        if (!alive.has(of)) return "gone";
        for (const stop of stopsOf.get(of) ?? []) stop();
        return "sent";
      },
      portOwner: (port) => (ports.has(port) ? "another-program (pid 4711)" : undefined),
      processStartTime: (of) => (alive.has(of) ? `started ${of}` : undefined),
      onStop: (stop) => {
        const act = (): void => stop("SIGTERM");
        stops.push(act);
        ownStops.add(act);
        return () => void ownStops.delete(act);
      },
      ...command.world,
      output,
      ownStops,
    };
  }

  /** Runs a command line as another process, whose stderr is a file. */
  function detach(argv: readonly string[], command: CommandOptions, logFile: string): DetachedProcess {
    const { promise: firstMessage, resolve: hear } = Promise.withResolvers<string | undefined>();
    const { promise: isReleased, resolve: answer } = Promise.withResolvers<boolean>();
    let isFree = false;
    const notify = (text: string): Promise<boolean> => {
      hear(text);
      return isFree ? Promise.resolve(false) : isReleased;
    };
    const world = createWorld(argv, { ...command, starter: { logFile, notify } });
    const older = existsSync(logFile) ? readFileSync(logFile, "utf8") : "";
    const log = (text: string): void => writeFileSync(logFile, older + text, { mode: 0o600 });
    log("");
    world.output.onTalk(log);
    const end = main(world, command.version).then((code) => {
      alive.delete(world.pid);
      hear(undefined);
      return `exit code ${code}`;
    });
    const release = (): Promise<void> => {
      answer((isFree = true));
      return Promise.resolve();
    };
    return { firstMessage, end, release, abandon: () => answer(false) };
  }

  /** Runs one command line to its end. */
  async function runCommand(argv: readonly string[], command: CommandOptions = {}): Promise<Result> {
    const world = createWorld(argv, command);
    const code = await main(world, command.version);
    alive.delete(world.pid);
    return { code, ...world.output.text() };
  }

  /** Runs a command that must succeed with empty stderr; returns its JSON output. */
  async function ask<Value = Record<string, unknown>>(
    line: string | readonly string[],
    command: CommandOptions = {},
  ): Promise<Value> {
    const words = typeof line === "string" ? line.split(" ") : line;
    const { code, stdout, stderr } = await runCommand([...words, "--json"], command);
    if (code !== 0 || stderr !== "") throw new Error(`${words.join(" ")} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as Value;
  }

  /** Creates an order with the command, and returns its checkout. */
  async function order(orderId: string, priceId = "price_coffee"): Promise<CreatedOrder> {
    const words = ["orders", "create", "--order-id", orderId, "--price-id", priceId];
    return (await ask<{ readonly data: CreatedOrder }>(words)).data;
  }

  /** Runs a command until it is stopped, and returns at its first output. It ends with the test. */
  async function launch(argv: readonly string[], command: CommandOptions = {}): Promise<RunningCommand> {
    const world = createWorld(argv, command);
    const ended = main(world, command.version).then((code) => {
      alive.delete(world.pid);
      return { code, ...world.output.text() };
    });
    await Promise.race([world.output.firstLine, ended]);
    if (world.output.text().stdout === "") throw new Error(`it did not start: ${(await ended).stderr}`);
    return {
      text: world.output.text,
      press: (keys) => void world.stdin().push(keys),
      stop: () => {
        for (const stop of world.ownStops) stop();
        return ended;
      },
      ended,
    };
  }

  /** Runs `sandbox start --json` until it is ready; it ends with the test. */
  async function start(args: readonly string[] = [], command: CommandOptions = {}): Promise<RunningSandbox> {
    const isFound = args.includes(WITH_ACCESS);
    const own = args.filter((word) => word !== WITH_ACCESS);
    const env = isFound ? { CHECKOUT_SANDBOX_ADMIN_TOKEN: ADMIN_TOKEN, ...command.env } : command.env;
    const world = createWorld(["sandbox", "start", "--json", ...own], {
      ...command,
      ...(env === undefined ? {} : { env }),
    });
    const ended = main(world, command.version).then((code) => {
      alive.delete(world.pid);
      return { code, ...world.output.text() };
    });
    await Promise.race([world.output.firstLine, ended]);
    const stop = stops.at(-1);
    if (!world.output.text().stdout.endsWith("\n") || stop === undefined) {
      throw new Error(`the sandbox did not start: ${(await ended).stderr}`);
    }
    const ready = JSON.parse(world.output.text().stdout) as ReadyMessage;
    if (isFound) access = variablesOf(ready);
    return {
      ready,
      request: (call) => request(ports, ready, call),
      stop: () => {
        stop();
        return ended;
      },
    };
  }

  return {
    cwd,
    /** The folder of the user's settings. */
    settings,
    clock,
    run: runCommand,
    ask,
    order,
    launch,
    start,
    readState,
    adminToken: (): string =>
      access["CHECKOUT_ADMIN_TOKEN"] ??
      (JSON.parse(readState("admin.json")) as { readonly admin_token: string }).admin_token,
    /** Serves another program on a port. */
    occupy: (port: number, program: Service = NOT_OURS) => void ports.set(port, program),
    /** Removes the program from a port. */
    vacate: (port: number) => void ports.delete(port),
    /** Sends a request to the server on a port. */
    send: (outbound: Pick<OutboundRequest, "method" | "url" | "headers">) =>
      deliver(ports, { ...outbound, timeoutMs: 1, maxResponseBytes: 1 }),
    /** The program on a port, as its clients reach it. */
    programOn: (port: number): Service | undefined => ports.get(port),
    /** Sets the addresses of a host name. */
    name: (host: string, addresses: readonly string[]) => void names.set(host, addresses),
    /** Replaces the network's reaction to requests from now on. */
    setFault: (next: Fault) => void (fault = next),
    /** The addresses that the browser was asked to open, in order. */
    opened: opened as readonly string[],
    /** The command lines that were run in a shell, in order. */
    commands: commands as readonly ShellCommand[],
    /** Sets how the shell runs command lines from now on. */
    setShell: (next: World["run"]) => void (shell = next),
    /** The programs that were run, in order. */
    programs: programs as readonly ProgramCall[],
    /** Sets how programs run from now on. */
    setProgram: (next: World["runProgram"]) => void (runProgram = next),
    /** Replaces the browser from now on. */
    setBrowser: (next: World["openBrowser"]) => void (browser = next),
  };
}

/** The variables by which commands find a sandbox in memory, as `checkout exec` can set them. */
function variablesOf(ready: ReadyMessage): Readonly<Record<string, string>> {
  return {
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key ?? "",
    CHECKOUT_STORE_ID: ready.store_id,
    CHECKOUT_CONTROL_TOKEN: ready.control_token,
    CHECKOUT_ADMIN_TOKEN: ADMIN_TOKEN,
  };
}

type Clock = Pick<World, "now" | "monotonic" | "sleep" | "after"> & {
  readonly advance: (milliseconds: number) => void;
  /** The times of the pending timers. */
  readonly pending: () => readonly number[];
};

/** A clock that only `advance` and the program's sleeps move. */
function createClock(start: number): Clock {
  let now = start;
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  const sleepers = new Set<{ readonly until: number }>();
  const advance = (milliseconds: number): void => {
    const until = now + milliseconds;
    for (;;) {
      const [next] = timers.filter(({ at }) => at <= until).toSorted((left, right) => left.at - right.at);
      if (next === undefined) break;
      timers = timers.filter((timer) => timer !== next);
      now = next.at;
      next.run();
    }
    now = until;
  };
  return {
    now: () => Math.floor(now),
    monotonic: () => now - start,
    after: (milliseconds, run) => {
      // With such a delay a real timer would run at once, so a repeating timer would never stop.
      if (!Number.isFinite(milliseconds)) throw new Error(`a timer of ${milliseconds} ms`);
      timers.push({ at: now + milliseconds, run });
    },
    sleep: async (milliseconds, signal) => {
      const own = { until: now + milliseconds };
      if (signal !== undefined) sleepers.add(own);
      // Advances to one timer at a time, because its work may end this sleep, and not beyond the shortest sleep,
      // because concurrent sleeps share the same time.
      for (;;) {
        const ends = [...sleepers].map(({ until }) => until);
        const next = Math.min(...ends, ...timers.map(({ at }) => at));
        if (signal === undefined || next >= own.until) break;
        advance(Math.max(0, next - now));
        await turns();
        if (signal.aborted) break;
      }
      sleepers.delete(own);
      if (signal?.aborted === true) return;
      advance(Math.max(0, own.until - now));
      await turns();
    },
    advance,
    pending: () => timers.map(({ at }) => at),
  };
}

/** Lets due work write in the next turns of the loop, as in real time: a write waits one turn for others. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Types the next answer once its question is on the screen. */
function answerQuestions(
  output: Output,
  stdin: PassThrough,
  typed: NonNullable<CommandOptions["typed"]>,
): void {
  const left = [...typed];
  output.onTalk((text) => {
    const [next] = left;
    if (next === undefined || !text.includes(next[0])) return;
    left.shift();
    setImmediate(() => stdin.write(`${next[1]}\n`));
  });
}

type Output = {
  /** Calls back with everything on stderr so far, each time there is more. */
  readonly onTalk: (listen: (text: string) => void) => void;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly firstLine: Promise<void>;
  readonly text: () => { readonly stdout: string; readonly stderr: string };
};

function createOutput(): Output {
  const text = { stdout: "", stderr: "" };
  let announce = (): void => undefined;
  let talk = (_text: string): void => undefined;
  const firstLine = new Promise<void>((resolve) => (announce = resolve));
  const capture = (name: keyof typeof text): Writable => {
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        text[name] += chunk.toString("utf8");
        if (name === "stdout") announce();
        else talk(text.stderr);
        done();
      },
    });
    // A process's own streams cannot be ended, and questions rely on this.
    stream.end = () => stream;
    return stream;
  };
  const onTalk: Output["onTalk"] = (listener) => void (talk = listener);
  return {
    stdout: capture("stdout"),
    stderr: capture("stderr"),
    firstLine,
    onTalk,
    text: () => ({ ...text }),
  };
}

/** Ids from a counter: the same in every run, in the order of their creation. */
function fakeUuid(now: number, count: number): string {
  const time = now.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${count.toString(16).padStart(12, "0")}`;
}

function listen(ports: Map<number, Service>, makeService: Parameters<World["listen"]>[0], wanted: number) {
  const port = wanted === 0 ? firstFree(ports) : wanted;
  if (ports.has(port)) {
    return { ok: false, refusal: { reason: "in_use", message: `port ${port} is in use` } } as const;
  }
  ports.set(port, makeService(port, "127.0.0.1"));
  const close = (): Promise<void> => Promise.resolve(void ports.delete(port));
  return { ok: true, value: { port, close } } as const;
}

function firstFree(ports: ReadonlyMap<number, Service>): number {
  let port = 40_000 + ports.size;
  while (ports.has(port)) port += 1;
  return port;
}

/** Runs a command's work; after a kill the promise never settles. */
function unlessKilled<Value>(killed: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (killed.aborted) return;
    work().then((value) => killed.aborted || resolve(value), reject);
  });
}

async function deliver(
  ports: ReadonlyMap<number, Service>,
  outbound: OutboundRequest,
  killed = new AbortController().signal,
): Promise<OutboundResult> {
  if (outbound.signal?.aborted === true) return { ok: false, failure: "aborted", message: "aborted" };
  const url = new URL(outbound.url);
  const service = ports.get(Number(url.port));
  if (service === undefined)
    return {
      ok: false,
      failure: "unreachable",
      message: `connect ECONNREFUSED ${url.host}`,
      facts: { fault: "refused" },
    };
  const rawHeaders = Object.entries({ Host: url.host, ...outbound.headers }).flatMap(([name, value]) =>
    (outbound.lines?.[name] ?? [value]).flatMap((line) => [name, line]),
  );
  const target = url.pathname + url.search;
  const body = Buffer.from(outbound.body ?? "");
  const {
    status,
    headers,
    body: answer,
    isDropped,
  } = await service.answer({ method: outbound.method, target, rawHeaders, body });
  if (isDropped === true)
    return {
      ok: false,
      failure: "connection_lost",
      message: "socket hang up",
      facts: { fault: "closed" },
    };
  const whole = await readWhole(answer, {
    onPart: outbound.onPart,
    signals: [killed, outbound.signal],
  }).catch(() => "cut");
  if (whole === "cut") return { ok: false, failure: "connection_lost", message: "aborted" };
  if (whole === undefined) return { ok: false, failure: "aborted", message: "aborted" };
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    ok: true,
    status,
    headers: Object.fromEntries(lowerCase),
    body: Buffer.from(whole).toString("utf8"),
  };
}

/** The complete body, also of a stream; undefined if its reader left before its end. */
async function readWhole(
  body: HttpResponse["body"],
  {
    onPart,
    signals,
  }: Pick<OutboundRequest, "onPart"> & { readonly signals: readonly (AbortSignal | undefined)[] },
): Promise<string | Uint8Array | undefined> {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
  const parts: Uint8Array[] = [];
  const stream = body[Symbol.asyncIterator]();
  const gone = new Promise<"gone">((resolve) => signal.addEventListener("abort", () => resolve("gone")));
  for (;;) {
    const next = await Promise.race([stream.next(), gone]);
    if (next === "gone") {
      await stream.return?.();
      return undefined;
    }
    if (next.done === true) return Buffer.concat(parts);
    parts.push(next.value);
    onPart?.(next.value);
  }
}

/** A complete body, or the first part of a stream, which is neither read further nor closed. */
async function firstOf(body: HttpResponse["body"]): Promise<string | Uint8Array> {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  const first = await body[Symbol.asyncIterator]().next();
  return first.done === true ? "" : first.value;
}

async function request(
  ports: ReadonlyMap<number, Service>,
  ready: ReadyMessage,
  call: Partial<ApiCall> & Pick<ApiCall, "path">,
): Promise<FullAnswer> {
  const { host, port } = new URL(ready.base_url);
  const service = ports.get(Number(port));
  if (service === undefined) throw new Error("the sandbox has stopped");
  const defaults = {
    Host: host,
    Authorization: `Bearer ${ready.api_key ?? ""}`,
    ...(call.body === undefined ? {} : { "Content-Type": "application/json" }),
  };
  const inbound: HttpRequest = {
    method: call.method ?? (call.body === undefined ? "GET" : "POST"),
    target: call.path,
    rawHeaders: Object.entries({ ...defaults, ...call.headers }).flat(),
    body: Buffer.from(call.body ?? ""),
    isFromOutside: call.fromOutside ?? false,
  };
  const answer = await service.answer(inbound);
  return { ...answer, body: await firstOf(answer.body) };
}
