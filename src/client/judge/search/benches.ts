import { isKill, targetsDelivery, type Schedule } from "../../../core/judge/schedule.ts";
import { createBench, type Bench, type JudgedShop } from "../bench.ts";
import { shopOf, type ShopDescription } from "../shop/description.ts";
import { callOnStore, type SearchBench } from "./run-schedule.ts";
import { startShop, type ServedShop, type ShopWorld } from "../shop/served-shop.ts";
import type { EnvironmentVariables } from "../shop/view.ts";

export type ExploredShop = Pick<Bench, "target" | "call" | "signal" | "newId"> & {
  readonly world: ShopWorld["world"] & Bench["world"];
  readonly baseUrl: string;
  readonly description: ShopDescription;
  readonly commandTimeoutMs: number;
};

export type OpenBench = (schedule: Schedule) => Promise<SearchBench>;

const REMOVED_VARIABLES = { CHECKOUT_DIR: undefined, CHECKOUT_TARGET: undefined } as const;

export function ownStoreOpener(exploredShop: ExploredShop): OpenBench {
  const { description, baseUrl } = exploredShop;
  return async ({ faults }) => {
    const createdStore = await exploredShop.call({ name: "createStore", body: { name: "checkout explore" } });
    const { storeId, apiKey, signingSecret } = createdStore;
    const call = callOnStore(exploredShop.call, storeId);
    let servedShop: ServedShop | undefined;
    const close = async (): Promise<void> => {
      await servedShop?.stop();
      await exploredShop.call({ name: "deleteStore", storeId, body: {} });
    };
    const env = {
      CHECKOUT_BASE_URL: baseUrl,
      CHECKOUT_API_KEY: apiKey,
      CHECKOUT_STORE_ID: storeId,
      CHECKOUT_SIGNING_SECRET: signingSecret,
      ...REMOVED_VARIABLES,
    };
    try {
      const { serve: commandLine, endpoint: receiverPath = "" } = description;
      if (commandLine !== undefined) {
        const kills = faults.filter((fault) => isKill(fault.action) && targetsDelivery(fault));
        servedShop = await startShop(exploredShop, { commandLine, receiverPath, env, kills });
        await call({ name: "addEndpoint", body: { url: servedShop.receiverUrl } });
      }
      const commandEnv = { ...env, ...(servedShop && { PORT: String(servedShop.port) }) };
      const described = shopAt(exploredShop, commandEnv, `http://127.0.0.1:${servedShop?.port ?? ""}`);
      const shop = { ...described, server: servedShop, kill: servedShop?.restart ?? described.kill };
      const search = { isOwn: true };
      return { bench: createBench({ ...exploredShop, call, shop, search }), close };
    } catch (error) {
      await close();
      throw error;
    }
  };
}

/** The faults are removed after each schedule; the store's clock is not moved back. */
export function runningShopOpener(
  exploredShop: ExploredShop,
  env: EnvironmentVariables,
  { id: endpointId, url }: { readonly id: string; readonly url: string },
): OpenBench {
  const { call } = exploredShop;
  const shop = shopAt(exploredShop, { ...env, ...REMOVED_VARIABLES }, new URL(url).origin);
  return async () => {
    const { state } = await call({ name: "showEndpoint", id: endpointId, body: {} });
    // Failures in earlier schedules may have disabled the endpoint.
    if (state !== "enabled")
      await call({ name: "setEndpointState", id: endpointId, body: { action: "enable" } });
    const bench = createBench({ ...exploredShop, shop, search: { isOwn: false, endpointId } });
    return { bench, close: () => call({ name: "clearFaults", body: undefined }) };
  };
}

function shopAt(
  { description, commandTimeoutMs }: ExploredShop,
  env: EnvironmentVariables,
  origin: string,
): JudgedShop {
  const addressOf = (_flag: string, text: string): string =>
    text.startsWith("/") ? `${origin}${text}` : text;
  return { ...shopOf(description, env, addressOf), commandTimeoutMs };
}
