import { nextAfterError } from "../../core/errors.ts";
import type { Command } from "commander";
import { retrieve } from "../../client/api/client.ts";
import { register, type Context, type Registry } from "../command.ts";
import { checkoutFields, exchangeProblem, withExplanation } from "./exchange-report.ts";
import { accept } from "../../core/outcome.ts";
import { isShortId } from "../parsers.ts";
import { checkoutIdOf } from "./short-id.ts";
import { fail, type Ending } from "../problem.ts";
import { connectTo, showHeadersOption, targetOptions, whileWaiting } from "../service-command.ts";
import { tryPolicy, waitForEnd, waitOptions, type WaitOptions } from "./wait.ts";

/** `checkout sessions get`. */
export function registerSessionsGet(parent: Command, registry: Registry): void {
  register<WaitOptions>(parent, registry, {
    name: "get <id>",
    summary: "print the current state of a checkout session, or of an order by its id",
    examples: [
      "checkout sessions get 0199a3c4-5d00-7000-8000-000000000001",
      "checkout sessions get <id> --wait --until succeeded --timeout 5m",
    ],
    options: [...waitOptions(), ...targetOptions(), showHeadersOption()],
    requires: [["until", "wait"]],
    run: runSessionsGet,
  });
}

/** Retrieves once, or until the checkout has ended; exit 1 where the id is unknown. */
async function runSessionsGet(context: Context, options: WaitOptions, text = ""): Promise<Ending> {
  const service = await connectTo(context, options);
  if (!service.ok) return service;
  const { target, settings } = service.value;
  // Only the sandbox knows short ids; another service is asked for what was typed.
  const isShort = settings.sandbox !== undefined && isShortId(text);
  const named = isShort ? await checkoutIdOf(context, options, text) : accept(text);
  if (!named.ok) return named;
  const { value: id } = named;
  if (options.wait === true) {
    const ended = await waitForEnd(context, options, { target, settings, id });
    if (!ended.ok) return ended;
    return context.printer.result(ended.value, () => checkoutFields(ended.value.data));
  }
  const policy = tryPolicy(settings, options);
  const exchange = await whileWaiting(context, options, (watch) =>
    retrieve(context.world, target, { id, policy, ...watch }),
  );
  if (exchange.end === "success") {
    const { response } = exchange;
    return context.printer.result(response, () => checkoutFields(response.data));
  }
  const problem = exchangeProblem(exchange);
  const known = problem.code === "session_not_found" || problem.code === "invalid_session_id";
  const next = known
    ? `check the id${settings.isExplained ? ": checkout orders list and checkout sessions list show them" : ""}; checkout whoami shows which service and store were asked`
    : (nextAfterError(problem) ?? "run the command again; checkout whoami shows which service was asked");
  return fail(withExplanation({ ...problem, next }, settings));
}
