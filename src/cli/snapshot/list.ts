import { toIsoOrNull } from "../../core/clock.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { register, type Group } from "../command.ts";
import { table } from "../table.ts";
import { checkSnapshotOptions, SNAPSHOT_REMEDIES as remedies } from "./place.ts";

export function registerSnapshotsList(group: Group): void {
  register(group, {
    name: "list",
    usesStore: false,
    summary: "list the snapshots of the sandbox and their contents",
    examples: ["checkout snapshots list", "checkout snapshots list --json"],
    run: runnerFor("listSnapshots", {
      usesStoppedFolder: true,
      text: ({ snapshots }, { width }) =>
        snapshots.length === 0
          ? "there are no snapshots; take one: checkout snapshots create <name>"
          : table(["NAME", "HOLDS", "TAKEN", "KIB"], snapshots.map(rowOf), { width, drop: ["KIB", "TAKEN"] }),
    }),
  });
}

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

type SnapshotEntry = AnswerOf<"listSnapshots">["snapshots"][number];

function rowOf({ name, storeId, takenAt, bytes, problem }: SnapshotEntry) {
  const contents = problem ?? (storeId === null ? "the whole sandbox" : `store ${storeId}`);
  return [name, contents, toIsoOrNull(takenAt), Math.ceil(bytes / 1024)];
}
