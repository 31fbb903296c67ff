import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { register, switchOption, type Group } from "../command.ts";
import { refuseUsage } from "../problem.ts";
import { confirm } from "../prompts.ts";
import { resolveStore, requireSandboxTarget } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type DeleteOptions = CommonOptions & { readonly yes?: boolean };

export function registerStoresDelete(group: Group): void {
  register<DeleteOptions>(group, {
    name: "delete <id|name>",
    usesStore: false,
    summary: "delete a store with all its keys, secrets, endpoints, orders and events",
    examples: ["checkout stores delete <id>", "checkout stores delete <id> --yes --json"],
    options: [switchOption("--yes", "skip the confirmation prompt")],
    run: runnerFor("deleteStore", {
      target: async (context, { yes }, text = "") => {
        const { world } = context;
        const shownStore = printable(text);
        if (yes !== true && !world.isInteractive())
          throw refuseUsage(
            `the store ${shownStore} would be deleted with everything in it`,
            "add --yes to confirm",
          );
        const target = await resolveStore(context, await requireSandboxTarget(context), text);
        if (yes !== true) await confirm(world, `Delete the store ${shownStore} with everything in it?`);
        return target;
      },
      body: () => ({}),
      remedies: {
        not_found: "checkout stores list shows the stores",
        state_conflict: "to delete only the history of a store: checkout sandbox reset --store <id>",
      },
      text: ({ name, storeId }) => `✓ ${printable(name)} (${storeId}) was deleted`,
    }),
  });
}
