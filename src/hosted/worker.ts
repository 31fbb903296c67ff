// The Worker of a hosted service (decision 124). Routing: hosted/routing.ts; the checks before any object:
// hosted/gate.ts; objects: hosted/store-object.ts, hosted/index-object.ts; bundling: bin/build/worker.ts.
import { WorkerEntrypoint, type Stub } from "cloudflare:workers";
import { INDEX_NAME, objectFileName, objectName, OBJECT_CLASSES, type Mark } from "./shared/marks.ts";
import { StorageUnavailable } from "../store/connection/storage-failure.ts";
import { failedResponse, toWorkerResponse, refuseUnreadable } from "./answer.ts";
import type { HostedEnv, ObjectCalls } from "./env.ts";
import { createGate } from "./gate.ts";
import { createStorelessSandbox } from "./nowhere.ts";
import { placeOf } from "./routing.ts";
import { toObjectFailure } from "./connection.ts";

export { IndexObject } from "./index-object.ts";
export { StoreObject } from "./store-object.ts";

/** The gate of this instance. Its settings never change while it runs. */
let gate: ReturnType<typeof createGate> | undefined;

/** The stores whose objects are known to exist. An object keeps its file when its store is deleted. */
const existingMarks = new Set<Mark>();

/** A failed write counts until a write to the same object succeeds, a failed read until the object answers. */
let failed:
  | { readonly place: string; readonly failure: StorageUnavailable; readonly isRead: boolean }
  | undefined;

/** Forwards each request to its object. It keeps only what its objects have said, so any number of instances can run. */
export class HostedService extends WorkerEntrypoint<HostedEnv> {
  async fetch(request: Request): Promise<Response> {
    const { env } = this;
    if (!URL.canParse(request.url)) return refuseUnreadable(createStorelessSandbox(env), request);
    gate ??= createGate(env);
    const url = new URL(request.url);
    if (gate(request, url)) {
      const answer = await this.answerFromObject(request, url);
      if (answer !== undefined) return answer;
    }
    const answer = await toWorkerResponse(createStorelessSandbox(env), request);
    const isHealthy = failed === undefined || url.pathname !== "/healthz" || !answer.ok;
    return isHealthy ? answer : failedResponse(createStorelessSandbox(env), request, failed?.failure);
  }

  /** The answer of the request's object, or a refusal if the object fails; undefined if there is no such object. */
  private async answerFromObject(request: Request, url: URL): Promise<Response | undefined> {
    const { env } = this;
    const { method, headers } = request;
    let place = INDEX_NAME;
    try {
      const found = await findObject(env, url, request);
      if (found === undefined) return undefined;
      ({ place } = found);
      const answer = await found.object.fetch(request);
      if (failed?.place === place && (failed.isRead || (await found.object.hasWritten()))) failed = undefined;
      return answer;
    } catch (error) {
      const failure = toObjectFailure(error);
      const isWriteFailed = failed?.place === place && !failed.isRead;
      if (failure instanceof StorageUnavailable)
        failed = { place, failure, isRead: method === "GET" && !isWriteFailed };
      // Without its body, which the object may have read.
      return failedResponse(createStorelessSandbox(env), new Request(url, { method, headers }), failure);
    }
  }
}

/** The object that answers a request, and its place among all objects. */
type FoundObject = {
  readonly place: string;
  readonly object: Stub<ObjectCalls>;
};

/** Finds the object of a request; undefined if the request names no object that exists. */
async function findObject(
  env: HostedEnv,
  { pathname }: URL,
  { headers }: Request,
): Promise<FoundObject | undefined> {
  const { STORES, INDEX } = env;
  const place = placeOf(pathname, headers.get("authorization"));
  const storeAt = (mark: Mark): FoundObject => {
    const name = objectName(mark);
    return { place: name, object: STORES.getByName(name) };
  };
  switch (place.kind) {
    case "store":
      return (await isThere(env, place.mark)) ? storeAt(place.mark) : undefined;
    case "first store": {
      const mark = await INDEX.getByName(INDEX_NAME).first();
      return mark === undefined ? undefined : storeAt(mark);
    }
    case "index":
      return { place: INDEX_NAME, object: INDEX.getByName(INDEX_NAME) };
    case "nowhere":
      return undefined;
  }
}

/** The open-source runtime would create a database at the first request, also for an invented id. */
async function isThere({ OBJECT_FILES }: HostedEnv, mark: Mark): Promise<boolean> {
  if (OBJECT_FILES === undefined || existingMarks.has(mark)) return true;
  const path = `${OBJECT_CLASSES.stores}/${objectFileName("stores", objectName(mark))}`;
  const { ok } = await OBJECT_FILES.fetch(`http://objects/${path}`, { method: "HEAD" });
  if (ok) existingMarks.add(mark);
  return ok;
}
