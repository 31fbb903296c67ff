import { localOrigin } from "../../core/loopback.ts";
import type { SeededStore } from "../../sandbox/runtime/seed.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { calledAs, fieldLines } from "../printer.ts";
import { shortPath } from "../folder/state-folder.ts";

/** What the sandbox tells of itself when it is truly ready (decision 57). */
export type Ready = {
  readonly event: "ready";
  readonly base_url: string;
  readonly portal_url: string;
  readonly checkout_origin: string;
  readonly merchant_id: string;
  readonly store_id: string;
  readonly api_key: string | null;
  readonly signing_secret: string;
  readonly data_dir: string | null;
  readonly ephemeral: boolean;
  readonly pid: number;
  readonly version: string;
};

/** What a sandbox on this port says; `folder` is undefined where nothing is kept. */
export function readyOf(
  world: World,
  served: {
    readonly port: number;
    readonly folder: string | undefined;
    readonly seeded: SeededStore;
    readonly version: string;
  },
): Ready {
  const { port, folder, seeded, version } = served;
  const checkoutOrigin = localOrigin(port);
  return {
    event: "ready",
    base_url: `${checkoutOrigin}/v1`,
    portal_url: `http://localhost:${port}/portal`,
    checkout_origin: checkoutOrigin,
    merchant_id: seeded.merchantId,
    store_id: seeded.id,
    api_key: seeded.apiKey,
    signing_secret: seeded.signingSecret,
    data_dir: folder ?? null,
    ephemeral: folder === undefined,
    pid: world.pid,
    version,
  };
}

/** The same for people, with three lines to copy. The store is among them, so that keys are the same in every folder. */
export function banner({ world, printer: { style } }: Context, ready: Ready): string {
  const fields = fieldLines([
    ["API", ready.base_url],
    ["Merchant", ready.merchant_id],
    ["Store", ready.store_id],
    ["API key", ready.api_key ?? "was shown once; it is not in credentials.json"],
    ["Signing secret", ready.signing_secret],
    ["State", ready.data_dir === null ? "in memory only" : shortPath(world, ready.data_dir)],
  ]);
  return [
    `${style.green("●")} ${style.bold("checkout sandbox")} ${ready.version} is ready (pid ${ready.pid}). Ctrl-C stops it.`,
    "",
    fields,
    "",
    style.dim("  In another terminal:"),
    `  export CHECKOUT_BASE_URL=${ready.base_url} CHECKOUT_STORE_ID=${ready.store_id}`,
    `  export CHECKOUT_API_KEY=${ready.api_key ?? "<your key>"}`,
    `  ${calledAs(world)} orders create --order-id order-1001 --price-id price_coffee`,
    "",
  ].join("\n");
}
