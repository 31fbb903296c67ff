// The Worker of a hosted service (decision 124). Routing: hosted/routing.ts; objects: hosted/store-object.ts,
// hosted/index-object.ts; bundling: bin/build/worker.ts.
import { WorkerEntrypoint } from "cloudflare:workers";
import { toWorkerResponse, refuseUnreadable } from "./answer.ts";
import { INDEX_NAME, type HostedEnv } from "./env.ts";
import { objectName } from "../core/hosted/marks.ts";
import { createStorelessSandbox } from "./nowhere.ts";
import { placeOf } from "./routing.ts";

export { IndexObject } from "./index-object.ts";
export { StoreObject } from "./store-object.ts";

/** Forwards each request to its object. It has no state, so any number of instances can run anywhere. */
export class HostedService extends WorkerEntrypoint<HostedEnv> {
  async fetch(request: Request): Promise<Response> {
    const { STORES, INDEX } = this.env;
    if (!URL.canParse(request.url)) return refuseUnreadable(createStorelessSandbox(this.env), request);
    const place = placeOf(new URL(request.url).pathname, request.headers.get("authorization"));
    switch (place.kind) {
      case "store":
        return STORES.getByName(objectName(place.mark)).fetch(request);
      case "first store": {
        const mark = await INDEX.getByName(INDEX_NAME).first();
        return mark === undefined
          ? toWorkerResponse(createStorelessSandbox(this.env), request)
          : STORES.getByName(objectName(mark)).fetch(request);
      }
      case "index":
        return INDEX.getByName(INDEX_NAME).fetch(request);
      case "nowhere":
        return toWorkerResponse(createStorelessSandbox(this.env), request);
    }
  }
}
