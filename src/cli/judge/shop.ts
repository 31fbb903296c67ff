import type { ControlTarget } from "../../client/control/control.ts";
import type { JudgedShop } from "../../client/judge/bench.ts";
import { shopOf, type ShopDescription } from "../../client/judge/shop/description.ts";
import { fillAddress, parseShopTarget, sendLocally } from "../../client/judge/shop/view.ts";
import { ShopFailure, startShop, type ServedShop } from "../../client/judge/shop/served-shop.ts";
import { runMerchantCommand } from "../../client/merchant-command.ts";
import { buildDrillRequest } from "../../core/judge/forms/requests.ts";
import { DRILL_CASES } from "../../core/readiness/drills/webhook.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { catchRefusal, EXIT, Refused, refuseUsage } from "../problem.ts";
import { callAt } from "../target/call.ts";
import { connectToSandbox } from "../target/resolve.ts";

export type BoundShop = JudgedShop &
  AsyncDisposable & {
    /**
     * Keeps the endpoint of a served shop in the store after the shop has stopped. Default: the endpoint is removed.
     */
    readonly keepEndpoint: () => void;
  };

type Binding = {
  readonly control: ControlTarget;
  readonly description: ShopDescription;
  readonly readsOrders: boolean;
  readonly signal: AbortSignal;
};

export async function bindShop(context: Context, binding: Binding): Promise<BoundShop> {
  const { control, description, readsOrders } = binding;
  const { target, settings } = await connectToSandbox(context, control);
  const accessEnv = {
    CHECKOUT_BASE_URL: target.baseUrl,
    CHECKOUT_API_KEY: target.apiKey,
    CHECKOUT_STORE_ID: settings.storeId.value ?? undefined,
  };
  if (readsOrders && description.orderView === undefined && description.orderViewCommand === undefined)
    throw new Refused({
      exitCode: EXIT.notReady,
      code: "not_judged",
      message: "only your shop can tell whether it treats an order as paid; nothing was done",
      next: "checkout shop init describes your shop; or add --order-view URL, or --order-view-command CMD, and --paid-when REGEX",
    });
  const servedShop = await serveShop(context, { ...binding, accessEnv });
  const base = servedShop === undefined ? description.endpoint : originOf(servedShop);
  const env = { ...accessEnv, ...(servedShop && { PORT: String(servedShop.port) }) };
  const shop = shopOf(description, env, (flag, text) => resolveAddress(control, { flag, text, base }));
  return {
    ...shop,
    kill: shop.kill ?? servedShop?.restart,
    restart: servedShop?.restart ?? createRestart(context, binding),
    server: servedShop,
    keepEndpoint: () => servedShop?.keepEndpoint?.(),
    [Symbol.asyncDispose]: async () => servedShop?.stop(),
  };
}

function resolveAddress(
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

function originOf({ port }: Pick<ServedShop, "port">): string {
  return `http://127.0.0.1:${port}`;
}

async function serveShop(
  context: Context,
  binding: Binding & { readonly accessEnv: Readonly<Record<string, string | undefined>> },
): Promise<(ServedShop & Partial<Pick<BoundShop, "keepEndpoint">>) | undefined> {
  const { control, description, accessEnv, signal } = binding;
  const { serve, endpoint = "/hooks" } = description;
  if (serve === undefined) return undefined;
  const path = endpoint.startsWith("/") ? endpoint : new URL(endpoint).pathname;
  const { endpoints } = await callAt(context, control, { name: "listEndpoints", body: undefined });
  const ownEndpoint = endpoints.find(
    ({ url, state }) => state === "enabled" && new URL(url).pathname === path,
  );
  const { signingSecret } = await callAt(context, control, { name: "storeAccess", body: undefined });
  const env = { ...accessEnv, CHECKOUT_SIGNING_SECRET: signingSecret };
  const readMissingStatus = async (url: string): Promise<number | undefined> => {
    const request = await signedTestRequest(context, control, signingSecret);
    const answer = await sendLocally(context.world, control, { ...request, method: "POST", url, signal });
    return answer.ok && MISSING_PAGE_STATUSES.has(answer.status) ? answer.status : undefined;
  };
  const ownPort = ownEndpoint && Number(new URL(ownEndpoint.url).port);
  try {
    const shop = await startShop(
      { world: context.world, signal },
      // An endpoint URL without a port (0) belongs to no served shop, so the shop gets a free port.
      { commandLine: serve, receiverPath: path, env, port: ownPort === 0 ? undefined : ownPort },
    );
    if (ownEndpoint !== undefined) return shop;
    const missingStatus = await readMissingStatus(shop.receiverUrl);
    // Without a described endpoint, the shop may have no page for webhooks.
    if (missingStatus !== undefined && description.endpoint === undefined) return shop;
    if (missingStatus !== undefined) {
      await shop.stop();
      throw refuseUsage(
        `--endpoint: your shop answers ${missingStatus} to a correctly signed webhook at ${printable(path)}`,
        "correct the path; nothing was done",
      );
    }
    const body = { url: shop.receiverUrl };
    const { id } = await callAt(context, control, { name: "addEndpoint", body });
    let isKept = false;
    const keepEndpoint = (): void => {
      isKept = true;
    };
    const stop = async (): Promise<void> => {
      await shop.stop();
      const removeCall = { name: "setEndpointState", id, body: { action: "remove" } } as const;
      if (!isKept) await catchRefusal(callAt(context, control, removeCall));
    };
    return { ...shop, stop, keepEndpoint };
  } catch (error) {
    if (!(error instanceof ShopFailure)) throw error;
    throw refuseUsage(`--serve: ${error.message}`, error.next);
  }
}

const MISSING_PAGE_STATUSES: ReadonlySet<number> = new Set([404, 405, 410]);

/** Signed, because a shop may answer an unsigned webhook with the status of a missing page. */
async function signedTestRequest(context: Context, control: ControlTarget, secret: string) {
  const { world } = context;
  const { dialect } = await callAt(context, control, { name: "storeSummary", body: undefined });
  const event = { id: world.freshId(), storeId: world.freshId(), createdAt: world.now() };
  const options = { secret, retiredSecret: undefined, realNow: world.now(), dialect };
  const events = { own: event, first: event, order: null };
  const { headers, body } = buildDrillRequest(DRILL_CASES.good_event, events, options).request;
  return { headers, body };
}

const RESTART_TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 4096;
const RESTART_HINT = "the command must exit with 0 after it has told the supervisor to restart your shop";

/**
 * The restart command must exit. The end of the command also ends its child processes, so a supervisor must start
 * the shop.
 */
function createRestart(
  { world }: Context,
  { description: { restart: commandLine }, signal }: Binding,
): (() => Promise<void>) | undefined {
  if (commandLine === undefined) return undefined;
  return async () => {
    const limits = { timeoutMs: RESTART_TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES, signal };
    const { ending, exitCode, stderr } = await runMerchantCommand(world, { commandLine, env: {}, ...limits });
    if (signal.aborted || (ending === "exited" && exitCode === 0)) return;
    const endText = ending === "exited" ? `ended with ${exitCode ?? "no exit code"}` : ending;
    const lastLine = stderr.trim().split("\n").at(-1) ?? "";
    const message = `--restart: the command ${endText}${lastLine === "" ? "" : `: ${printable(lastLine)}`}`;
    throw new Refused({ exitCode: EXIT.failed, code: "not_restarted", message, next: RESTART_HINT });
  };
}
