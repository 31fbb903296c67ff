import type { Command } from "commander";
import { encodeAnswer, type RequestOf } from "../../core/control/operations.ts";
import {
  meantOrigin,
  meantPath,
  parseReturnOrigin,
  parseReturnPath,
  returnText,
  type ReturnOrigin,
} from "../../core/checkout/return-origin.ts";
import { quote, shellOf, type Shell } from "../../core/shell/quote.ts";
import { orInvalid, register, valueOption, type Context, type Registry } from "../command.ts";
import { failUsage, type Ending } from "../problem.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

const NONE = "no return origin is registered; add one: checkout return-origins add http://localhost:3000";

const NEXT_AFTER = {
  state_conflict: "remove one that you no longer need: checkout return-origins remove <origin>",
  not_found: "checkout return-origins list shows them",
};

type AddOptions = CommonOptions & { readonly path?: string };

/** `checkout return-origins add|list|remove`. */
export function registerReturnOrigins(parent: Command, registry: Registry): void {
  register<AddOptions>(parent, registry, {
    name: "add <origin>",
    summary: "add an origin that customers may be sent back to, or change its path",
    examples: [
      "checkout return-origins add https://shop.example",
      "checkout return-origins add http://localhost:3000 --path /thanks",
    ],
    options: [
      valueOption(
        "--path <path>",
        "the page there that customers are sent back to (default: /)",
        orInvalid(parseReturnPath),
      ),
    ],
    run: (context, options, origin = "") =>
      runChange(context, options, { action: "add", origin, path: options.path }),
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

async function runList(context: Context): Promise<Ending> {
  const listed = await callSandbox(context, {
    name: "listReturnOrigins",
    body: undefined,
    nextAfter: NEXT_AFTER,
  });
  if (!listed.ok) return listed;
  const { returnOrigins: origins } = listed.value;
  return context.printer.result(encodeAnswer("listReturnOrigins", listed.value), () =>
    origins.length === 0 ? NONE : origins.map(returnText).join("\n"),
  );
}

/** The service's own check comes first, so that what cannot be an origin is a usage error, sandbox or no sandbox. */
async function runChange(
  context: Context,
  _options: CommonOptions,
  request: RequestOf<"changeReturnOrigins">,
): Promise<Ending> {
  const origin = parseReturnOrigin(request.origin);
  if (!origin.ok)
    return failUsage(origin.refusal.message, nextAfterRefusal(request, shellOf(context.world.env)));
  const changed = await callSandbox(context, {
    name: "changeReturnOrigins",
    body: request,
    nextAfter: NEXT_AFTER,
  });
  if (!changed.ok) return changed;
  return context.printer.result(encodeAnswer("changeReturnOrigins", changed.value), () =>
    request.action === "add"
      ? addedText(changed.value.returnOrigins, origin.value)
      : `customers are no longer sent back to ${origin.value}`,
  );
}

function nextAfterRefusal(request: RequestOf<"changeReturnOrigins">, shell: Shell): string {
  const meant = meantOrigin(request.origin);
  if (meant === undefined) return "correct it; nothing was changed";
  const path = request.action === "add" && request.path === undefined ? meantPath(request.origin) : undefined;
  return `checkout return-origins ${request.action} ${quote(meant, shell)}${path === undefined ? "" : ` --path ${quote(path, shell)}`}`;
}

function addedText(all: readonly ReturnOrigin[], origin: string): string {
  const [linked, added] = [all[0], all.find((one) => one.origin === origin)];
  if (linked === undefined || added === undefined) throw new Error("what was added is listed");
  const text = `customers may be sent back to ${returnText(added)}`;
  return linked === added ? text : `${text}; payment pages link to the first one, ${returnText(linked)}`;
}
