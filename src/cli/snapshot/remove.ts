import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { register, type Group } from "../command.ts";
import { checkSnapshotOptions, SNAPSHOT_REMEDIES as remedies } from "./place.ts";

export function registerSnapshotsRemove(group: Group): void {
  register(group, {
    name: "remove <name>",
    usesStore: false,
    summary: "remove a snapshot; state that was restored from it is kept",
    examples: ["checkout snapshots remove before-launch"],
    run: runnerFor("removeSnapshot", {
      usesStoppedFolder: true,
      body: (options, { context, argument: name }) => {
        checkSnapshotOptions(context.world, options, name);
        return { name };
      },
      remedies,
      text: (_answer, _printer, { argument }) => `✓ ${printable(argument)} was removed`,
    }),
  });
}
