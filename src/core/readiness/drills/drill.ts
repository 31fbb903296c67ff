import { hash } from "node:crypto";
import type { Endpoint } from "../../webhook/endpoint.ts";

/** What can be drilled (decision 50). */
export const DRILL_KINDS = ["webhook", "idempotency", "browser_return"] as const;
export type DrillKind = (typeof DRILL_KINDS)[number];

/** One step of a drill: what was done, what was expected, what came, and what a failure most likely means. */
export type DrillStep = {
  readonly name: string;
  readonly passed: boolean;
  readonly expected: string;
  readonly got: string;
  /** What the merchant's code most likely does; null where the step passed. */
  readonly cause: string | null;
  /** The event or request that it was done with. */
  readonly reference: string | null;
};

/** What a drill has shown, of what, and when (milliseconds by the store's clock). */
export type Drill = {
  readonly id: string;
  readonly storeId: string;
  readonly kind: DrillKind;
  /** What it proves something of: it is void when that has changed. */
  readonly subject: string;
  readonly passed: boolean;
  readonly steps: readonly DrillStep[];
  readonly at: number;
};

/** What a webhook drill proves something of: an endpoint at its address, with the newest secret that it signs with. */
export function webhookSubject({ id, url }: Pick<Endpoint, "id" | "url">, secret: string): string {
  return `${id} ${url} ${hash("sha256", secret, "hex")}`;
}
