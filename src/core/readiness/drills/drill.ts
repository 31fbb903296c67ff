// The record of a drill, which `checklist run` makes (cli/judge/). The sandbox's part of a drill:
// sandbox/readiness/open-lease.ts, drills.ts; the drill's own requests: `isDrillRequest` in sandbox/api/caller.ts.
import { hash } from "node:crypto";
import type { Endpoint } from "../../webhook/endpoint.ts";
import type { DrillFact } from "../drill-shapes.ts";

export type RecordedDrill = DrillFact & { readonly storeId: string };

/** The subject of a webhook drill: an endpoint with its address and its newest signing secret. */
export function webhookSubject({ id, url }: Pick<Endpoint, "id" | "url">, secret: string): string {
  return `${id} ${url} ${hash("sha256", secret, "hex")}`;
}

/** The subject of a drill of duplicates: all enabled endpoints, each with its address. */
export function duplicatesSubject(endpoints: readonly Pick<Endpoint, "id" | "url">[]): string {
  return endpoints
    .map(({ id, url }) => `${id} ${url}`)
    .toSorted()
    .join("\n");
}
