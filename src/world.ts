import type { Readable, Writable } from "node:stream";
import type { AttemptFacts } from "./core/network/connection-fault.ts";
import type { Outcome, Refusal } from "./core/outcome.ts";

/** An HTTP request as received: raw headers in order, with alternating names and values, including duplicates. */
export type HttpRequest = {
  readonly method: string;
  /** The target in the request line. */
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array;
  /** Whether the request was sent to an address that other machines can reach, whatever its Host is. */
  readonly isFromOutside?: boolean;
};

/**
 * The body of an answer: whole, or a stream. A stream is asked for its next bytes only when the client has read the
 * previous bytes; its `return` is called when the client disconnects or the server stops. If a stream fails, the
 * connection is closed, so that the client sees an incomplete body.
 */
export type HttpBody = string | Uint8Array | AsyncIterable<Uint8Array>;

/** An HTTP answer. The server adds `Content-Length`, except for a stream. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  /** Set if the connection is closed without sending the answer. */
  readonly isDropped?: true;
  /** For a dropped answer: set if the connection is reset instead of closed. */
  readonly isReset?: true;
};

/** A service as two functions, which never throw. */
export type Service = {
  readonly answer: (request: HttpRequest) => Promise<HttpResponse>;
  /** Answers bytes that could not be parsed as a request. */
  readonly refuse: (refusal: UnreadableRequest) => HttpResponse | Promise<HttpResponse>;
};

/** Why bytes on a connection are not a request. */
export type UnreadableRequest = Refusal & {
  /** Method, target and headers, as far as they were read. */
  readonly method: string;
  readonly target: string;
  readonly rawHeaders?: readonly string[];
};

