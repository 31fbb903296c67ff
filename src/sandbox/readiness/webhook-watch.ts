import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { CaseResult } from "../../core/readiness/drills/webhook.ts";

/** The progress of an endpoint's webhook drill. */
export type WebhookProgress = {
  readonly endpoint: Pick<Endpoint, "id" | "storeId" | "url">;
  /** The number of requests to send if the receiver can be reached. */
  readonly total: number;
  readonly results: readonly CaseResult[];
};

/** The progress of running webhook drills, in memory only. */
export type WebhookWatch = {
  /** Sets the progress of a drill. */
  readonly note: (progress: WebhookProgress) => void;
  /** Removes the progress of a drill that ended for any reason. */
  readonly forget: (endpoint: WebhookProgress["endpoint"]) => void;
  /** The progress of the drills that are running in a store. */
  readonly of: (storeId: string) => readonly WebhookProgress[];
};

/** Creates a watch without a drill. `changed` is called when the progress in a store changes. */
export function createWebhookWatch(changed: (storeId: string) => void): WebhookWatch {
  const running = new Map<string, WebhookProgress>();
  return {
    note: (progress) => {
      running.set(progress.endpoint.id, progress);
      changed(progress.endpoint.storeId);
    },
    forget: ({ id, storeId }) => {
      running.delete(id);
      changed(storeId);
    },
    of: (storeId) => [...running.values()].filter(({ endpoint }) => endpoint.storeId === storeId),
  };
}
