import { localOrigin } from "../../core/loopback.ts";
import type { RunRecord } from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { register, type Context, type Group } from "../command.ts";
import { findHiddenHolder } from "../../host/folder/hold.ts";
import { refuseProjectFolder } from "./running.ts";
import { noteTarget } from "../target/notes.ts";
import { interruptedProblem, Refused, RUN_THERE_HINT, catchRefusal } from "../problem.ts";
import { abortOnStop } from "../stopping.ts";
import { output } from "../output/output.ts";

const STOP_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 2000;
const CHECK_INTERVAL_MS = 20;

export function registerSandboxStop(group: Group): void {
  register(group, {
    name: "stop",
    usesStore: false,
    summary: "stop this folder's sandbox, and wait until it has ended; exit 0 even if no sandbox is running",
    exitCodes: { 0: "stopped, or no sandbox was running" },
    examples: ["checkout sandbox stop", "checkout sandbox stop --dir /tmp/shop/.checkout --json"],
    run: runStop,
  });
}

async function runStop(context: Context): Promise<number> {
  const { world, printer, around } = context;
  const folder = around.folder();
  noteTarget(context);
  const run = around.run();
  const shownFolder = around.shownFolder();
  if (run === undefined) {
    const holder = await findHiddenHolder(world, folder);
    if (holder !== undefined) {
      const message = `the sandbox cannot be stopped from here: ${holder} serves this folder`;
      throw new Refused({ code: "sandbox_unseen", message, next: RUN_THERE_HINT });
    }
    refuseProjectFolder(context, "stop");
    const result = output("stopped", { ok: true, stopped: false, pid: null, data_dir: folder });
    return printer.result(result, () => `no sandbox was running here (${shownFolder})`);
  }
  await askToStop(world, run);
  await waitUntilGone(context, run);
  const result = output("stopped", { ok: true, stopped: true, pid: run.pid, data_dir: folder });
  return printer.result(result, () => `the sandbox of ${shownFolder} has stopped (pid ${run.pid})`);
}

/**
 * Sends a signal if the control API does not stop the sandbox, but not to a program that hosts it, because the signal
 * would end the whole program.
 */
async function askToStop(world: World, run: RunRecord): Promise<void> {
  const reason = await callStop(world, run);
  if (reason === undefined) return;
  if (world.processStartTime(run.pid) !== run.started) return;
  if (run.is_guest === true) throw refuseNotStopped(run, reason);
  const result = world.terminate(run.pid);
  if (result === "sent" || result === "gone") return;
  if (result !== "not_permitted") throw refuseNotStopped(run, reason);
  const message = `the sandbox (pid ${run.pid}) belongs to another user`;
  throw new Refused({ code: "not_permitted", message, next: "stop it as that user" });
}

async function callStop(world: World, { port, pid, ...run }: RunRecord): Promise<string | undefined> {
  if (port === null) return run.is_guest === true ? "it has no port" : "it is still starting";
  const { callControl } = await import("../../client/control/control.ts");
  const target = { origin: localOrigin(port), token: run.control_token, version: run.version ?? "" };
  const call = { name: "stopSandbox", body: { pid }, timeoutMs: REQUEST_TIMEOUT_MS } as const;
  const answer = await callControl(world, target, call);
  if (answer.end === "success") return undefined;
  return answer.end === "unreachable" ? answer.message : "it refused the request";
}

/** Waits for the end of the process; a program that hosts the sandbox only has to release the folder. */
async function waitUntilGone({ world, around }: Context, run: RunRecord): Promise<void> {
  using stop = abortOnStop(world);
  const { signal } = stop;
  const isFolderTaken = (): boolean => {
    around.reload();
    const currentRun = catchRefusal(around.run).value;
    const { pid, started, control_token: token } = run;
    // The token differs if the program has meanwhile started another sandbox in the folder.
    return currentRun?.pid === pid && currentRun.started === started && currentRun.control_token === token;
  };
  const startedAt = world.monotonic();
  while (run.is_guest === true ? isFolderTaken() : world.processStartTime(run.pid) === run.started) {
    if (signal.aborted) throw new Refused(interruptedProblem("; the sandbox was asked to stop"));
    if (world.monotonic() - startedAt > STOP_TIMEOUT_MS)
      throw refuseNotStopped(run, `it has not ended within ${STOP_TIMEOUT_MS / 1000} s`);
    await world.sleep(CHECK_INTERVAL_MS, signal);
  }
  if (isFolderTaken()) throw refuseNotStopped(run, "its folder is still in use");
}

function refuseNotStopped({ pid, is_guest: isGuest }: RunRecord, reason: string): Refused {
  const killHint = `end the process yourself: kill -9 ${pid} (Windows: taskkill /F /PID ${pid}); its state is kept`;
  return new Refused({
    code: "not_stopped",
    message: `the sandbox (pid ${pid}) did not stop: ${reason}`,
    next: isGuest === true ? "close the sandbox in the program that hosts it" : killHint,
  });
}
