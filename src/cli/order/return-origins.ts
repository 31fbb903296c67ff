import type { RequestOf } from "../../core/control/operations.ts";
import {
  suggestReturnOrigin,
  suggestReturnPath,
  parseReturnOrigin,
  parseReturnPath,
  formatReturnOrigin,
  type ReturnOrigin,
} from "../../core/checkout/return-origin.ts";
import { quote, shellOf, type Shell } from "../../core/shell/quote.ts";
import { runnerFor } from "../calling.ts";
import { toOptionParser, register, valueOption, type Context, type Group } from "../command.ts";
import { refuseUsage } from "../problem.ts";
import type { CommonOptions } from "../target/surroundings.ts";

const NO_ORIGINS_TEXT =
  "no return origin is registered; add one: checkout return-origins add http://localhost:3000";

const REMEDIES = {
  state_conflict: "remove an origin that you no longer need: checkout return-origins remove <origin>",
  not_found: "checkout return-origins list shows the origins",
};

type AddOptions = CommonOptions & { readonly path?: string };

export function registerReturnOrigins(group: Group): void {
  register<AddOptions>(group, {
    name: "add <origin>",
    summary: "add an origin that customers may be sent back to, or change its path",
    examples: [
      "checkout return-origins add https://shop.example",
      "checkout return-origins add http://localhost:3000 --path /thanks",
    ],
    options: [
      valueOption(
        "--path <path>",
        { text: "path of the page that customers are sent back to", default: "/" },
        toOptionParser(parseReturnPath),
      ),
    ],
    run: runnerFor("changeReturnOrigins", {
      body: ({ path }, { context, argument: origin }) =>
        checkChange(context, { action: "add", origin, path }),
      remedies: REMEDIES,
      text: ({ returnOrigins }, _printer, { argument }) => addResultText(returnOrigins, argument),
    }),
  });
  register(group, {
    name: "list",
    summary: "list the origins that customers may be sent back to, oldest first",
    examples: ["checkout return-origins list", "checkout return-origins list --json"],
    run: runnerFor("listReturnOrigins", {
      remedies: REMEDIES,
      text: ({ returnOrigins: origins }) =>
        origins.length === 0 ? NO_ORIGINS_TEXT : origins.map(formatReturnOrigin).join("\n"),
    }),
  });
  register(group, {
    name: "remove <origin>",
    summary: "remove an origin; customers are no longer sent back to it",
    examples: ["checkout return-origins remove http://localhost:3000"],
    run: runnerFor("changeReturnOrigins", {
      body: (_options, { context, argument: origin }) => checkChange(context, { action: "remove", origin }),
      remedies: REMEDIES,
      text: (_answer, _printer, { argument }) => `customers are no longer sent back to ${toOrigin(argument)}`,
    }),
  });
}

type Change = RequestOf<"changeReturnOrigins">;

function checkChange({ world }: Context, change: Change): Change {
  const origin = parseReturnOrigin(change.origin);
  if (!origin.ok) throw refuseUsage(origin.refusal.message, remedyForOrigin(change, shellOf(world.env)));
  return change;
}

function toOrigin(text: string): string {
  const origin = parseReturnOrigin(text);
  return origin.ok ? origin.value : text;
}

function remedyForOrigin(request: Change, shell: Shell): string {
  const guessedOrigin = suggestReturnOrigin(request.origin);
  if (guessedOrigin === undefined) return "correct it; nothing was changed";
  const path =
    request.action === "add" && request.path === undefined ? suggestReturnPath(request.origin) : undefined;
  return `checkout return-origins ${request.action} ${quote(guessedOrigin, shell)}${path === undefined ? "" : ` --path ${quote(path, shell)}`}`;
}

function addResultText(origins: readonly ReturnOrigin[], text: string): string {
  const origin = toOrigin(text);
  const [linkedOrigin, newOrigin] = [origins[0], origins.find((entry) => entry.origin === origin)];
  if (linkedOrigin === undefined || newOrigin === undefined)
    throw new Error("the added origin is not listed");
  const permissionText = `customers may be sent back to ${formatReturnOrigin(newOrigin)}`;
  return linkedOrigin === newOrigin
    ? permissionText
    : `${permissionText}; payment pages link to the first one, ${formatReturnOrigin(linkedOrigin)}`;
}
