import type { Readable, Writable } from "node:stream";

/** An HTTP request as received: raw headers in their order, names and values alternating, with duplicates. */
export type HttpRequest = {
  readonly method: string;
  /** The request target of the request line. */
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array;
  /** It came to an address that other machines reach, whatever its Host says. */
  readonly fromOutside?: boolean;
};

/**
 * The body of an answer: whole, or a stream. A stream is asked for its next bytes only after the client has read the
 * last ones; its `return` is called when the client disconnects or the server stops. If it fails, the connection is
 * closed, so that the client sees that the body is incomplete.
 */
export type HttpBody = string | Uint8Array | AsyncIterable<Uint8Array>;

/** An HTTP answer. The server adds `Content-Length`, except for a stream. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  /** The connection is closed and the answer is not sent. */
  readonly dropped?: true;
  /** Of one that is dropped: the connection is reset, not closed in order. */
  readonly reset?: true;
};

/** A service as functions. They never throw. */
export type Service = {
  readonly answer: (request: HttpRequest) => Promise<HttpResponse>;
  /** Answers bytes that could not be read as a request. */
  readonly refuse: (refusal: Unreadable) => HttpResponse | Promise<HttpResponse>;
};

/** Why bytes on a connection are not a request: a code of the closed list, and a sentence. */
export type Unreadable = {
  readonly code: "invalid_request" | "request_timeout" | "body_too_large" | "headers_too_large";
  readonly message: string;
  /** Method, target and headers, as far as they were read. */
  readonly method: string;
  readonly target: string;
  readonly rawHeaders?: readonly string[];
};

