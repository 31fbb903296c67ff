import type { Hold } from "../../core/webhook/hold.ts";
import type { RateLimit } from "../../core/request/rate-limit.ts";

export type HostedSettings = {
  readonly port: number;
  readonly origin: string;
  readonly rateLimit: RateLimit | "off";
  readonly allowTargets: readonly string[];
  readonly dataDir: string | null;
  /** The real path of the folder to which the state belongs (decision 71); null on a hosting platform. */
  readonly home: string | null;
  readonly folderHold: Hold | null;
  /** The runtime's log file; null on a hosting platform, which keeps its own log. */
  readonly logFile: string | null;
  readonly pid: number;
  readonly startedAt: number;
  readonly version: string;
};

/** Written to `credentials.json` before the store is created. */
export type FirstStore = { readonly id: string; readonly apiKey: string };
