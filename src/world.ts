import type { Readable, Writable } from "node:stream";
import type { AttemptFacts } from "./core/network/connection-fault.ts";
import type { Outcome, Refusal } from "./core/outcome.ts";

/** In `rawHeaders`, names and values alternate, in order, including duplicates. */
export type HttpRequest = {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array;
  readonly isFromOutside?: boolean;
};

/**
 * A stream is read as fast as the client reads; its `return` is called when the client disconnects or the server stops.
 * If a stream fails, the client sees an incomplete body.
 */
export type HttpBody = string | Uint8Array | AsyncIterable<Uint8Array>;

export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  /** Closes the connection without sending the answer. */
  readonly isDropped?: true;
  /** With `isDropped`, resets the connection instead of closing it. */
  readonly isReset?: true;
};

export type Service = {
  readonly answer: (request: HttpRequest) => Promise<HttpResponse>;
  readonly refuse: (refusal: UnreadableRequest) => HttpResponse | Promise<HttpResponse>;
};

export type UnreadableRequest = Refusal & {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders?: readonly string[];
};

export type OutboundRequest = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers with several values, each value sent as a line of its own. */
  readonly lines?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Sent with its length, unless the headers have `Transfer-Encoding: chunked`. */
  readonly body?: string | Uint8Array;
  /** Awaited in the middle of the body, which is then sent in two parts. */
  readonly awaitBetweenParts?: (() => Promise<void>) | undefined;
  /** Timeout in milliseconds, from the start of the connection to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** `cut` ends a larger answer at `maxResponseBytes`. Default: the request fails. */
  readonly oversize?: "refused" | "cut";
  /** The only addresses to connect to, in order. Default: the host's name is looked up. */
  readonly addresses?: readonly string[] | undefined;
  /** The address may contain user name and password. Default: none, even if the environment names one (decision 80). */
  readonly proxy?: string | undefined;
  /**
   * `kept` reuses an open connection to the same addresses, and keeps it open for a short time. Default: a new
   * connection, closed after the answer.
   */
  readonly connection?: "kept" | "fresh" | undefined;
  /**
   * After a refused or closed connection, opens a second one to see whether the other loopback address accepts
   * connections, or whether the port expects TLS.
   */
  readonly examine?: boolean | undefined;
  /** Called at the end of the request, before the connection is examined. */
  readonly onEnd?: (() => void) | undefined;
  /** The certificates to trust for https. Default: the system's. */
  readonly tls?: TlsTrust | undefined;
  /** Called with each part of the body when it arrives, for an answer that stays open. */
  readonly onPart?: ((part: Uint8Array) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** `ca`: the only CA certificates to trust, in PEM. `isUnchecked`: certificates are not verified. */
export type TlsTrust = { readonly ca: string } | { readonly isUnchecked: true };

export type OutboundResult =
  | {
      readonly ok: true;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly address?: string | undefined;
      readonly proxy?: string | undefined;
    }
  | {
      readonly ok: false;
      /**
       * `unreachable`: no connection was established, so nothing was sent. After any other failure it is unknown
       * whether the receiver acted.
       */
      readonly failure: "unreachable" | "timeout" | "connection_lost" | "aborted" | "bad_answer";
      readonly message: string;
      readonly facts?: AttemptFacts | undefined;
      readonly address?: string | undefined;
      readonly wasReused?: boolean | undefined;
    };

export type Listener = {
  readonly port: number;
  /** Accepts no more connections, waits at most `graceMs` for requests and streams in flight, then closes the rest. */
  readonly close: (graceMs: number) => Promise<void>;
  /** Whether the open server keeps the process running. Default: yes. */
  readonly keepRunning?: (shouldKeep: boolean) => void;
};

export type ServerLimits = {
  readonly bodyBytes: number;
  readonly connections: number;
  readonly silenceMs: number;
  /** Paths, without a query, that accept larger bodies. */
  readonly bodyLimits?: readonly { readonly path: RegExp; readonly bodyBytes: number }[];
  /** A head is the request line and the headers. The limit also applies to all paths below these paths. */
  readonly largerHeads?: { readonly paths: readonly string[]; readonly headBytes: number };
};

export type ListenFailure = {
  readonly reason: "in_use" | "not_permitted" | "no_such_address" | "other";
  readonly message: string;
  readonly address?: string;
};

export type ListenOptions = {
  readonly port: number;
  readonly addresses?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
};

export type PathFacts = {
  readonly kind: "folder" | "file" | "link" | "other";
  readonly isOwn: boolean;
  readonly openTo: "nobody" | "readers" | "writers";
  readonly writableBy: "owner" | "own group" | "others";
  /** The last change of the content, in milliseconds since the epoch. */
  readonly changedAt: number;
  /** Device and inode, which stay the same when the folder is moved or mounted twice, and differ for a copy. */
  readonly id: string;
};

export type DiskFacts = {
  readonly freeBytes: number;
  readonly isWritable: boolean;
  readonly fileSystem: string | undefined;
};

export type Machine = {
  readonly nodeVersion: string;
  readonly node: { readonly path: string; readonly isEmbedded: boolean };
  readonly system: string;
};

export type ReadOptions = {
  /** Allowed only for paths that the user named. Default: false. */
  readonly followsLinks?: boolean;
  /** Default: 16 MiB. */
  readonly maxBytes?: number;
};

/**
 * `endsWithProcess`: the file describes a process, so it is not flushed, because a power failure ends the process too.
 */
export type WriteOptions = { readonly endsWithProcess?: true };

/** Files are written with mode 0600, folders with 0700. */
export type Files = {
  /** The text of a regular file; undefined if there is none. Throws FileRefused for anything else at the path. */
  readonly read: (path: string, options?: ReadOptions) => string | undefined;
  readonly readBytes: (path: string, options?: ReadOptions) => Uint8Array | undefined;
  /** In bytes; undefined if there is no regular file. Does not follow links. */
  readonly size: (path: string) => number | undefined;
  /** Replaces the file atomically: readers see the whole old or the whole new content, also after a crash. */
  readonly write: (path: string, content: string | Uint8Array, options?: WriteOptions) => void;
  readonly fill: <Value>(path: string, fill: (unfinished: string) => Promise<Value>) => Promise<Value>;
  readonly createNew: (path: string, content: string | Uint8Array, options?: WriteOptions) => boolean;
  readonly remove: (path: string) => void;
  readonly rename: (from: string, to: string) => void;
  readonly removeUnfinishedFiles: (folder: string) => void;
  readonly makeFolder: (path: string) => void;
  readonly stat: (path: string) => PathFacts | undefined;
  readonly realPath: (path: string) => string;
  readonly list: (path: string) => readonly string[];
  readonly makePrivate: (folder: string) => void;
  readonly exists: (path: string) => boolean;
  /** The bytes of a regular file from an offset, and its size; undefined if there is none. Does not follow links. */
  readonly readFrom: (
    path: string,
    offset: number,
  ) => { readonly bytes: Uint8Array; readonly size: number } | undefined;
  /** The path must exist. Writes nothing. */
  readonly disk: (path: string) => DiskFacts;
};

/** `unsupported`: the file system has no locks. `refused`: the file cannot be opened for a lock. */
export type FileLock =
  | { readonly state: "own"; readonly release: () => void }
  | { readonly state: "held" | "unsupported" }
  | { readonly state: "refused"; readonly reason: string };

export type TemporaryFile = { readonly path: string; readonly remove: () => void };

export type ShellCommand = {
  readonly commandLine: string;
  /** Added to this program's environment; an undefined value removes a variable. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Maximum size of stdout and of stderr, in bytes; earlier output is dropped. */
  readonly maxOutputBytes: number;
  readonly onOutput?: (text: string) => void;
  /** Kills the command immediately or, if the abort reason is a `ShellEnd`, first asks it to end. */
  readonly signal?: AbortSignal | undefined;
};

export type ShellEnd = "terminate";

export type ShellResult = {
  /** `timeout`: killed. `aborted`: killed or asked to end. `not_run`: there is no shell; the reason is in `stderr`. */
  readonly ending: "exited" | "timeout" | "aborted" | "not_run";
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type DetachedProcess = {
  /** Undefined if the process ended without a message. */
  readonly firstMessage: Promise<string | undefined>;
  readonly end: Promise<string>;
  /** Lets the process continue when its starter ends. */
  readonly release: () => Promise<void>;
  readonly abandon: () => void;
};

export type Starter = {
  readonly logFile: string;
  readonly notify: (text: string) => Promise<boolean>;
};

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export type ProgramCall = {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
};

export type ProgramResult =
  | { readonly ending: "exited"; readonly exitCode: number }
  | { readonly ending: "killed"; readonly signal: string; readonly signalNumber: number }
  | { readonly ending: "not_found" | "not_executable"; readonly message: string };

/** Everything outside the program (decision 53). Tests pass a world with a fake clock, seeded randomness and no socket. */
export type World = {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly pid: number;
  readonly isInteractive: () => boolean;
  /** A function, because Node loads the stream at its first use, and most commands never read stdin. */
  readonly stdin: () => Readable;
  readonly stdout: Writable;
  readonly isResultLost: () => boolean;
  readonly stderr: Writable;
  readonly files: Files;
  readonly machine: () => Machine;
  /** The folder with the user's settings for this program; it may not exist yet. Undefined without a home folder. */
  readonly settingsFolder: () => string | undefined;
  readonly packageFolder: () => string | undefined;
  /** The text of a file in this package's `dist` folder; undefined if it is missing, as in the single executable. */
  readonly ownFile: (name: string) => string | undefined;
  readonly sqliteAddon: () => string | undefined;

  /** Whole milliseconds since the epoch. */
  readonly now: () => number;
  /** The time of `Date`, which a test suite may have replaced, for receivers in this process. Default: `now`. */
  readonly receiverTime?: () => number;
  /** Milliseconds since an arbitrary point; never goes back. */
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly after: (milliseconds: number, run: () => void) => void;
  /** Calls `run` after the input that has already arrived is read. */
  readonly soon: (run: () => void) => void;

  /**
   * In lower case (decision 2). With a seed, each stream has its own ids, so that a draw from one stream does
   * not change the ids of another (decision 98).
   */
  readonly uuid: (stream?: string) => string;
  /** A UUID that is different in every run, even with a seed (decision 96). */
  readonly freshId: () => string;
  /** The bytes of an API key may begin with the mark of its store (decision 124). */
  readonly randomBytes: (length: number, use?: "api key") => Uint8Array;
  readonly random: (stream?: string) => number;

  readonly send: (request: OutboundRequest) => Promise<OutboundResult>;
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /**
   * Port 0 selects any free port. The service is created when port and loopback host are known; the host is
   * `[::1]` if the machine does not have 127.0.0.1.
   */
  readonly listen: (
    makeService: (port: number, host: "127.0.0.1" | "[::1]") => Service,
    options: ListenOptions,
  ) => Promise<Outcome<Listener, ListenFailure>>;
  readonly openBrowser: (
    url: string,
  ) => Promise<{ readonly ok: true } | { readonly ok: false; readonly message: string }>;
  readonly temporaryFile: (name: string, content: string) => TemporaryFile;
  readonly temporaryPath: () => TemporaryFile;
  /**
   * Runs with an empty stdin. Kills processes that are left in the process group at the end; on Windows only after a
   * timeout or an abort.
   */
  readonly run: (command: ShellCommand) => Promise<ShellResult>;
  /**
   * Starts this program in a process that outlives the terminal. Its stderr is appended to a log file, which is rotated
   * at 10 MiB, with one older file.
   */
  readonly startDetached: (options: { readonly logFile: string }) => DetachedProcess;
  readonly starter: Starter | undefined;
  /** Sends SIGTERM. `no_signals`: nothing was done, because processes of this system cannot handle signals. */
  readonly terminate: (pid: number) => "sent" | "gone" | "not_permitted" | "no_signals";
  /**
   * The program shares stdin, stdout and stderr. Signals are passed on, unless the terminal sent them to both
   * processes.
   */
  readonly runProgram: (call: ProgramCall) => Promise<ProgramResult>;
  readonly portOwner: (port: number) => string | undefined;

  /** The lock ends with this process at the latest. If missing, a process is identified only by its id. */
  readonly lockFile?: (path: string) => Promise<FileLock>;
  /** Also detects the lock of a process that this one cannot see, as in another container. */
  readonly isFileLocked?: (path: string) => Promise<boolean>;
  /** Calls `onLost` once, within seconds after the file was deleted or replaced. If missing, files are not watched. */
  readonly onFileLost?: (path: string, onLost: () => void) => () => void;
  readonly hostName?: () => string;
  /** An opaque text; undefined if there is no such process. */
  readonly processStartTime: (pid: number) => string | undefined;
  readonly onStop: (stop: (signal: StopSignal) => void) => () => void;
};

export type GuestWorld = Omit<
  World,
  | "argv"
  | "isInteractive"
  | "stdin"
  | "stdout"
  | "isResultLost"
  | "stderr"
  | "settingsFolder"
  | "packageFolder"
  | "machine"
  | "onStop"
  | "openBrowser"
  | "temporaryFile"
  | "temporaryPath"
  | "run"
  | "runProgram"
  | "startDetached"
  | "starter"
  | "terminate"
>;
