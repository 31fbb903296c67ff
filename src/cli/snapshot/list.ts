import { toIsoOrNull } from "../../core/clock.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { runnerFor } from "../calling.ts";
import { register, type Group } from "../command.ts";
import { table } from "../table.ts";

type SnapshotList = AnswerOf<"listSnapshots">;

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

function rowOf({ name, storeId, takenAt, bytes, problem }: SnapshotList["snapshots"][number]) {
  const contents = problem ?? (storeId === null ? "the whole sandbox" : `store ${storeId}`);
  return [name, contents, toIsoOrNull(takenAt), Math.ceil(bytes / 1024)];
}