/** A request that the program sends. */
export type OutboundRequest = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The values of headers that are sent as several lines, each in the place of the one header. */
  readonly lines?: Readonly<Record<string, readonly string[]>> | undefined;
  /** It goes with its length, except with `Transfer-Encoding: chunked` among the headers. */
  readonly body?: string | Uint8Array;
  /** Milliseconds from the first byte sent to the last byte received. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** What happens to a larger answer: the request fails (default), or the answer is cut. */
  readonly larger?: "refused" | "cut";
  /** The only addresses to connect to, tried in order. Default: the host's name is looked up. */
  readonly addresses?: readonly string[] | undefined;
  /**
   * The proxy to send through, with its user name and password. Default: none, whatever the environment says, so that
   * nothing but what was asked for is ever sent through one (decision 80).
   */
  readonly proxy?: string | undefined;
  /**
   * `kept`: over a connection to the same addresses that was kept, if there is one; `fresh`: over a new one. Either is kept
   * afterwards, for a moment, where the server lets it. Default: a new one, which ends with the answer.
   */
  readonly connection?: "kept" | "fresh" | undefined;
  /** Certificates to trust for https. Default: those that the system trusts. */
  readonly tls?: TlsTrust | undefined;
  /** Called with each part of the answer's body as it comes, for an answer that stays open. */
  readonly onPart?: ((part: Uint8Array) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** `ca`: the only CA certificates to trust, in PEM. `unchecked`: certificates are not verified. */
export type TlsTrust = { readonly ca: string } | { readonly unchecked: true };

/** A whole answer, or the reason why there is none. */
export type OutboundResult =
  | {
      readonly ok: true;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      /** The address that answered. */
      readonly address?: string | undefined;
      /** The proxy that passed the answer on, or made it, without user name and password: only where it could. */
      readonly proxy?: string | undefined;
    }
  | {
      readonly ok: false;
      /**
       * `unreachable`: no connection was made, so nothing was sent. After any other failure it is unknown what the
       * receiver did.
       */
      readonly failure: "unreachable" | "timeout" | "connection_lost" | "aborted" | "bad_answer";
      readonly message: string;
      /** The address that was connected to. */
      readonly address?: string | undefined;
      /** It was sent over a connection that had been kept, which the server may have closed before it was sent. */
      readonly onKept?: boolean | undefined;
    };

/** A server that listens until it is closed. */
export type Listener = {
  readonly port: number;
  /** Accepts no more connections, waits at most `graceMs` for requests and streams in flight, then closes the rest. */
  readonly close: (graceMs: number) => Promise<void>;
};

/** Limits of one server: bytes of a body, number of connections, and idle milliseconds of a connection. */
export type ServerLimits = {
  readonly bodyBytes: number;
  readonly connections: number;
  readonly silenceMs: number;
  /** A path, whole and without a query, whose bodies may be larger than the others. */
  readonly larger?: { readonly path: string; readonly bodyBytes: number };
  /** Paths, with all that is below them, whose requests may have larger heads: the request line and the headers. */
  readonly largerHeads?: { readonly below: readonly string[]; readonly headBytes: number };
};

/** Why a port cannot be used. */
export type ListenFailure = {
  readonly reason: "in_use" | "not_permitted" | "no_such_address" | "other";
  readonly message: string;
  /** The address that it cannot be used at. */
  readonly address?: string;
};

/** Where a server listens. */
export type ListenOptions = {
  readonly port: number;
  /** Addresses beside loopback. Default: none. */
  readonly addresses?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
};

/** What is known of a path. Windows has neither owners nor modes: there everything is ours, and open to nobody. */
export type PathFacts = {
  readonly kind: "folder" | "file" | "link" | "other";
  /** Whether this process's user owns it. */
  readonly isOwn: boolean;
  /** The most that other users, the group among them, can do with it. */
  readonly openTo: "nobody" | "readers" | "writers";
  /** When its content was changed last, in milliseconds since the epoch. */
  readonly changedAt: number;
  /** Device and inode: the same for a folder that was moved or is mounted twice, another one for its copy. */
  readonly id: string;
};

/** What is known of the disk that a path is on. */
export type DiskFacts = {
  readonly freeBytes: number;
  /** Whether this process may write there, as far as the system tells without trying. */
  readonly isWritable: boolean;
  /** The name of its file system; undefined for one that is not known by name. */
  readonly fileSystem: string | undefined;
};

/** What the program runs on. */
export type Machine = {
  readonly nodeVersion: string;
  /** Whose Node it is: a file of this system, or the program itself where Node is inside. */
  readonly node: { readonly path: string; readonly isInside: boolean };
  /** The operating system, its release and the processor. */
  readonly system: string;
};

/** Which files are read, and how much of them: a larger one is refused. */
export type ReadOptions = {
  /** Whether a symbolic link leads to the file that is meant: only where a person named the path. Default: no. */
  readonly followsLinks?: boolean;
  /** Default: 16 MiB. */
  readonly maxBytes?: number;
};

/** The part of the file system that the program uses. Files that it writes are 0600, folders 0700. */
export type Files = {
  /** The text of an ordinary file; undefined if there is none. Throws FileRefused for anything else at the path. */
  readonly read: (path: string, options?: ReadOptions) => string | undefined;
  /** Its bytes, under the same rules. */
  readonly readBytes: (path: string, options?: ReadOptions) => Uint8Array | undefined;
  /** The size of an ordinary file in bytes; undefined if there is none. Follows no link. */
  readonly size: (path: string) => number | undefined;
  /** Replaces a file atomically: readers and crashes see the old content or the new. */
  readonly write: (path: string, content: string | Uint8Array) => void;
  /** The same of a file that `fill` writes at a path of its own; it is flushed beside other work. */
  readonly fill: <Value>(path: string, fill: (unfinished: string) => Promise<Value>) => Promise<Value>;
  /** Makes a file; false if it is already there. */
  readonly createNew: (path: string, content: string | Uint8Array) => boolean;
  readonly remove: (path: string) => void;
  /** Gives a file another name in its folder, atomically, in the place of one that has it. */
  readonly rename: (from: string, to: string) => void;
  /** Removes what processes that have ended left half-written in a folder. */
  readonly removeUnfinished: (folder: string) => void;
  /** Makes a folder, and those above it, for its owner alone. */
  readonly makeFolder: (path: string) => void;
  /** What is at a path, without following a link there; undefined if there is nothing. */
  readonly look: (path: string) => PathFacts | undefined;
  /** The path of a folder that is there, without links in it. */
  readonly realPath: (path: string) => string;
  readonly list: (path: string) => readonly string[];
  /** Removes all rights to a folder except the owner's. Throws if there is a link at the path. */
  readonly makePrivate: (folder: string) => void;
  readonly exists: (path: string) => boolean;
  /** The bytes of an ordinary file from a place on, and its size; undefined if there is none. Follows no link. */
  readonly readFrom: (
    path: string,
    offset: number,
  ) => { readonly bytes: Uint8Array; readonly size: number } | undefined;
  /** The disk of a path that is there; writes nothing to find out. */
  readonly disk: (path: string) => DiskFacts;
};

/** A file that is gone when it was used. */
export type TemporaryFile = { readonly path: string; readonly remove: () => void };

/** A user's command line, as typed. */
export type ShellCommand = {
  readonly commandLine: string;
  /** Changes to this program's environment; undefined removes a variable. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Timeout for the whole command, in milliseconds. */
  readonly timeoutMs: number;
  /** Maximum size of each of its two outputs that is kept; the beginning is dropped. */
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal | undefined;
};

/** The result of a command line. */
export type ShellResult = {
  /** `timeout`, `aborted`: it was killed. `not_run`: there is no shell to run it; `stderr` says why. */
  readonly ending: "exited" | "timeout" | "aborted" | "not_run";
  /** Null if a signal ended it, or it was not run. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** This program, run once more as a process of its own. */
export type DetachedProcess = {
  /** What it told its starter first; undefined if it ended without a word. */
  readonly told: Promise<string | undefined>;
  /** How it ended, in words, once it has: `exit code 1`. */
  readonly ended: Promise<string>;
  /** Lets it go on alone. One that was not let go stops when its starter has ended. */
  readonly letGo: () => Promise<void>;
  /** Asks it to stop. */
  readonly abandon: () => void;
};

/** The process that started this one detached, until it has let it go. */
export type Starter = {
  /** The file that stderr of this process is written to. */
  readonly logFile: string;
  /** Tells it something; resolves with whether it has let this process go. */
  readonly tell: (text: string) => Promise<boolean>;
};

/** A signal that asks a program to end. */
export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** A program with its arguments, which no shell reads. */
export type ProgramCall = {
  readonly program: string;
  readonly args: readonly string[];
  /** Changes to this program's environment; undefined removes a variable. */
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** How a program ended, or why it could not be run. */
export type ProgramEnd =
  | { readonly ending: "exited"; readonly exitCode: number }
  | { readonly ending: "killed"; readonly signal: string; readonly signalNumber: number }
  | { readonly ending: "not_found" | "not_executable"; readonly message: string };

/** Everything outside the program (decision 53). Tests pass one with a fake clock, seeded randomness and no socket. */
export type World = {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly pid: number;
  readonly interactive: boolean;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Whether a result could not be printed; a closed pipe is no failure. */
  readonly isResultLost: () => boolean;
  readonly stderr: Writable;
  readonly files: Files;
  readonly machine: () => Machine;
  /** The folder of a person's own settings of this program, which may not be there yet; undefined if there is no home. */
  readonly settingsFolder: () => string | undefined;
  /** Path of the native SQLite addon in the single executable; undefined elsewhere. */
  readonly sqliteAddon: () => string | undefined;

  /** Whole milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds from any fixed point; never goes back. */
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  /** Runs a function once, later. */
  readonly after: (milliseconds: number, run: () => void) => void;
  /** Runs a function after the input that has already arrived was read. */
  readonly soon: (run: () => void) => void;

  /**
   * A UUID v7, lower case (decision 2). Where ids come from a seed, each stream has its own: what draws from one does not
   * change those of another (decision 98).
   */
  readonly uuid: (stream?: string) => string;
  /** A UUID that no seed decides: no two runs have the same (decision 96). */
  readonly freshId: () => string;
  readonly randomBytes: (length: number) => Uint8Array;
  /** From 0 up to 1; from streams as ids are. */
  readonly random: (stream?: string) => number;

  readonly send: (request: OutboundRequest) => Promise<OutboundResult>;
  /** The addresses that a name has now; empty if it has none. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /**
   * Serves on the loopback addresses, and on further ones of this machine. Port 0 takes any free one. The service is
   * made when the port is known.
   */
  readonly listen: (
    makeService: (port: number) => Service,
    options: ListenOptions,
  ) => Promise<
    { readonly ok: true; readonly value: Listener } | { readonly ok: false; readonly refusal: ListenFailure }
  >;
  /** Opens an address in the user's browser, or says why it could not; does not wait for the browser. */
  readonly openBrowser: (
    url: string,
  ) => Promise<{ readonly ok: true } | { readonly ok: false; readonly message: string }>;
  /** Writes a file into a new temporary folder of the system, for its owner alone. `remove` removes both. */
  readonly temporaryFile: (name: string, content: string) => TemporaryFile;
  /**
   * Runs a command line in the platform's shell until it ends, with empty stdin. Processes that it leaves behind are
   * killed when it ends or its time is up.
   */
  readonly run: (command: ShellCommand) => Promise<ShellResult>;
  /**
   * Runs this program once more with the same command line, folder and environment, as a process of its own that the
   * end of a terminal does not end. It keeps no stream of ours; its stderr is added to a log file, which starts anew at
   * 10 MiB, with one older file beside it.
   */
  readonly startDetached: (options: { readonly logFile: string }) => DetachedProcess;
  /** Who started this process detached; undefined if nobody did. */
  readonly starter: Starter | undefined;
  /**
   * Sends SIGTERM to a process. `no_signals`: this system has none that a process could act on; nothing was done.
   */
  readonly terminate: (pid: number) => "sent" | "gone" | "not_permitted" | "no_signals";
  /**
   * Runs a program until it ends. It has our stdin, stdout and stderr, and gets the signals of `onStop` that we get, each
   * once: one that the terminal has given to both of us is not passed on.
   */
  readonly runProgram: (call: ProgramCall) => Promise<ProgramEnd>;
  /** Names the process that listens on a port, as far as the system shows it. */
  readonly portOwner: (port: number) => string | undefined;

  /** When a process started, as text to compare; undefined if there is no such process. */
  readonly processStart: (pid: number) => string | undefined;
  /** Calls back on each signal that asks us to end, until the returned function is called. */
  readonly onStop: (stop: (signal: StopSignal) => void) => () => void;
};

/** What a sandbox is served with, by a command or within a program of the user's: no program is run, no signal heard. */
export type GuestWorld = Omit<
  World,
  | "argv"
  | "interactive"
  | "stdin"
  | "stdout"
  | "isResultLost"
  | "stderr"
  | "settingsFolder"
  | "machine"
  | "onStop"
  | "openBrowser"
  | "temporaryFile"
  | "run"
  | "runProgram"
  | "startDetached"
  | "starter"
  | "terminate"
>;
