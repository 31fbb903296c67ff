import type { ControlTarget } from "../../client/control/control.ts";
import { stateFile } from "../../host/folder/files.ts";
import type { Context } from "../command.ts";
import { EXIT, START_SANDBOX, unwrap, Refused, catchRefusal, type Problem } from "../problem.ts";
import { findSandbox } from "./control.ts";
import { noteTarget } from "./notes.ts";
import { isOwnSandbox } from "./surroundings.ts";

/** In this process if none is running. `folder`: undefined without a folder, or for another folder's sandbox. */
export async function withSandbox<Value>(
  context: Context,
  act: (target: ControlTarget, folder: string | undefined) => Promise<Value>,
): Promise<Value> {
  const { around, world, version } = context;
  const live = findSandbox(context);
  noteTarget(context, live === undefined ? "folder" : { url: live.origin });
  if (live !== undefined) return act(live, isOwnSandbox(around, live.origin) ? around.location() : undefined);
  const folder = around.folder();
  if (!world.files.exists(stateFile(folder, "database"))) throw new Refused(noStateProblem(folder));
  const { withStoppedFolder } = await import("../../host/stopped.ts");
  // An unreachable address is then a failure of this process, not of a service.
  const failing = (problem: Problem): Problem =>
    problem.exitCode === EXIT.unreachable ? { ...problem, exitCode: EXIT.failed } : problem;
  const acting = async (sandbox: Omit<ControlTarget, "version">) =>
    unwrap(await catchRefusal(act({ ...sandbox, version }, folder)), failing);
  return unwrap(await withStoppedFolder(context, folder, acting));
}

function noStateProblem(folder: string): Problem {
  const message = `there is no state in ${folder}, and no sandbox is running there`;
  return { exitCode: EXIT.unreachable, code: "no_sandbox", message, next: START_SANDBOX };
}
