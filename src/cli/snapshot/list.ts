import { withSandbox } from "../target/with-sandbox.ts";
import type { Command } from "commander";
import { iso } from "../../core/clock.ts";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { register, type Context, type Registry } from "../command.ts";
import { widthOf } from "../printer.ts";
import type { Ending } from "../problem.ts";
import { table } from "../table.ts";
import { callAt } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type Listed = AnswerOf<"listSnapshots">;

/** `checkout snapshots list`. */
export function registerSnapshotsList(parent: Command, registry: Registry): void {
  register<CommonOptions>(parent, registry, {
    name: "list",
    ofStore: false,
    summary: "list the snapshots of the sandbox, with what each of them holds",
    examples: ["checkout snapshots list", "checkout snapshots list --json"],
    run: runList,
  });
}

async function runList(context: Context): Promise<Ending> {
  const { world, printer } = context;
  const listed = await withSandbox<Listed>(context, (target) =>
    callAt(context, target, { name: "listSnapshots", body: undefined }),
  );
  if (!listed.ok) return listed;
  const { snapshots } = listed.value;
  return printer.result(encodeAnswer("listSnapshots", listed.value), () =>
    snapshots.length === 0
      ? "There is no snapshot yet: checkout snapshots create <name>"
      : table(["NAME", "HOLDS", "TAKEN", "KIB"], snapshots.map(rowOf), {
          width: widthOf(world.stdout),
          drop: ["KIB", "TAKEN"],
        }),
  );
}

function rowOf({ name, storeId, takenAt, bytes, problem }: Listed["snapshots"][number]) {
  const holds = problem ?? (storeId === null ? "the whole sandbox" : `store ${storeId}`);
  return [name, holds, takenAt === null ? null : iso(takenAt), Math.ceil(bytes / 1024)];
}
