import type { AnswerOf, OperationName, RequestOf, SUBJECTS } from "../../core/control/operations.ts";
import type { SandboxDescription } from "../../core/control/sandbox.ts";
import type { Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import type { ConfigContext } from "../config/apply.ts";
import type { DrillsContext } from "../readiness/drills.ts";
import type { WebhookWatch } from "../readiness/webhook-watch.ts";
import type { LeaseContext } from "../readiness/drill-lease.ts";
import type { Arrivals } from "../runtime/arrivals.ts";
import type { ErasureContext } from "../runtime/erase.ts";
import type { ClockContext } from "../runtime/clock.ts";
import type { NamedSnapshotsContext } from "../snapshot/named.ts";
import type { PortalAccess } from "../runtime/portal-access.ts";
import type { RequestLog } from "../runtime/request-log.ts";
import type { EndpointsContext } from "../webhook/endpoints.ts";

/** What the control API acts with: what the verbs need, and the timers that have to hear of a moved clock. */
export type ControlActs = ClockContext &
  EndpointsContext &
  DrillsContext &
  LeaseContext &
  ConfigContext &
  ErasureContext &
  NamedSnapshotsContext & {
    readonly eventArrivals: Arrivals;
    readonly webhookWatch: WebhookWatch;
    /** Where the listener of each store forwards to, as it has said in this run. */
    readonly listenerTargets: Map<string, string>;
    readonly requests: Omit<RequestLog, "note" | "close">;
    readonly world: Pick<World, "sleep" | "monotonic" | "soon">;
    /** Does what is due in these stores: their clocks were moved. */
    readonly wakeStores: (storeIds: readonly string[]) => Promise<void>;
    /** Why nothing is delivered from the whole folder (decision 71); undefined if all may be. */
    readonly folderHold: string | undefined;
    /** What this sandbox says of itself. */
    readonly description: SandboxDescription;
    /** Who may use the portal. */
    readonly portal: PortalAccess;
    /** Stops this sandbox, as a signal does. */
    readonly requestStop: () => void;
  };

/** A call of an operation, read and checked. */
export type OperationCall<Name extends OperationName> = {
  /** The store in the path, which exists; empty for an operation of the sandbox itself. */
  readonly storeId: string;
  /** The id in the path; empty where it has none. */
  readonly id: string;
  readonly requestId: string;
  readonly body: RequestOf<Name>;
};

/** What each operation of the control API does: domain values in, domain values out. */
export type Handlers = {
  readonly [Name in OperationName]: (
    context: ControlActs,
    call: OperationCall<Name>,
  ) => Promise<Outcome<AnswerOf<Name>>>;
};

/** The handlers of a subject. */
export type HandlersOf<Subject extends keyof typeof SUBJECTS> = Pick<
  Handlers,
  OperationName & keyof (typeof SUBJECTS)[Subject]["operations"]
>;
