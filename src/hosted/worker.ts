// The Worker of a hosted service (decision 124). Where a request goes: hosted/routing.ts; what an object is:
// hosted/store-object.ts, hosted/index-object.ts; how it is bundled: bin/build/worker.ts.
import { WorkerEntrypoint } from "cloudflare:workers";
import { answerIn, refuseIn } from "./answer.ts";
import { INDEX_NAME, type HostedEnv } from "./env.ts";
import { objectName } from "./marks.ts";
import { createNowhere } from "./nowhere.ts";
import { placeOf } from "./routing.ts";

export { IndexObject } from "./index-object.ts";
export { StoreObject } from "./store-object.ts";

/** Leads each request to its object. It keeps nothing, so any number of instances can run at any place. */
export class HostedService extends WorkerEntrypoint<HostedEnv> {
  async fetch(request: Request): Promise<Response> {
    const { STORES, INDEX } = this.env;
    if (!URL.canParse(request.url)) return refuseIn(createNowhere(this.env), request);
    const place = placeOf(new URL(request.url).pathname, request.headers.get("authorization"));
    switch (place.kind) {
      case "store":
        return STORES.getByName(objectName(place.mark)).fetch(request);
      case "first store": {
        const mark = await INDEX.getByName(INDEX_NAME).first();
        return mark === undefined
          ? answerIn(createNowhere(this.env), request)
          : STORES.getByName(objectName(mark)).fetch(request);
      }
      case "index":
        return INDEX.getByName(INDEX_NAME).fetch(request);
      case "nowhere":
        return answerIn(createNowhere(this.env), request);
    }
  }
}
