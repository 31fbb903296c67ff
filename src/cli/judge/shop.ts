import type { ControlTarget } from "../../client/control/control.ts";
import type { JudgedShop, ShopCreate } from "../../client/judge/bench.ts";
import { fillAddress, parseShopTarget, type OrderViewSource } from "../../client/judge/view.ts";
import { ShopFailure, startShop } from "../../client/judge/served-shop.ts";
import { runMerchantCommand } from "../../client/merchant-command.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { EXIT, Refused, refuseUsage } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { connectToSandbox } from "../target/connect.ts";
import type { RunOptions } from "./options.ts";
import type { ShopDescription } from "./section.ts";

/** A shop that a run can use; a served one ends with it. */
export type BoundShop = Omit<JudgedShop, "takeOrder" | "names" | "kinds"> & AsyncDisposable;

type Binding = {
  readonly control: ControlTarget;
  readonly options: RunOptions;
  readonly described: ShopDescription;
  /** Whether the run reads orders; without a view it is refused then. */
  readonly isRead: boolean;
  readonly signal: AbortSignal;
};

/** Default timeout of the command that creates an order, in milliseconds. */
const COMMAND_TIMEOUT_MS = 120_000;

/** Checks the description of a shop, and starts the shop if it is to be served. Refuses what cannot be used. */
export async function bindShop(
  context: Context,
  { control, options, described, isRead, signal }: Binding,
): Promise<BoundShop> {
  const { bookings, amount, paidWhen, cookie, settle, orderIdOf } = described;
  const { target, settings } = await connectToSandbox(context, control);
  const access = {
    CHECKOUT_BASE_URL: target.baseUrl,
    CHECKOUT_API_KEY: target.apiKey,
    CHECKOUT_STORE_ID: settings.storeId.value ?? undefined,
  };
  const place = viewPlace(described);
  if (place === undefined && isRead) throw refuseUnread();
  const served = await serveShop(context, { control, described, access, signal });
  const base = served === undefined ? described.endpoint : served.origin;
  const addressOf = (flag: string, text: string): string => checkAddress(control, { flag, text, base });
  const view: OrderViewSource = {
    from:
      place !== undefined && "url" in place
        ? { url: addressOf("--order-view", place.url) }
        : (place ?? UNREAD),
    paidWhen,
    bookings,
    amount,
    cookie,
  };
  const { returnUrl } = described;
  const create = createOf(described, addressOf);
  return {
    create,
    command: create !== undefined && "commandLine" in create ? true : undefined,
    commandTimeoutMs: options.commandTimeout ?? COMMAND_TIMEOUT_MS,
    view,
    hasView: place === undefined ? undefined : true,
    returnUrl: returnUrl === undefined ? undefined : addressOf("--return-url", returnUrl),
    restart: restartOf(context, { described, served, signal }),
    served,
    orderIdOf,
    settleMs: settle,
    env: { ...access, ...(served === undefined ? {} : { PORT: String(served.port) }) },
    [Symbol.asyncDispose]: async () => served?.stop(),
  };
}

const ADD_VIEW = "add --order-view URL, or --order-view-command CMD, and --paid-when REGEX";

/** The place of a view that is not read. */
const UNREAD = { commandLine: "exit 1" } as const;

function viewPlace({ orderView, orderViewCommand }: ShopDescription): OrderViewSource["from"] | undefined {
  if (orderViewCommand !== undefined) return { commandLine: orderViewCommand };
  return orderView === undefined ? undefined : { url: orderView };
}

function refuseUnread(): Refused {
  return new Refused({
    exitCode: EXIT.notReady,
    code: "not_judged",
    message: "only your shop can tell whether it treats an order as paid; nothing was done",
    next: `${ADD_VIEW}; or checkout shop init`,
  });
}

