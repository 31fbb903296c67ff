import type { ControlTarget } from "../../client/control/control.ts";
import type { Outcome } from "../../core/outcome.ts";
import { stateFile } from "../../host/folder/files.ts";
import type { Context } from "../command.ts";
import { EXIT, fail, problemOf, type Problem } from "../problem.ts";
import { sandboxIn } from "./control.ts";
import { noteTarget } from "./notes.ts";
import { isOwn } from "./surroundings.ts";

/**
 * Acts on the live sandbox that is meant, or, where none runs, on the state of the folder: the same operations are called
 * in this process then. `folder` is that of the sandbox; undefined for one that keeps nothing, or is not this folder's.
 */
export async function withSandbox<Value>(
  context: Context,
  act: (target: ControlTarget, folder: string | undefined) => Promise<Outcome<Value, Problem>>,
): Promise<Outcome<Value, Problem>> {
  const { around, world, version } = context;
  const live = sandboxIn(context);
  if (!live.ok) return live;
  noteTarget(context, live.value === undefined ? "folder" : { url: live.value.origin });
  if (live.value !== undefined)
    return act(live.value, isOwn(around, live.value.origin) ? around.location() : undefined);
  const found = around.folder();
  if (!found.ok) return found;
  const folder = found.value;
  if (!world.files.exists(stateFile(folder, "database"))) return fail(nothingThere(folder));
  const { inStoppedFolder } = await import("../../host/stopped.ts");
  const done = await inStoppedFolder(context, folder, (sandbox) => act({ ...sandbox, version }, folder));
  if (!done.ok) return fail(problemOf(done.refusal));
  if (done.value.ok || done.value.refusal.exitCode !== EXIT.unreachable) return done.value;
  // No service failed: this process did.
  return fail({ ...done.value.refusal, exitCode: EXIT.failed });
}

function nothingThere(folder: string): Problem {
  const message = `there is no state in ${folder}, and no sandbox runs there`;
  return { exitCode: EXIT.unreachable, code: "no_sandbox", message, next: "checkout sandbox start" };
}
