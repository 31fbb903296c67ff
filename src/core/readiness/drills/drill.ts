import { hash } from "node:crypto";
import type { Endpoint } from "../../webhook/endpoint.ts";
import type { DrillFact } from "../drill-shapes.ts";

export type RecordedDrill = DrillFact & { readonly storeId: string };

/** Changes with the address and the newest signing secret. */
export function webhookSubject({ id, url }: Pick<Endpoint, "id" | "url">, secret: string): string {
  return `${id} ${url} ${hash("sha256", secret, "hex")}`;
}

export function duplicatesSubject(endpoints: readonly Pick<Endpoint, "id" | "url">[]): string {
  return endpoints
    .map(({ id, url }) => `${id} ${url}`)
    .toSorted()
    .join("\n");
}
