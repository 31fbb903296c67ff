import type { CheckoutResponse } from "../../core/checkout/wire-shapes.ts";
import { sendRetrieve } from "../../client/api/client.ts";
import { register, type Context, type Group } from "../command.ts";
import { checkoutFields, checkoutOutput, refuseRetrieve } from "./exchange-report.ts";
import { isLoopback } from "../../core/loopback.ts";
import { printableLiteral } from "../../core/text.ts";
import { parseUuid } from "../parsers.ts";
import { requireControlTarget } from "../target/control.ts";
import { findId } from "../target/ids.ts";
import { selectStoreOfKey } from "./list.ts";
import { refuseUsage } from "../problem.ts";
import { connectToService, type ServiceConnection } from "../target/resolve.ts";
import { pollPolicy, waitForStatus, WAIT_EXIT_CODES, waitOptions, type WaitOptions } from "./wait.ts";
import { targetOptions } from "../target/options.ts";
import { runWithSpinner, showHeadersOption } from "../request/exchange.ts";

export function registerSessionsGet(group: Group): void {
  register<WaitOptions>(group, {
    name: "get <id|order_id>",
    summary: "retrieve a session or order through the v1 API, from the sandbox or a service",
    exitCodes: WAIT_EXIT_CODES,
    examples: [
      "checkout sessions get 0199a3c4-5d00-7000-8000-000000000001",
      "checkout sessions get order-1001 --wait --until succeeded --timeout 5m",
    ],
    options: [...waitOptions(), ...targetOptions(), showHeadersOption()],
    requires: [["until", "wait"]],
    run: runSessionsGet,
  });
}

async function runSessionsGet(context: Context, options: WaitOptions, text = ""): Promise<number> {
  const service = await connectToService(context);
  const id = await resolveId(context, service, text);
  const response =
    options.wait === true
      ? await waitForStatus(context, options, { ...service, id })
      : await retrieve(context, options, { ...service, id });
  return context.printer.result(checkoutOutput(response), () => checkoutFields(response.data));
}

async function retrieve(
  context: Context,
  options: WaitOptions,
  { target, settings, id }: ServiceConnection & { readonly id: string },
): Promise<CheckoutResponse> {
  const policy = pollPolicy(settings, options);
  const exchange = await runWithSpinner(context, (watch) =>
    sendRetrieve(context.world, target, { id, policy, ...watch }),
  );
  if (exchange.end === "success") return exchange.response;
  const listHint = settings.isExplained
    ? ": checkout orders list and checkout sessions list show the ids"
    : "";
  const hint = `check the id${listHint}; checkout whoami shows which service and store were called`;
  throw refuseRetrieve(exchange, settings, hint);
}

/** Only a sandbox can look up an order_id or a short id: v1 has no list, and requires a UUID (interface 16). */
async function resolveId(
  context: Context,
  { target, settings }: ServiceConnection,
  text: string,
): Promise<string> {
  const id = parseUuid(text);
  if (id !== undefined) return id;
  if (settings.isExplained) {
    const sandbox = await selectStoreOfKey(context, await requireControlTarget(context));
    return findId(context, "checkout", text, sandbox);
  }
  const { host, hostname } = new URL(target.baseUrl);
  const message = `${printableLiteral(text)} is not a whole id, and the interface of ${host} has no list in which to look it up`;
  const token = isLoopback(hostname) ? "; for a sandbox, set CHECKOUT_CONTROL_TOKEN" : "";
  throw refuseUsage(message, `use the id that orders create or sessions create printed${token}`);
}
