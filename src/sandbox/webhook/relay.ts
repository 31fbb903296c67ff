import type { OutboundResult, World } from "../../world.ts";

type RelayedRequest = {
  readonly storeId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Relay = Readonly<ReturnType<typeof createRelay>>;

type HeldRequest = RelayedRequest & { readonly id: string; readonly end: (result: OutboundResult) => void };

/** A listener without a fetch for this long counts as lost; a fetch waits at most 20 s. */
const MAX_FETCH_GAP_MS = 25_000;
const NO_FETCH = { ok: false, failure: "unreachable", message: "the listener fetches nothing" } as const;
const NO_ANSWER = { ok: false, failure: "timeout", message: "the listener did not answer" } as const;
const LISTENER_LOST = { ok: false, failure: "connection_lost", message: "the listener went away" } as const;

/** Requests are only in memory: an attempt that a stop interrupts is repeated after the next start. */
export function createRelay(
  { after, freshId, monotonic }: Pick<World, "after" | "freshId" | "monotonic">,
  notifyChange: (storeId: string) => void,
) {
  const requests = new Map<string, HeldRequest>();
  const lastFetches = new Map<string, { readonly url: string; readonly at: number }>();
  return {
    /**
     * The failure is `timeout` without an answer in time, and `unreachable` if the listener no longer fetches, for
     * example on a sleeping laptop.
     */
    send: async (request: RelayedRequest, timeoutMs: number): Promise<OutboundResult> => {
      const entry = lastFetches.get(request.storeId);
      if (entry?.url !== request.url || monotonic() - entry.at > MAX_FETCH_GAP_MS) return NO_FETCH;
      const id = freshId();
      const { promise, resolve } = Promise.withResolvers<OutboundResult>();
      requests.set(id, { ...request, id, end: resolve });
      after(timeoutMs, () => resolve(NO_ANSWER));
      notifyChange(request.storeId);
      return promise.finally(() => requests.delete(id));
    },
    fetchRequests: ({ storeId, url }: Pick<RelayedRequest, "storeId" | "url">) => {
      lastFetches.set(storeId, { url, at: monotonic() });
      return [...requests.values()].filter((item) => item.storeId === storeId && item.url === url);
    },
    answer: ({ storeId, id }: Pick<HeldRequest, "storeId" | "id">, answer: OutboundResult): boolean => {
      const item = requests.get(id);
      if (item?.storeId !== storeId) return false;
      item.end(answer);
      return true;
    },
    endOthers: (storeId: string, url?: string): void => {
      if (url === undefined) lastFetches.delete(storeId);
      else lastFetches.set(storeId, { url, at: monotonic() });
      for (const item of requests.values())
        if (item.storeId === storeId && item.url !== url) item.end(LISTENER_LOST);
    },
  };
}
