import type { SandboxDescription } from "../core/control/sandbox.ts";
import type { Run } from "../core/state-files.ts";
import type { LogStream } from "../sandbox/runtime/access-log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { GuestWorld } from "../world.ts";
import type { GivenSecrets } from "./given-secrets.ts";
import type { Ready } from "./ready.ts";

/** A sandbox that answers requests. */
export type Served = {
  readonly ready: Ready;
  readonly description: SandboxDescription;
  /** Why no events are delivered (decision 71); undefined if they are. */
  readonly heldBack: string | undefined;
  /** The secrets that came from outside (decision 78). */
  readonly given: GivenSecrets;
  readonly sandbox: Pick<Sandbox, "context">;
  /** Resolves when the control API asks the sandbox to stop. */
  readonly stopRequested: Promise<void>;
};

/** Where a sandbox keeps its state, and where its log goes. */
export type Place = {
  /** The state folder; undefined: in memory only. */
  readonly folder: string | undefined;
  readonly log: LogStream;
  /** The file that the log goes to; undefined: to a terminal, or wherever stderr leads. */
  readonly logFile?: string;
  /** How an id stands in a line of the log. Default: whole, so that a file can be searched for it. */
  readonly shownId?: (id: string) => string;
};

/** Says what happens, and what is wrong, to who watches. */
export type Teller = { readonly talk: (text: string) => void; readonly trace: (text: string) => void };

/** Who serves a sandbox: a command, or a program of the user's. */
export type Host = {
  readonly world: GuestWorld;
  readonly printer: Teller;
  readonly version: string;
  /** Whether it is a program of the user's. Default: a command. */
  readonly isGuest?: boolean;
};

/** What a sandbox is served for. */
export type Purpose<Value> = {
  /** Says that it is ready. Before this has returned, `/healthz` does not say so either. */
  readonly announce?: (served: Served) => Promise<void>;
  /** Runs behind that; the sandbox is stopped when this has returned. */
  readonly use: (served: Served) => Promise<Value>;
};

/** The folder that this process holds, or undefined where nothing is kept. */
export type Held = { readonly path: string; readonly run: Run } | undefined;
