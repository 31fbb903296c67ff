import type { Readable, Writable } from "node:stream";

/** An HTTP request as it came: header lines in their order, names and values alternating, duplicates kept. */
export type HttpRequest = {
  readonly method: string;
  /** The request target as it stands in the request line. */
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array;
};

/**
 * The body of an answer: whole, or a stream that is sent as it comes. A stream is asked for its next bytes only when the
 * reader has taken the last ones; its `return` is called when the reader goes away or the server's time to stop is over.
 * One that fails cuts the connection, so that nobody takes a part for the whole.
 */
export type HttpBody = string | Uint8Array | AsyncIterable<Uint8Array>;

/** An HTTP answer. `Content-Length` is added where it is sent; a stream has none. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  /** The connection ends in its place: nobody gets this answer. */
  readonly dropped?: true;
};

/** A service as functions. They never throw. */
export type Service = {
  readonly answer: (request: HttpRequest) => Promise<HttpResponse>;
  /** Answers what could not be read as a request, and why. */
  readonly refuse: (refusal: Unreadable) => HttpResponse;
};

/** Why bytes on a connection were no request: a code of the closed list, and a sentence. */
export type Unreadable = {
  readonly code: "invalid_request" | "request_timeout" | "body_too_large" | "headers_too_large";
  readonly message: string;
  /** Method and target, as far as they were read. */
  readonly method: string;
  readonly target: string;
};

/** A request that the program sends. */
export type OutboundRequest = {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Milliseconds from the first byte sent to the last byte received. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** What a larger answer is: no answer at all (as where nothing is said), or cut there. */
  readonly larger?: "refused" | "cut";
  /** The only addresses to connect to, the next where one takes no connection. Without it the host's name is looked up. */
  readonly addresses?: readonly string[] | undefined;
  /** Whom to believe behind https; what the system believes where nothing is said. */
  readonly tls?: TlsTrust | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** `ca`: the only certificates that are believed, in PEM. `unchecked`: whoever answers is believed. */
export type TlsTrust = { readonly ca: string } | { readonly unchecked: true };

/** A whole answer, or what came in between. */
export type OutboundResult =
  | {
      readonly ok: true;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      /** The address that it came from. */
      readonly address?: string | undefined;
    }
  | {
      readonly ok: false;
      /** `unreachable`: no connection was made, so nothing was sent. All others leave open what the receiver did. */
      readonly failure: "unreachable" | "timeout" | "connection_lost" | "aborted" | "bad_answer";
      readonly message: string;
      /** The address that was connected to. */
      readonly address?: string | undefined;
    };

/** A server that listens, until it is closed. */
export type Listener = {
  readonly port: number;
  /** Stops taking connections, lets requests and streams in flight finish for at most `graceMs`, then ends the rest. */
  readonly close: (graceMs: number) => Promise<void>;
};

/** Limits that a server can have of its own: bytes of a body, connections, and milliseconds without a sign of life on one. */
export type ServerLimits = {
  readonly bodyBytes: number;
  readonly connections: number;
  readonly silenceMs: number;
};

/** Why a port could not be taken. */
export type ListenFailure = {
  readonly reason: "in_use" | "not_permitted" | "other";
  readonly message: string;
};

/** The part of the file system that the program uses. Files that it writes are 0600, folders 0700. */
export type Files = {
  readonly read: (path: string) => string | undefined;
  readonly readBytes: (path: string) => Uint8Array | undefined;
  /** Replaces a file whole: a reader sees the old content or the new, and a crash leaves one of them. */
  readonly write: (path: string, content: string | Uint8Array) => void;
  /** Makes a file; false if it is already there. */
  readonly createNew: (path: string, content: string | Uint8Array) => boolean;
  readonly remove: (path: string) => void;
  /** Makes a folder, and those above it, for its owner alone. */
  readonly makeFolder: (path: string) => void;
  /** What stands at a path, links not followed. `shared_folder`: another user owns it or can write to it. */
  readonly kindOf: (path: string) => "nothing" | "no_folder" | "private_folder" | "shared_folder";
  readonly list: (path: string) => readonly string[];
  /** Takes the rights to a file from everyone but its owner, if the file is there. */
  readonly makePrivate: (path: string) => void;
  readonly exists: (path: string) => boolean;
};

/** A command line of the user's own, as it would be typed. */
export type ShellCommand = {
  readonly commandLine: string;
  /** Added to the environment of this program; what is undefined is taken out of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For all of it, in milliseconds. */
  readonly timeoutMs: number;
  /** So much of each of its two outputs is kept: the end of it. */
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal | undefined;
};

/** What became of a command line. */
export type ShellResult = {
  /** `timeout`, `aborted`: it was killed. `not_run`: there is no shell to run it; `stderr` says why. */
  readonly ending: "exited" | "timeout" | "aborted" | "not_run";
  /** null where a signal ended it, or it was not run. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** Everything outside the program (decision 53). Tests pass one with a fake clock, seeded randomness and no socket. */
export type World = {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly pid: number;
  readonly interactive: boolean;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly files: Files;
  /** Path of the native SQLite addon where the program carries it itself (the single executable). */
  readonly sqliteAddon: () => string | undefined;

  /** Whole milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds from any fixed point; never goes back. */
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  /** Runs a function once, later. */
  readonly after: (milliseconds: number, run: () => void) => void;
  /** Runs a function once the input that already arrived was read. */
  readonly soon: (run: () => void) => void;

  /** A UUID v7, lower case (decision 2). */
  readonly uuid: () => string;
  readonly randomBytes: (length: number) => Uint8Array;
  /** From 0 up to 1. */
  readonly random: () => number;

  readonly send: (request: OutboundRequest) => Promise<OutboundResult>;
  /** The addresses that a name has right now; none where it has none. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Serves on the loopback addresses; the service is made once the port is known. */
  readonly listen: (
    makeService: (port: number) => Service,
    options: { readonly port: number; readonly limits?: ServerLimits },
  ) => Promise<
    { readonly ok: true; readonly value: Listener } | { readonly ok: false; readonly refusal: ListenFailure }
  >;
  /** Opens an address in the person's browser, or says why it could not; the browser itself is not waited for. */
  readonly openBrowser: (
    url: string,
  ) => Promise<{ readonly ok: true } | { readonly ok: false; readonly message: string }>;
  /**
   * Runs a command line through the platform's shell until it ends, with nothing to read. What it started and left behind
   * is killed with its end, or when the time is up.
   */
  readonly run: (command: ShellCommand) => Promise<ShellResult>;
  /** Names the process that listens on a port, as well as the system lets it be known. */
  readonly portOwner: (port: number) => string | undefined;

  /** When a process started, as text to compare; undefined where there is no such process. */
  readonly processStart: (pid: number) => string | undefined;
  /** Calls back on SIGINT and SIGTERM until the returned function is called. */
  readonly onStop: (stop: (signal: "SIGINT" | "SIGTERM") => void) => () => void;
};
