import { printable } from "../../core/text.ts";
import { calling } from "../calling.ts";
import { register, switchOption, type Group } from "../command.ts";
import { refusedUsage } from "../problem.ts";
import { confirm } from "../prompts.ts";
import { sandboxStore } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type DeleteOptions = CommonOptions & { readonly yes?: boolean };

/** `checkout stores delete`. */
export function registerStoresDelete(group: Group): void {
  register<DeleteOptions>(group, {
    name: "delete <id|name>",
    ofStore: false,
    summary: "delete a store with everything that belongs to it: keys, secrets, endpoints, orders, events",
    examples: ["checkout stores delete <id>", "checkout stores delete <id> --yes --json"],
    options: [switchOption("--yes", "do not ask")],
    run: calling("deleteStore", {
      target: async (context, { yes }, text = "") => {
        const { world } = context;
        const shown = printable(text);
        if (yes !== true && !world.interactive)
          throw refusedUsage(`the store ${shown} would be deleted with all that belongs to it`, "add --yes");
        const target = await sandboxStore(context, text);
        if (yes !== true) await confirm(world, `Delete the store ${shown} with all that belongs to it?`);
        return target;
      },
      body: () => ({}),
      nextAfter: {
        not_found: "checkout stores list shows them",
        state_conflict: "checkout sandbox reset --store <id> deletes what has happened in it",
      },
      text: ({ name, storeId }) => `✓ ${printable(name)} (${storeId}) is deleted`,
    }),
  });
}
