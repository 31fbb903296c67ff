import type { DrillKind } from "../names.ts";
import { hash } from "node:crypto";
import type { Endpoint } from "../../webhook/endpoint.ts";

/** One step of a drill: its name, what was expected, what came, and the likely cause of a failure or a note. */
export type DrillStep = {
  readonly name: string;
  readonly passed: boolean;
  readonly expected: string;
  readonly got: string;
  /** What the merchant's code most likely does, if the step failed; a note or null if it passed. */
  readonly cause: string | null;
  /** The id of its event or request. */
  readonly reference: string | null;
};

/** The result of a drill, its subject, and its time (milliseconds by the store's clock). */
export type Drill = {
  readonly id: string;
  readonly storeId: string;
  readonly kind: DrillKind;
  /** What it proves something about: when that changes, the drill is void. */
  readonly subject: string;
  readonly passed: boolean;
  readonly steps: readonly DrillStep[];
  readonly at: number;
};

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
