// Applications in any language, as stages of `explore`: a command that makes one purchase, alone or with a shop that is
// started for each schedule (client/judge/served-shop.ts).
import { targetsDelivery, MAX_CHECKOUTS, type StageFactory, type Stage, type StageResult } from "./run-schedule.ts";
import type { RunCheckout, SecretPlace } from "../../core/judge/facts.ts";
import { isKill, type Schedule } from "../../core/judge/schedule.ts";
import type { ShownOrder, ViewPatterns } from "../../core/judge/view.ts";
import { containsSecret } from "../../core/text.ts";
import type { ShellResult, World } from "../../world.ts";
import type { CallOperation, ControlTarget } from "../control/control.ts";
import { runMerchantCommand } from "../merchant-command.ts";
import { readView, type EnvironmentVariables, type ViewPlace } from "./view.ts";
import { commandFailureText, startShop, type ShopCommand } from "./served-shop.ts";

/** The merchant's commands to explore. */
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

/**
 * Where the shop shows an order: a URL, a path of the started shop, or a command. The answer is JSON,
 * `{"paid","times","amount_minor"}`; a pattern replaces the field `paid`.
 */
export type OrderViewSpec = ViewPatterns & { readonly from: ViewPlace | { readonly path: string } };

const MAX_OUTPUT_BYTES = 4096;

/** Returns a function that opens a stage for each schedule, in a new store that is deleted afterwards. */
export function commandStages(commands: ExploreCommands): StageFactory["open"] {
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

/**
 * Returns a function that opens a stage for each schedule in the store of a running shop. The faults are removed after
 * each schedule; the store's clock is not moved back.
 */
export function runningShopStages(
  commands: ExploreCommands,
  {
    env,
    storeId,
    endpointId,
  }: { readonly env: EnvironmentVariables; readonly storeId: string; readonly endpointId: string },
): StageFactory["open"] {
  const { call, view } = commands;
  return async () => {
    const { state } = await call({ name: "showEndpoint", storeId, id: endpointId, body: {} });
    // The failures of earlier schedules may have disabled the endpoint.
    if (state !== "enabled")
      await call({ name: "setEndpointState", storeId, id: endpointId, body: { action: "enable" } });
    const { checkouts } = await call({ name: "listCheckouts", storeId, body: { limit: MAX_CHECKOUTS } });
    const orderId = commands.newOrderId();
    const variables = { ...env, ...REMOVED_VARIABLES };
    const secretPlaces = new Set<SecretPlace>();
    return {
      storeId,
      within: { orderId, endpointId, before: new Set(checkouts.map(({ id }) => id)) },
      secretPlaces,
      purchase: purchaseOf(commands, { env: variables, orderId, secretPlaces }).purchase,
      ...(view && {
        view: (checkout) =>
          readShownOrder(commands, view, { checkout, env: variables, port: undefined, secretPlaces }),
      }),
      close: () => call({ name: "clearFaults", storeId, body: undefined }),
    };
  };
}

/** A store with its API key and its signing secret. */
type Access = { readonly storeId: string; readonly apiKey: string; readonly signingSecret: string };

async function openIn(
  commands: ExploreCommands,
  { storeId, apiKey, signingSecret }: Access,
  { schedule, remove }: { readonly schedule: Schedule; readonly remove: () => Promise<unknown> },
): Promise<Stage> {
  const { call, shop: served, view, baseUrl } = commands;
  const env = {
    CHECKOUT_BASE_URL: baseUrl,
    CHECKOUT_API_KEY: apiKey,
    CHECKOUT_STORE_ID: storeId,
    CHECKOUT_SIGNING_SECRET: signingSecret,
    ...REMOVED_VARIABLES,
  };
  const secretPlaces = new Set<SecretPlace>();
  const orderId = commands.newOrderId();
  if (served === undefined) {
    const { purchase, kill } = purchaseOf(commands, { env, orderId, secretPlaces });
    return { storeId, secretPlaces, purchase, kill, close: remove };
  }
  const kills = schedule.faults.filter((fault) => isKill(fault.action) && targetsDelivery(fault));
  const shop = await startShop(commands, served, { env, kills });
  const withPort = { ...env, PORT: String(shop.port) };
  try {
    await call({ name: "addEndpoint", storeId, body: { url: shop.receiverUrl } });
  } catch (error) {
    await shop.stop();
    throw error;
  }
  const { purchase, kill } = purchaseOf(commands, { env: withPort, orderId, secretPlaces });
  return {
    storeId,
    secretPlaces,
    purchase,
    view: (checkout) =>
      view === undefined
        ? noView()
        : readShownOrder(commands, view, { checkout, env: withPort, port: shop.port, secretPlaces }),
    kill: async () => {
      await kill();
      await shop.restart();
    },
    isDown: shop.isDown,
    close: async () => {
      await shop.stop();
      await remove();
    },
  };
}

/** Variables of other sandboxes, which are removed for the merchant's command. */
const REMOVED_VARIABLES = {
  CHECKOUT_DIR: undefined,
  CHECKOUT_TARGET: undefined,
} as const;

/** The functions that run the purchase command, and kill it. A secret in its output is added to `secretPlaces`. */
function purchaseOf(
  {
    world,
    commandLine,
    timeoutMs,
    signal,
  }: Pick<ExploreCommands, "world" | "commandLine" | "timeoutMs" | "signal">,
  {
    env,
    orderId,
    secretPlaces,
  }: {
    readonly env: EnvironmentVariables;
    readonly orderId: string;
    readonly secretPlaces: Set<SecretPlace>;
  },
): { readonly purchase: () => Promise<StageResult>; readonly kill: () => Promise<void> } {
  let current = new AbortController();
  return {
    purchase: async () => {
      current = new AbortController();
      const stop = AbortSignal.any([signal, current.signal]);
      const command = { commandLine, env, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, signal: stop };
      const result = await runMerchantCommand(world, { ...command, about: { orderId } });
      if (containsSecret(result.stdout) || containsSecret(result.stderr)) secretPlaces.add("output");
      return endOf(result);
    },
    kill: () => Promise.resolve(current.abort()),
  };
}

/** The result of a command. The exit code of a successful command does not name the order that it created. */
function endOf(result: ShellResult): StageResult {
  if (result.ending === "timeout") return { end: "timeout" };
  if (result.exitCode === 0) return { end: "unnamed" };
  return { end: "failure", message: commandFailureText(result) };
}

function noView(): Promise<ShownOrder> {
  return Promise.reject(new Error("no --order-view and no --order-view-command was given"));
}

/** Reads the shop's view of an order, and notes a secret in it. Throws if the view cannot be read. */
async function readShownOrder(
  { world, target, signal }: Pick<ExploreCommands, "world" | "target" | "signal">,
  { from, ...patterns }: OrderViewSpec,
  {
    checkout,
    env,
    port,
    secretPlaces,
  }: {
    readonly checkout: RunCheckout;
    readonly env: EnvironmentVariables;
    readonly port: number | undefined;
    readonly secretPlaces: Set<SecretPlace>;
  },
): Promise<ShownOrder> {
  const place = "path" in from ? { url: `http://127.0.0.1:${port ?? ""}${from.path}` } : from;
  const view = { ...patterns, from: place };
  const { order, got, text } = await readView(world, { target, checkout, view, env, signal });
  if (containsSecret(text)) secretPlaces.add("view");
  if (order === null) throw new Error(`the view of the order cannot be read: ${got}`);
  return order;
}
