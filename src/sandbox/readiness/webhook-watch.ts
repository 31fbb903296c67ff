import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { CaseResult } from "../../core/readiness/drills/webhook.ts";

/** How far the webhook drill of an endpoint is. */
export type WebhookProgress = {
  readonly endpoint: Pick<Endpoint, "id" | "storeId" | "url">;
  /** How many requests it sends if its receiver can be reached. */
  readonly total: number;
  readonly results: readonly CaseResult[];
};

/** Tells how far webhook drills are while they run: in memory alone. */
export type WebhookWatch = {
  /** Says how far a drill is, in place of what was said before. */
  readonly note: (progress: WebhookProgress) => void;
  /** A drill has ended, for whatever reason. */
  readonly forget: (endpoint: WebhookProgress["endpoint"]) => void;
  /** The drills that run in a store. */
  readonly of: (storeId: string) => readonly WebhookProgress[];
};

/** Makes a watch without a drill. `changed` is called when there is something else to tell of a store. */
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
