import type { Command } from "commander";
import { encodeAnswer, type RequestOf } from "../../core/control/operations.ts";
import { meantOrigin, parseReturnOrigin } from "../../core/checkout/return-origin.ts";
import { register, type CommonOptions, type Context, type Registry } from "../command.ts";
import { callSandbox } from "../control-command.ts";
import { failUsage, type Ending } from "../problem.ts";

const NONE = "no return origin is registered; add one: checkout return-origins add http://localhost:3000";

const NEXT_AFTER = {
  state_conflict: "remove one that you no longer need: checkout return-origins remove <origin>",
  not_found: "checkout return-origins list shows them",
};

/** `checkout return-origins add|list|remove`. */
export function registerReturnOrigins(parent: Command, registry: Registry): void {
  register<CommonOptions>(parent, registry, {
    name: "add <origin>",
    summary: "add an origin that customers may be sent back to",
    examples: [
      "checkout return-origins add https://shop.example",
      "checkout return-origins add http://localhost:3000",
    ],
    options: [],
    run: (context, options, origin = "") => runChange(context, options, { action: "add", origin }),
  });
  register<CommonOptions>(parent, registry, {
    name: "list",
    summary: "list the origins that customers may be sent back to, oldest first",
    examples: ["checkout return-origins list", "checkout return-origins list --json"],
    options: [],
    run: runList,
  });
  register<CommonOptions>(parent, registry, {
    name: "remove <origin>",
    summary: "remove an origin, so that customers are no longer sent back to it",
    examples: ["checkout return-origins remove http://localhost:3000"],
    options: [],
    run: (context, options, origin = "") => runChange(context, options, { action: "remove", origin }),
  });
}

async function runList(context: Context, options: CommonOptions): Promise<Ending> {
  const listed = await callSandbox(context, options, {
    name: "listReturnOrigins",
    body: undefined,
    nextAfter: NEXT_AFTER,
  });
  if (!listed.ok) return listed;
  const { returnOrigins: origins } = listed.value;
  return context.printer.result(encodeAnswer("listReturnOrigins", listed.value), () =>
    origins.length === 0 ? NONE : origins.join("\n"),
  );
}

/** The service's own check comes first, so that what cannot be an origin is a usage error, sandbox or no sandbox. */
async function runChange(
  context: Context,
  options: CommonOptions,
  request: RequestOf<"changeReturnOrigins">,
): Promise<Ending> {
  const origin = parseReturnOrigin(request.origin);
  if (!origin.ok) {
    const meant = meantOrigin(request.origin);
    const next =
      meant === undefined
        ? "correct it; nothing was changed"
        : `checkout return-origins ${request.action} ${meant}`;
    return failUsage(origin.refusal.message, next);
  }
  const changed = await callSandbox(context, options, {
    name: "changeReturnOrigins",
    body: request,
    nextAfter: NEXT_AFTER,
  });
  if (!changed.ok) return changed;
  const [linked = ""] = changed.value.returnOrigins;
  return context.printer.result(encodeAnswer("changeReturnOrigins", changed.value), () =>
    request.action === "add"
      ? `customers may be sent back to ${origin.value}${linked === origin.value ? "" : `; payment pages link to the first one, ${linked}`}`
      : `customers are no longer sent back to ${origin.value}`,
  );
}