export type OutboundRequest = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that are sent as several lines: one line for each value. */
  readonly lines?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The body; it is sent with its length, unless the headers have `Transfer-Encoding: chunked`. */
  readonly body?: string | Uint8Array;
  /** Awaited in the middle of the body, which is then sent in two parts. Default: the body is sent in one part. */
  readonly awaitBetweenParts?: (() => Promise<void>) | undefined;
  /** Timeout in milliseconds, from the start of the connection to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** What happens to a larger answer: the request fails (default), or the answer is cut. */
  readonly oversize?: "refused" | "cut";
  /** The only addresses to connect to, in order. Default: the host's name is looked up. */
  readonly addresses?: readonly string[] | undefined;
  /**
   * The proxy to send through, with its user name and password. Default: none, even if the environment names one, so
   * that only explicit requests are sent through a proxy (decision 80).
   */
  readonly proxy?: string | undefined;
  /**
   * `kept`: over a kept connection to the same addresses, if there is one; `fresh`: over a new connection. Both are
   * kept afterwards for a short time, if the server permits it. Default: a new connection, which ends with the answer.
   */
  readonly connection?: "kept" | "fresh" | undefined;
  /**
   * Whether a failed connection to this machine is examined with a second connection: whether the other loopback
   * address accepts connections (nothing is sent), and whether the port expects TLS (a handshake is sent, once for each
   * URL and address until the result changes). Default: no.
   */
  readonly examine?: boolean | undefined;
  /** Called at the end of the request, before the connection is examined. */
  readonly onEnd?: (() => void) | undefined;
  /** The certificates to trust for https. Default: the system's. */
  readonly tls?: TlsTrust | undefined;
  /** Called with each part of the answer's body when it arrives, for an answer that stays open. */
  readonly onPart?: ((part: Uint8Array) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** `ca`: the only CA certificates to trust, in PEM. `isUnchecked`: certificates are not verified. */
export type TlsTrust = { readonly ca: string } | { readonly isUnchecked: true };

/** The answer, or the reason why there is none. */
export type OutboundResult =
  | {
      readonly ok: true;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly address?: string | undefined;
      /** The proxy that may have forwarded or made the answer, without user name and password. */
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
      /** Whether the request was sent over a kept connection, which the server may already have closed. */
      readonly wasReused?: boolean | undefined;
    };

/** A server that listens until it is closed. */
export type Listener = {
  readonly port: number;
  /** Accepts no more connections, waits at most `graceMs` for requests and streams in flight, then closes the rest. */
  readonly close: (graceMs: number) => Promise<void>;
  /** Whether the program keeps running while only this server is open. Default: yes. */
  readonly keepRunning?: (shouldKeep: boolean) => void;
};

/** Limits of one server: size of a body in bytes, number of connections, and idle time of a connection in milliseconds. */
export type ServerLimits = {
  readonly bodyBytes: number;
  readonly connections: number;
  readonly silenceMs: number;
  /** Paths, without a query, that accept larger bodies. */
  readonly bodyLimits?: readonly { readonly path: RegExp; readonly bodyBytes: number }[];
  /** Paths, with all paths below them, that accept larger heads (request line and headers). */
  readonly largerHeads?: { readonly paths: readonly string[]; readonly headBytes: number };
};

/** Why a port cannot be used. */
export type ListenFailure = {
  readonly reason: "in_use" | "not_permitted" | "no_such_address" | "other";
  readonly message: string;
  /** The address on which the port cannot be used. */
  readonly address?: string;
};

export type ServerOptions = {
  readonly port: number;
  /** Addresses in addition to loopback. Default: none. */
  readonly addresses?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
};

/** Facts about a path. On Windows, without owners and modes, each path counts as ours, and as closed to others. */
export type PathFacts = {
  readonly kind: "folder" | "file" | "link" | "other";
  /** Whether this process's user owns the path. */
  readonly isOwn: boolean;
  /** The most that other users, including the group, can do with the path. */
  readonly openTo: "nobody" | "readers" | "writers";
  /**
   * Who can write to the path. `own group`: only a group with the number of the user, which on Debian, Ubuntu and
   * Fedora is the user's private group; with the umask 002, its members can write to every new file.
   */
  readonly writableBy: "owner" | "own group" | "others";
  /** The last change of the content, in milliseconds since the epoch. */
  readonly changedAt: number;
  /** Device and inode. They stay when the folder is moved or mounted twice, and differ for a copy. */
  readonly id: string;
};

export type DiskFacts = {
  readonly freeBytes: number;
  /** Whether this process may write to the disk, as far as the system says so without a write. */
  readonly isWritable: boolean;
  /** The name of the file system; undefined if it is unknown. */
  readonly fileSystem: string | undefined;
};

export type Machine = {
  readonly nodeVersion: string;
  /** The Node in use: a file of this system, or this program if it contains Node. */
  readonly node: { readonly path: string; readonly isEmbedded: boolean };
  /** The operating system, its release and the processor. */
  readonly system: string;
};

/** Options for reading files; files above the maximum size are refused. */
export type ReadOptions = {
  /** Whether to follow a symbolic link, which is only for paths that the user named. Default: false. */
  readonly followsLinks?: boolean;
  /** Default: 16 MiB. */
  readonly maxBytes?: number;
};

/** `endsWithProcess`: not flushed, because the file describes a process, which a power failure ends too. */
export type WriteOptions = { readonly endsWithProcess?: true };

/** The part of the file system that the program uses. It writes files with mode 0600, and folders with 0700. */
export type Files = {
  /** The text of a regular file; undefined if there is none. Throws FileRefused for anything else at the path. */
  readonly read: (path: string, options?: ReadOptions) => string | undefined;
  /** The bytes of a regular file, under the rules of `read`. */
  readonly readBytes: (path: string, options?: ReadOptions) => Uint8Array | undefined;
  /** The size of a regular file in bytes; undefined if there is none. Does not follow links. */
  readonly size: (path: string) => number | undefined;
  /** Replaces a file atomically: readers, and the state after a crash, have the whole old or the whole new content. */
  readonly write: (path: string, content: string | Uint8Array, options?: WriteOptions) => void;
  /** Replaces a file atomically with the file that `fill` writes to a temporary path, flushed without blocking. */
  readonly fill: <Value>(path: string, fill: (unfinished: string) => Promise<Value>) => Promise<Value>;
  /** Creates a file; false if it already exists. */
  readonly createNew: (path: string, content: string | Uint8Array, options?: WriteOptions) => boolean;
  readonly remove: (path: string) => void;
  /** Renames a file in its folder atomically, replacing an existing file. */
  readonly rename: (from: string, to: string) => void;
  /** Removes unfinished files of ended processes from a folder. */
  readonly removeUnfinishedFiles: (folder: string) => void;
  /** Creates a folder and its parents, accessible only to the owner. */
  readonly makeFolder: (path: string) => void;
  /** The facts about a path, without following a link; undefined if it does not exist. */
  readonly stat: (path: string) => PathFacts | undefined;
  /** The path of an existing folder, with its links resolved. */
  readonly realPath: (path: string) => string;
  readonly list: (path: string) => readonly string[];
  /** Removes all rights to a folder except the owner's. Throws if the path is a link. */
  readonly makePrivate: (folder: string) => void;
  readonly exists: (path: string) => boolean;
  /** The bytes of a regular file from an offset, and its size; undefined if there is none. Does not follow links. */
  readonly readFrom: (
    path: string,
    offset: number,
  ) => { readonly bytes: Uint8Array; readonly size: number } | undefined;
  /** The disk of an existing path, determined without writing. */
  readonly disk: (path: string) => DiskFacts;
};

/** A lock of a file. `unsupported`: the file system has no locks. `refused`: the file cannot be opened for a lock. */
export type FileLock =
  | { readonly state: "own"; readonly release: () => void }
  | { readonly state: "held" | "unsupported" }
  | { readonly state: "refused"; readonly reason: string };

/** A path that is removed with its content after use; it is no error if the removal fails. */
export type TemporaryFile = { readonly path: string; readonly remove: () => void };

export type ShellCommand = {
  readonly commandLine: string;
  /** Changes to this program's environment; undefined removes a variable. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Timeout for the whole command, in milliseconds. */
  readonly timeoutMs: number;
  /** Maximum size that is kept of each of the two outputs, in bytes; the beginning is dropped. */
  readonly maxOutputBytes: number;
  /** Receives each part of stdout when it is written. */
  readonly onOutput?: (text: string) => void;
  /** Kills the command immediately or, if the abort reason is a `ShellEnd`, first asks it to end. */
  readonly signal?: AbortSignal | undefined;
};

/** The abort reason that first asks the command to end by itself. */
export type ShellEnd = "terminate";

export type ShellResult = {
  /** `timeout`: killed. `aborted`: killed or asked to end. `not_run`: there is no shell; the reason is in `stderr`. */
  readonly ending: "exited" | "timeout" | "aborted" | "not_run";
  /** Null if a signal ended the command, or if it was not run. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** This program, started again as a separate process. */
export type DetachedProcess = {
  /** The first message from the process to its starter; undefined if the process ended without a message. */
  readonly firstMessage: Promise<string | undefined>;
  /** The end of the process in words: `exit code 1`. */
  readonly end: Promise<string>;
  /** Releases the process, which otherwise stops when its starter ends. */
  readonly release: () => Promise<void>;
  /** Asks the process to stop. */
  readonly abandon: () => void;
};

/** The process that started this detached process, until it releases this process. */
export type Starter = {
  /** The file to which this process's stderr is written. */
  readonly logFile: string;
  /** Sends a message. Resolves to whether the starter has released this process. */
  readonly notify: (text: string) => Promise<boolean>;
};

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** A program with its arguments, run without a shell. */
export type ProgramCall = {
  readonly program: string;
  readonly args: readonly string[];
  /** Changes to this program's environment; undefined removes a variable. */
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
  /** Whether a person can answer questions. */
  readonly isInteractive: () => boolean;
  /** A function, because Node loads the stream at its first use, and most commands never read stdin. */
  readonly stdin: () => Readable;
  readonly stdout: Writable;
  /** Whether a result could not be printed; output to a closed pipe does not count. */
  readonly isResultLost: () => boolean;
  readonly stderr: Writable;
  readonly files: Files;
  readonly machine: () => Machine;
  /** The folder with the user's settings for this program; it may not exist yet. Undefined without a home folder. */
  readonly settingsFolder: () => string | undefined;
  /** The folder of this package; undefined in the single executable. */
  readonly packageFolder: () => string | undefined;
  /** The text of a file in this package's `dist` folder; undefined if it is missing, as in the single executable. */
  readonly ownFile: (name: string) => string | undefined;
  /** Path of the native SQLite addon in the single executable; undefined elsewhere. */
  readonly sqliteAddon: () => string | undefined;

  /** Whole milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * The time by which receivers in this process judge the time in a webhook: the time of `Date`, which a test suite may
   * have replaced. Default: `now`.
   */
  readonly receiverTime?: () => number;
  /** Milliseconds since an arbitrary point; never goes back. */
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  /** Runs a function once, after a delay. */
  readonly after: (milliseconds: number, run: () => void) => void;
  /** Runs a function when all input that has already arrived has been read. */
  readonly soon: (run: () => void) => void;

  /**
   * A UUID v7 in lower case (decision 2). With a seed, each stream has its own ids, so that a draw from one stream does
   * not change the ids of another (decision 98).
   */
  readonly uuid: (stream?: string) => string;
  /** A UUID that is different in every run, even with a seed (decision 96). */
  readonly freshId: () => string;
  /** Random bytes. The bytes of an API key may begin with the mark of its store (decision 124). */
  readonly randomBytes: (length: number, use?: "api key") => Uint8Array;
  /** A random number from 0 up to, but not including, 1; with a seed, each stream has its own numbers. */
  readonly random: (stream?: string) => number;

  readonly send: (request: OutboundRequest) => Promise<OutboundResult>;
  /** The current addresses of a name; empty if it has none. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /**
   * Serves on the loopback addresses, and on further addresses of this machine. Port 0 selects any free port. The service
   * is created when port and loopback host are known; the host is `[::1]` if the machine does not have 127.0.0.1.
   */
  readonly listen: (
    makeService: (port: number, host: "127.0.0.1" | "[::1]") => Service,
    options: ServerOptions,
  ) => Promise<Outcome<Listener, ListenFailure>>;
  /** Opens an address in the user's browser, or returns the reason for a failure. Does not wait for the browser to end. */
  readonly openBrowser: (
    url: string,
  ) => Promise<{ readonly ok: true } | { readonly ok: false; readonly message: string }>;
  /** Writes a file into a new temporary folder of the system, accessible only to the owner. `remove` removes both. */
  readonly temporaryFile: (name: string, content: string) => TemporaryFile;
  /** A new path in the system's temporary folder that nobody can guess. */
  readonly temporaryPath: () => TemporaryFile;
  /**
   * Runs a command line in the platform's shell until it ends, with an empty stdin. Then kills the processes that are
   * left in its process group (on Windows only after a timeout or an abort).
   */
  readonly run: (command: ShellCommand) => Promise<ShellResult>;
  /**
   * Starts this program again with the same command line, folder and environment, as a process that does not end with
   * the terminal. It shares none of our streams; its stderr is appended to a log file, which is rotated at 10 MiB, with
   * one older file.
   */
  readonly startDetached: (options: { readonly logFile: string }) => DetachedProcess;
  /** The starter of this process; undefined if this process was not started detached. */
  readonly starter: Starter | undefined;
  /** Sends SIGTERM to a process. `no_signals`: nothing was done, because processes of this system cannot handle signals. */
  readonly terminate: (pid: number) => "sent" | "gone" | "not_permitted" | "no_signals";
  /**
   * Runs a program until it ends, with our stdin, stdout and stderr. It receives each signal of `onStop` once: a signal
   * that the terminal has sent to both processes is not passed on.
   */
  readonly runProgram: (call: ProgramCall) => Promise<ProgramResult>;
  /** Names the process that listens on a port, if the system shows it. */
  readonly portOwner: (port: number) => string | undefined;

  /**
   * Locks a file until the lock is released or this process ends. Default: nothing can be locked, and a process is only
   * known by its id.
   */
  readonly lockFile?: (path: string) => Promise<FileLock>;
  /** Whether a process has locked a file, even a process that cannot be seen from here. */
  readonly isFileLocked?: (path: string) => Promise<boolean>;
  /**
   * Calls a function once, within seconds after a file was deleted or replaced, unless the returned function was
   * called. Default: files are not watched.
   */
  readonly onFileLost?: (path: string, onLost: () => void) => () => void;
  readonly hostName?: () => string;
  /** The start time of a process, as an opaque text; undefined if there is no such process. */
  readonly processStartTime: (pid: number) => string | undefined;
  /** Calls `stop` for each signal that asks us to end, until the returned function is called. */
  readonly onStop: (stop: (signal: StopSignal) => void) => () => void;
};

/** The world of a sandbox, in a command or in a user's program: without terminal, child processes and signals. */
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
