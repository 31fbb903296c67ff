import type { Hold } from "../../core/webhook/hold.ts";
import type { RateLimit } from "../../core/request/rate-limit.ts";

/** The settings of a hosted service: the binding `SETTINGS`, in JSON. */
export type HostedSettings = {
  /** The port of the service on this machine; on a platform the port of its public URL. */
  readonly port: number;
  /** The origin at which merchants and payers reach the service. */
  readonly origin: string;
  readonly rateLimit: RateLimit | "off";
  /** Hosts to which events may be sent in addition to public addresses. */
  readonly allowTargets: readonly string[];
  /** The folder of the state; null on a platform. */
  readonly dataDir: string | null;
  /** The real path of the folder to which the state belongs (decision 71); null on a platform. */
  readonly home: string | null;
  /** Why nothing is delivered from the state; null if events are delivered. */
  readonly folderHold: Hold | null;
  /** The path of the runtime's log; null on a platform, which keeps its own log. */
  readonly logFile: string | null;
  /** The id of the process that runs the service; 0 on a platform. */
  readonly pid: number;
  readonly startedAt: number;
  readonly version: string;
};

/** The id and the API key of a first store. Both are in `credentials.json` before the store is created. */
export type FirstStore = { readonly id: string; readonly apiKey: string };