/** An address on this machine; a path is below the shop's origin. */
function checkAddress(
  control: ControlTarget,
  { flag, text, base }: { readonly flag: string; readonly text: string; readonly base: string | undefined },
): string {
  const isPath = text.startsWith("/");
  if (isPath && (base === undefined || !URL.canParse(base)))
    throw refuseUsage(
      `${flag}: a path needs --serve, or an address as --endpoint`,
      "write the whole URL; nothing was done",
    );
  const url = isPath && base !== undefined ? `${new URL(base).origin}${text}` : text;
  const example = parseShopTarget(control, fillAddress(url, { id: "1", orderId: "1" }));
  if (!example.ok) throw refuseUsage(`${flag}: ${example.refusal.message}`, "correct it; nothing was done");
  return url;
}

function createOf(
  { create }: ShopDescription,
  addressOf: (flag: string, text: string) => string,
): ShopCreate | undefined {
  if (create === undefined) return undefined;
  if (typeof create === "string") return { commandLine: create };
  return { url: addressOf("create.post", create.post), form: create.form ?? {} };
}

type Served = Awaited<ReturnType<typeof startShop>> & { readonly origin: string };

/** Starts the shop on the port of its endpoint in the store, otherwise on a free port, and registers the endpoint. */
async function serveShop(
  context: Context,
  {
    control,
    described,
    access,
    signal,
  }: Pick<Binding, "control" | "described" | "signal"> & {
    readonly access: Readonly<Record<string, string | undefined>>;
  },
): Promise<Served | undefined> {
  const { serve, endpoint = "/hooks" } = described;
  if (serve === undefined) return undefined;
  const path = endpoint.startsWith("/") ? endpoint : new URL(endpoint).pathname;
  const { endpoints } = await callAt(context, control, { name: "listEndpoints", body: undefined });
  const known = endpoints.find(({ url, state }) => state === "enabled" && new URL(url).pathname === path);
  const { signingSecret } = await callAt(context, control, { name: "storeAccess", body: undefined });
  const env = { ...access, CHECKOUT_SIGNING_SECRET: signingSecret };
  const command = { commandLine: serve, receiverPath: path };
  const port = known === undefined ? undefined : Number(new URL(known.url).port);
  try {
    const shop = await startShop({ world: context.world, signal }, command, {
      env,
      kills: [],
      ...(port && { port }),
    });
    if (known === undefined)
      await callAt(context, control, { name: "addEndpoint", body: { url: shop.receiverUrl } });
    return { ...shop, origin: `http://127.0.0.1:${shop.port}` };
  } catch (error) {
    if (!(error instanceof ShopFailure)) throw error;
    throw refuseUsage(`--serve: ${error.message}`, "the command must listen on the port in PORT");
  }
}

/** Timeout of the restart command, in milliseconds. */
const RESTART_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 4096;
const NEXT_RESTART = "the command must exit with 0 after it has told the supervisor to restart your shop";

/** The restart command must exit. Its child processes end with it, so a supervisor must start the shop. */
function restartOf(
  { world }: Context,
  {
    described,
    served,
    signal,
  }: Pick<Binding, "described" | "signal"> & { readonly served: Served | undefined },
): (() => Promise<void>) | undefined {
  const { restart: commandLine } = described;
  if (served !== undefined) return served.restart;
  if (commandLine === undefined) return undefined;
  return async () => {
    const limits = { timeoutMs: RESTART_TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES, signal };
    const { ending, exitCode, stderr } = await runMerchantCommand(world, { commandLine, env: {}, ...limits });
    if (signal.aborted || (ending === "exited" && exitCode === 0)) return;
    const how = ending === "exited" ? `ended with ${exitCode ?? "no exit code"}` : ending;
    const said = stderr.trim().split("\n").at(-1) ?? "";
    const message = `--restart: the command ${how}${said === "" ? "" : `: ${printable(said)}`}`;
    throw new Refused({ exitCode: EXIT.failed, code: "not_restarted", message, next: NEXT_RESTART });
  };
}
