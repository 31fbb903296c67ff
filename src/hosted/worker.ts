import { WorkerEntrypoint, type Stub } from "cloudflare:workers";
import { INDEX_NAME, objectFileName, objectName, OBJECT_CLASSES, type Mark } from "./shared/marks.ts";
import { StorageUnavailable } from "../store/connection/storage-failure.ts";
import { failedResponse, toWorkerResponse, refuseUnreadable } from "./answer.ts";
import type { HostedEnv, ObjectCalls } from "./env.ts";
import { createAdmissionCheck } from "./admission.ts";
import { createStorelessSandbox } from "./nowhere.ts";
import { destinationOf } from "./routing.ts";
import { toObjectFailure } from "./connection.ts";

export { IndexObject } from "./index-object.ts";
export { StoreObject } from "./store-object.ts";

let isAdmitted: ReturnType<typeof createAdmissionCheck> | undefined;

const existingMarks = new Set<Mark>();

let lastFailure:
  | { readonly key: string; readonly failure: StorageUnavailable; readonly isRead: boolean }
  | undefined;

/** Keeps only facts about objects in memory, so any number of instances can run. */
export class HostedService extends WorkerEntrypoint<HostedEnv> {
  async fetch(request: Request): Promise<Response> {
    const { env } = this;
    if (!URL.canParse(request.url)) return refuseUnreadable(createStorelessSandbox(env), request);
    isAdmitted ??= createAdmissionCheck(env);
    const url = new URL(request.url);
    if (isAdmitted(request, url)) {
      const answer = await this.answerFromObject(request, url);
      if (answer !== undefined) return answer;
    }
    const answer = await toWorkerResponse(createStorelessSandbox(env), request);
    const isHealthy = lastFailure === undefined || url.pathname !== "/healthz" || !answer.ok;
    return isHealthy ? answer : failedResponse(createStorelessSandbox(env), request, lastFailure?.failure);
  }

  private async answerFromObject(request: Request, url: URL): Promise<Response | undefined> {
    const { env } = this;
    const { method, headers } = request;
    let key = INDEX_NAME;
    try {
      const foundObject = await findObject(env, url, request);
      if (foundObject === undefined) return undefined;
      ({ key } = foundObject);
      const answer = await foundObject.object.fetch(request);
      if (lastFailure?.key === key && (lastFailure.isRead || (await foundObject.object.hasWritten())))
        lastFailure = undefined;
      return answer;
    } catch (error) {
      const failure = toObjectFailure(error);
      const wasLastFailureWrite = lastFailure?.key === key && !lastFailure.isRead;
      if (failure instanceof StorageUnavailable)
        lastFailure = { key, failure, isRead: method === "GET" && !wasLastFailureWrite };
      // The request for the refusal has no body, because the object may already have read the body.
      return failedResponse(createStorelessSandbox(env), new Request(url, { method, headers }), failure);
    }
  }
}

type FoundObject = {
  readonly key: string;
  readonly object: Stub<ObjectCalls>;
};

async function findObject(
  env: HostedEnv,
  { pathname }: URL,
  { headers }: Request,
): Promise<FoundObject | undefined> {
  const { STORES, INDEX } = env;
  const destination = destinationOf(pathname, headers.get("authorization"));
  const storeAt = (mark: Mark): FoundObject => {
    const name = objectName(mark);
    return { key: name, object: STORES.getByName(name) };
  };
  switch (destination.kind) {
    case "store":
      return (await objectExists(env, destination.mark)) ? storeAt(destination.mark) : undefined;
    case "first store": {
      const mark = await INDEX.getByName(INDEX_NAME).firstMark();
      return mark === undefined ? undefined : storeAt(mark);
    }
    case "index":
      return { key: INDEX_NAME, object: INDEX.getByName(INDEX_NAME) };
    case "nowhere":
      return undefined;
  }
}

/** The open-source runtime would create a database for any id, even an invented one. */
async function objectExists({ OBJECT_FILES }: HostedEnv, mark: Mark): Promise<boolean> {
  if (OBJECT_FILES === undefined || existingMarks.has(mark)) return true;
  const path = `${OBJECT_CLASSES.stores}/${objectFileName("stores", objectName(mark))}`;
  const { ok } = await OBJECT_FILES.fetch(`http://objects/${path}`, { method: "HEAD" });
  if (ok) existingMarks.add(mark);
  return ok;
}
