// Applications in any language, as benches of a search: a command that makes one purchase, alone or with a shop that is
// started for each schedule (client/judge/served-shop.ts), or with one that runs.
import { isKill, targetsDelivery, type Schedule } from "../../../core/judge/schedule.ts";
import type { ViewPatterns } from "../../../core/judge/view.ts";
import type { World } from "../../../world.ts";
import type { CallOperation, ControlTarget } from "../../control/control.ts";
import type { JudgedShop } from "../bench.ts";
import { callsOn, searchBench, type SearchBench } from "./run-schedule.ts";
import { startShop, type ShopCommand } from "../served-shop.ts";
import type { EnvironmentVariables, OrderViewSource, ViewPlace } from "../view.ts";

export type ExploreCommands = {
  readonly world: Pick<World, "run" | "sleep" | "monotonic" | "send" | "listen">;
  /** Makes one purchase. */
  readonly commandLine: string;
  readonly timeoutMs: number;
  readonly baseUrl: string;
  readonly target: ControlTarget;
  readonly call: CallOperation;
  /** Returns an order_id that is not in the merchant's records, which outlive the store of a run. */
  readonly newOrderId: () => string;
  /** Ends the commands when the exploration stops early. */
  readonly signal: AbortSignal;
  /** The shop to start for each schedule. Without a shop, only the orders are judged. */
  readonly shop?: ShopCommand;
  readonly view?: OrderViewSpec;
};

/** Where the shop shows an order: a URL, a path of the started shop, or a command. */
export type OrderViewSpec = ViewPatterns & { readonly from: ViewPlace | { readonly path: string } };

/** Variables of other sandboxes, which are removed for the merchant's command. */
const REMOVED_VARIABLES = { CHECKOUT_DIR: undefined, CHECKOUT_TARGET: undefined } as const;

/** Returns a function that opens a bench for each schedule, in a new store that is deleted afterwards. */
export function commandBenches(commands: ExploreCommands): (schedule: Schedule) => Promise<SearchBench> {
  const { call } = commands;
  return async (schedule) => {
    const made = await call({ name: "createStore", body: { name: "checkout explore" } });
    const { storeId } = made;
    const remove = (): Promise<unknown> => call({ name: "deleteStore", storeId, body: {} });
    try {
      return await openIn(commands, made, { schedule, remove });
    } catch (error) {
      await remove();
      throw error;
    }
  };
}

/** The faults are removed after each schedule; the store's clock is not moved back. */
export function runningShopBenches(
  commands: ExploreCommands,
  { env, endpointId }: { readonly env: EnvironmentVariables; readonly endpointId: string },
): (schedule: Schedule) => Promise<SearchBench> {
  const { call } = commands;
  return async () => {
    const { state } = await call({ name: "showEndpoint", id: endpointId, body: {} });
    // The failures of earlier schedules may have disabled the endpoint.
    if (state !== "enabled")
      await call({ name: "setEndpointState", id: endpointId, body: { action: "enable" } });
    const bench = searchBench({
      ...commands,
      shop: shopOf(commands, { ...env, ...REMOVED_VARIABLES }, undefined),
      orderId: commands.newOrderId(),
      store: { isOwn: false, endpointId },
    });
    return { bench, close: () => call({ name: "clearFaults", body: undefined }) };
  };
}

type Access = { readonly storeId: string; readonly apiKey: string; readonly signingSecret: string };

async function openIn(
  commands: ExploreCommands,
  { storeId, apiKey, signingSecret }: Access,
  { schedule, remove }: { readonly schedule: Schedule; readonly remove: () => Promise<unknown> },
): Promise<SearchBench> {
  const { shop: command, baseUrl } = commands;
  const call = callsOn(commands.call, storeId);
  const env = {
    CHECKOUT_BASE_URL: baseUrl,
    CHECKOUT_API_KEY: apiKey,
    CHECKOUT_STORE_ID: storeId,
    CHECKOUT_SIGNING_SECRET: signingSecret,
    ...REMOVED_VARIABLES,
  };
  const { faults } = schedule;
  const own = {
    ...commands,
    call,
    orderId: commands.newOrderId(),
    store: { isOwn: true },
  };
  if (command === undefined)
    return { bench: searchBench({ ...own, shop: shopOf(commands, env, undefined) }), close: remove };
  const kills = faults.filter((fault) => isKill(fault.action) && targetsDelivery(fault));
  const served = await startShop(commands, command, { env, kills });
  try {
    await call({ name: "addEndpoint", body: { url: served.receiverUrl } });
  } catch (error) {
    await served.stop();
    throw error;
  }
  const shop = {
    ...shopOf(commands, { ...env, PORT: String(served.port) }, served.port),
    served,
    kill: served.restart,
  };
  const close = async (): Promise<void> => {
    await served.stop();
    await remove();
  };
  return { bench: searchBench({ ...own, shop }), close };
}

function shopOf(
  { commandLine, timeoutMs, view }: ExploreCommands,
  env: EnvironmentVariables,
  port: number | undefined,
): Partial<JudgedShop> {
  const shop = { create: { commandLine }, command: true, commandTimeoutMs: timeoutMs, env } as const;
  return view === undefined ? shop : { ...shop, hasView: true, view: viewAt(view, port) };
}

function viewAt({ from, ...patterns }: OrderViewSpec, port: number | undefined): OrderViewSource {
  return {
    ...patterns,
    from: "path" in from ? { url: `http://127.0.0.1:${port ?? ""}${from.path}` } : from,
  };
}
