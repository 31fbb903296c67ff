import type { Hold } from "../../core/webhook/hold.ts";
import type { AnswerOf, OperationName, RequestOf, SUBJECTS } from "../../core/control/operations.ts";
import type { Language } from "../../core/language.ts";
import type { Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import type { Caller } from "../access/caller.ts";
import type { Tokens } from "../access/tokens.ts";
import type { ConfigContext } from "../config/apply.ts";
import type { DrillsContext } from "../readiness/drills.ts";
import type { LeaseContext } from "../readiness/open-lease.ts";
import type { WriteSignals } from "../runtime/write-signals.ts";
import type { ErasureContext } from "../runtime/erase.ts";
import type { ClockContext } from "../runtime/clock.ts";
import type { NamedSnapshotsContext } from "../snapshot/named.ts";
import type { PortalAccess } from "../runtime/portal-access.ts";
import type { RequestLog } from "../runtime/request-log.ts";
import type { EndpointsContext } from "../webhook/endpoints.ts";
import type { ProcessDescription } from "../../core/sandbox/description.ts";

export type OperationContext = ClockContext &
  EndpointsContext &
  DrillsContext &
  LeaseContext &
  ConfigContext &
  ErasureContext &
  NamedSnapshotsContext & {
    readonly writeSignals: WriteSignals;
    readonly listenerTargets: Map<string, string>;
    readonly requests: Omit<RequestLog, "note" | "close">;
    readonly world: Pick<World, "sleep" | "monotonic" | "soon" | "after">;
    /** Set while no store of the folder may deliver events (decision 71). */
    readonly folderHold: Hold | undefined;
    readonly description: ProcessDescription;
    readonly saveStory: (page: SavedStory) => Promise<Outcome<string>>;
    /** Redacted by value, because these secrets can have any format. */
    readonly secrets: readonly string[];
    readonly portal: PortalAccess;
    readonly tokens: Tokens;
    readonly requestStop: () => void;
    /** Replace the usual operations in a hosted service, whose stores are in other objects. Default: none. */
    readonly operations?: Partial<Handlers>;
  };

export type SavedStory = { readonly storeId: string; readonly id: string; readonly language: Language };

export type OperationCall<Name extends OperationName> = {
  readonly storeId: string;
  readonly id: string;
  readonly requestId: string;
  /** A limited caller has access to one store only, so an operation on all stores must check `caller`. */
  readonly caller: Caller;
  readonly leaseId?: string | undefined;
  readonly body: RequestOf<Name>;
};

export type Handlers = {
  readonly [Name in OperationName]: (
    context: OperationContext,
    call: OperationCall<Name>,
  ) => Promise<Outcome<AnswerOf<Name>>>;
};

export type HandlersOf<Subject extends keyof typeof SUBJECTS> = Pick<
  Handlers,
  OperationName & keyof (typeof SUBJECTS)[Subject]["operations"]
>;
