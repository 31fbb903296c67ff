import { displayStoreName } from "../../core/config/store-name.ts";
import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { register, switchOption, valueOption, type Context, type Group } from "../command.ts";
import { refuseUsage } from "../problem.ts";
import { confirm } from "../prompts.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type ResetOptions = CommonOptions & { readonly store?: string; readonly yes?: boolean };

export function registerSandboxReset(group: Group): void {
  register<ResetOptions>(group, {
    name: "reset",
    usesStore: false,
    summary: "delete orders, events and all other history; keep keys, prices, endpoints and other settings",
    examples: ["checkout sandbox reset --yes", "checkout sandbox reset --store <id> --yes --json"],
    options: [
      valueOption("--store <id|name>", {
        text: "id or name of the only store to reset",
        default: "all stores of the sandbox",
      }),
      switchOption("--yes", "skip the confirmation prompt"),
    ],
    run: runnerFor("reset", {
      usesStoppedFolder: true,
      body: async (options, { context }) => {
        await confirmReset(context, options);
        return { store: options.store };
      },
      remedies: REMEDIES,
      text: ({ stores }) =>
        stores
          .map(({ storeId, name }) => `✓ ${printable(displayStoreName(name))} (${storeId}) was reset`)
          .join("\n"),
    }),
  });
}

const REMEDIES = {
  not_found: "checkout stores list shows the stores",
  state_conflict:
    "if several stores have the name, name the store by its id; otherwise run it again when its requests have ended",
} as const;

async function confirmReset({ world }: Context, { yes, store }: ResetOptions): Promise<void> {
  if (yes === true) return;
  const scopeText = store === undefined ? "all stores" : `the store ${store}`;
  if (!world.isInteractive())
    throw refuseUsage(`the whole history of ${scopeText} would be deleted`, "add --yes to confirm");
  return confirm(world, `Delete the whole history of ${printable(scopeText)}?`);
}
