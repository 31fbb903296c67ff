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
  readonly secrets: GivenSecrets;
  readonly adminToken: string;
  readonly sandbox: Pick<Sandbox, "context">;
  readonly stopRequest: Promise<void>;
  /** Resolves when the database was deleted or replaced, after which the sandbox cannot serve. */
  readonly stateLoss: Promise<HostFailure>;
};

export type StateLocation = {
  readonly folder: string | undefined;
  readonly log: LogStream;
  /** Undefined if the log goes elsewhere, such as to a terminal. */
  readonly logFile?: string;
  /** Shortens ids in log lines. Default: whole ids, so that they can be searched for. */
  readonly formatId?: (id: string) => string;
};

export type MessageOutput = { readonly info: (text: string) => void; readonly trace: (text: string) => void };

export type HostContext = {
  readonly world: GuestWorld;
  readonly printer: MessageOutput;
  readonly version: string;
  readonly isGuest?: boolean;
};

export type ServeCallbacks<Value> = {
  /** `/healthz` reports readiness only after this function has returned. */
  readonly announce?: (sandbox: ServedSandbox) => Promise<void>;
  readonly use: (sandbox: ServedSandbox) => Promise<Value>;
};

export type HeldFolder = { readonly path: string; readonly run: RunRecord } | undefined;

export type SandboxSource = {
  readonly heldFolder: HeldFolder;
  readonly location: StateLocation;
  readonly tokens: { readonly controlToken: string; readonly adminToken: string };
  readonly secrets: GivenSecrets;
};
