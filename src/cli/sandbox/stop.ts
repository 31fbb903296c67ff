import type { Command } from "commander";
import { localOrigin } from "../../core/loopback.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Run } from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { register, type CommonOptions, type Context, type Registry } from "../command.ts";
import { noteTarget } from "../folder/notes.ts";
import { findStateFolder, liveRun, shortPath } from "../folder/state-folder.ts";
import { EXIT, fail, interruptedProblem, type Ending, type Problem } from "../problem.ts";

/** How long a sandbox may take to stop: it gives requests in flight less than a second. */
const STOP_MS = 10_000;
const LOOK_EVERY_MS = 20;

/** `checkout sandbox stop`. */
export function registerSandboxStop(parent: Command, registry: Registry): void {
  register<CommonOptions>(parent, registry, {
    name: "stop",
    ofStore: false,
    summary: "stop the sandbox of this folder, and wait until it has ended; exit 0 also if none runs",
    examples: ["checkout sandbox stop", "checkout sandbox stop --dir /tmp/shop/.checkout --json"],
    options: [],
    run: runStop,
  });
}

async function runStop(context: Context, options: CommonOptions): Promise<Ending> {
  const { world, printer } = context;
  const found = findStateFolder(world, options);
  if (!found.ok) return found;
  const folder = found.value;
  noteTarget(context, options, "folder");
  const live = liveRun(world, folder);
  if (!live.ok) return live;
  const run = live.value;
  const shown = shortPath(world, folder);
  if (run === undefined) {
    const result = { ok: true, stopped: false, pid: null, data_dir: folder };
    return printer.result(result, () => `no sandbox was running here (${shown})`);
  }
  const asked = await askToStop(world, run);
  if (!asked.ok) return asked;
  const ended = await waitUntilGone(world, { folder, run });
  if (!ended.ok) return ended;
  const result = { ok: true, stopped: true, pid: run.pid, data_dir: folder };
  return printer.result(result, () => `the sandbox of ${shown} has stopped (pid ${run.pid})`);
}

/** Asks the very process of `run.json`, whose start was compared just before: by a signal, or else over the control API. */
async function askToStop(world: World, run: Run): Promise<Outcome<void, Problem>> {
  const sent = world.terminate(run.pid);
  if (sent === "sent" || sent === "gone") return accept(undefined);
  if (sent === "not_permitted") return fail(notPermitted(run));
  const port = run.port;
  if (port === null) return fail(notStopped(run, "it is still starting, and this system has no signals"));
  const { callControl } = await import("../../client/control/control.ts");
  const target = { origin: localOrigin(port), token: run.control_token, version: run.version ?? "" };
  const called = await callControl(world, target, { name: "stopSandbox", body: { pid: run.pid } });
  if (called.end === "success") return accept(undefined);
  const why = called.end === "unreachable" ? called.message : "it does not take this request";
  return fail(notStopped(run, why));
}

/** Waits until the process has ended and the folder is free, or somebody else's. */
async function waitUntilGone(
  world: World,
  { folder, run }: { readonly folder: string; readonly run: Run },
): Promise<Outcome<void, Problem>> {
  const interruption = new AbortController();
  const unsubscribe = world.onStop(() => interruption.abort());
  const { signal } = interruption;
  const since = world.monotonic();
  try {
    while (world.processStart(run.pid) === run.started) {
      if (signal.aborted) return fail(interruptedProblem("; the sandbox was asked to stop"));
      if (world.monotonic() - since > STOP_MS)
        return fail(notStopped(run, `it has not ended within ${STOP_MS / 1000} s`));
      await world.sleep(LOOK_EVERY_MS, signal);
    }
  } finally {
    unsubscribe();
  }
  const live = liveRun(world, folder);
  if (live.ok && live.value?.pid === run.pid && live.value.started === run.started)
    return fail(notStopped(run, "its folder is still taken"));
  return accept(undefined);
}

function notStopped({ pid }: Run, why: string): Problem {
  return {
    exitCode: EXIT.failed,
    code: "not_stopped",
    message: `the sandbox (pid ${pid}) did not stop: ${why}`,
    next: `end it yourself: kill -9 ${pid} (Windows: taskkill /F /PID ${pid}); its state survives that`,
  };
}

function notPermitted({ pid }: Run): Problem {
  const message = `the sandbox (pid ${pid}) belongs to another user, and cannot be stopped from here`;
  const next = "stop it as that user";
  return { exitCode: EXIT.failed, code: "not_permitted", message, next };
}
