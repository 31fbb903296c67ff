import { printable } from "../../core/text.ts";
import { calling } from "../calling.ts";
import { register, type Group } from "../command.ts";
import { checkCommand, NEXT_AFTER_SNAPSHOT as nextAfter } from "./place.ts";

/** `checkout snapshots remove`. */
export function registerSnapshotsRemove(group: Group): void {
  register(group, {
    name: "remove <name>",
    ofStore: false,
    summary: "remove a snapshot; state that was restored from it is kept",
    examples: ["checkout snapshots remove before-launch"],
    run: calling("removeSnapshot", {
      orStopped: true,
      body: (options, { context, argument: name }) => {
        checkCommand(context.world, options, name);
        return { name };
      },
      nextAfter,
      text: (_answer, _printer, { argument }) => `✓ ${printable(argument)} was removed`,
    }),
  });
}
