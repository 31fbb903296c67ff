import { displayStoreName } from "../../core/config/store-name.ts";
import { formatReturnOrigin } from "../../core/checkout/return-origin.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { runnerFor } from "../calling.ts";
import { register, type Group } from "../command.ts";
import { fieldLines } from "../printer.ts";
import { table, type TableStyle } from "../table.ts";
import { priceLines, yesOrNo } from "./prices.ts";
import { requireControlTarget, resolveStore, requireSandboxTarget } from "../target/control.ts";
import { output } from "../output/output.ts";

export function registerStoresShow(group: Group): void {
  register(group, {
    name: "show [id]",
    summary: "show a store: ids, keys, capabilities and return origins, without secrets",
    examples: ["checkout stores show", "checkout stores show 'Tea Shop' --json"],
    run: runnerFor("storeSummary", {
      target: async (context, _options, store) =>
        store === undefined
          ? requireControlTarget(context)
          : resolveStore(context, await requireSandboxTarget(context), store),
      text: (summary, printer) => summaryLines(summary, printer),
    }),
  });
}

export function registerCapabilities(group: Group): void {
  register(group, {
    name: "list",
    summary: "list the payment methods and currencies of the store, and whether each is active",
    examples: ["checkout capabilities list", "checkout capabilities list --json"],
    run: runnerFor("storeSummary", {
      json: ({ capabilities }, { store }) => output("capabilities", { store_id: store.id, capabilities }),
      text: (summary, printer) => capabilityLines(summary, printer),
    }),
  });
}

async function summaryLines(summary: AnswerOf<"storeSummary">, layout: TableStyle): Promise<string> {
  const { merchant, store, apiKeys: keys, returnOrigins: origins, endpoints, prices } = summary;
  const fields = fieldLines([
    ["merchant", `${merchant.name} (${merchant.id})`],
    ["store", `${displayStoreName(store.name)} (${store.id})`],
    ["active", yesOrNo(store.active)],
    ...keys.map((key) => ["api_key", `…${key.lastFour}: ${key.scopes.join(", ")}`] as const),
    ["return_origins", origins.length === 0 ? null : origins.map(formatReturnOrigin).join(", ")],
    ["endpoints", endpoints],
  ]);
  return [fields, await capabilityLines(summary, layout), await priceLines(prices, layout)].join("\n\n");
}

function capabilityLines(
  { capabilities }: AnswerOf<"storeSummary">,
  { width, style }: TableStyle,
): Promise<string> {
  return table(
    ["CAPABILITY", "KIND", "ACTIVE"],
    capabilities.map(({ name, kind, active }) => [name, kind, yesOrNo(active)]),
    { width, style },
  );
}
