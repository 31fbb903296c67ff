import type { RunRecord } from "../core/state-files.ts";
import type { LogStream } from "../sandbox/runtime/access-log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { GuestWorld } from "../world.ts";
import type { HostFailure } from "./failure.ts";
import type { GivenSecrets } from "./given-secrets.ts";
import type { ReadyMessage } from "./ready.ts";
import type { SandboxDescription } from "../core/sandbox/description.ts";

export type ServedSandbox = {
  readonly ready: ReadyMessage;
  readonly description: SandboxDescription;
  /** The secrets that variables or files gave to the sandbox (decision 78). */
  readonly secrets: GivenSecrets;
  readonly adminToken: string;
  readonly sandbox: Pick<Sandbox, "context">;
  /** Resolves when the control API asks the sandbox to stop. */
  readonly stopRequest: Promise<void>;
  /** Resolves when the database was deleted or replaced; the sandbox can then serve nothing. */
  readonly stateLoss: Promise<HostFailure>;
};

export type StateLocation = {
  /** The state folder; undefined for a sandbox in memory. */
  readonly folder: string | undefined;
  readonly log: LogStream;
  /** The path of the log file; undefined if the log is not a file, such as a terminal. */
  readonly logFile?: string;
  /** Formats an id in a log line. Default: the whole id, so that it can be found in a log file. */
  readonly formatId?: (id: string) => string;
};

export type MessageOutput = { readonly info: (text: string) => void; readonly trace: (text: string) => void };

/** The host of a sandbox: a command, or a user's program. */
export type Host = {
  readonly world: GuestWorld;
  readonly printer: MessageOutput;
  readonly version: string;
  /** Whether the host is a user's program. Default: a command. */
  readonly isGuest?: boolean;
};

/** The functions that run while a sandbox is served. */
export type ServeCallbacks<Value> = {
  /** Announces readiness; `/healthz` reports it only after this has returned. */
  readonly announce?: (sandbox: ServedSandbox) => Promise<void>;
  /** Runs after the announcement; the sandbox stops when it returns. */
  readonly use: (sandbox: ServedSandbox) => Promise<Value>;
};

/** The folder that this process holds; undefined for a sandbox in memory. */
export type HeldFolder = { readonly path: string; readonly run: RunRecord } | undefined;

/** The state of a sandbox, its tokens, and the secrets that variables or files gave to it (decision 78). */
export type SandboxSource = {
  readonly heldFolder: HeldFolder;
  readonly location: StateLocation;
  readonly tokens: { readonly controlToken: string; readonly adminToken: string };
  readonly secrets: GivenSecrets;
};
