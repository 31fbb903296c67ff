import { parseJson } from "../../core/json.ts";
import { localOrigin } from "../../core/loopback.ts";
import type { DetachedProcess, Starter, World } from "../../world.ts";
import type { Context } from "../command.ts";
import { withConfig } from "../../host/config/start-settings.ts";
import { stateFile } from "../../host/folder/files.ts";
import { noteTarget } from "../target/notes.ts";
import { makeStateFolder } from "../../host/folder/state-folder.ts";
import {
  DONE,
  EXIT,
  fail,
  failUsage,
  interruptedProblem,
  type Ending,
  type Problem,
  hosted,
  endingOf,
} from "../problem.ts";
import { givenSecrets } from "../../host/given-secrets.ts";
import { findLive, readyOfLive, type Live } from "./live.ts";
import { banner, unannounced } from "./ready.ts";
import { serveSandbox } from "../../host/serve.ts";
import type { StartOptions } from "./serving-options.ts";
import type { Ready } from "../../host/ready.ts";

/** What a detached sandbox tells the command that started it. */
type Told =
  | {
      readonly ready: Ready;
      readonly heldBack?: string;
      readonly notes: readonly string[];
      readonly ownSecrets?: number | undefined;
      readonly activeFaults: number;
    }
  | { readonly problem: Problem };

/** How often a start looks again where another one was faster. */
const MAX_LOST_RACES = 10;
/** How long a process that is to stop before it was ready may take. */
const ABANDON_MS = 10_000;
/** Lines of the log that are shown where a detached sandbox ended without a word. */
const SHOWN_LOG_LINES = 5;

/**
 * `start --detach` and `start --reuse`: uses the live sandbox of the folder, or else starts one, detached or by `serve`.
 * Of several starts at once one serves, and the others use it.
 */
export async function startOrReuse(
  context: Context,
  options: StartOptions,
  serve: () => Promise<Ending>,
): Promise<Ending> {
  const { world } = context;
  if (options.ephemeral === true) return refuseEphemeral(options);
  const interruption = new AbortController();
  const unsubscribe = options.detach === true ? world.onStop(() => interruption.abort()) : undefined;
  const found = context.around.folder();
  if (!found.ok) return found;
  const folder = found.value;
  for (let races = 0; ; races += 1) {
    const live = await findLive(context, interruption.signal);
    if (!live.ok) return live;
    if (live.value !== undefined) return useLive(context, options, { folder, live: live.value });
    const ending =
      options.detach === true
        ? await startDetached(context, options, { folder, signal: interruption.signal })
        : await serve();
    const isLost = !ending.ok && ending.refusal.code === "already_running" && races < MAX_LOST_RACES;
    if (isLost) continue;
    unsubscribe?.();
    return ending;
  }
}

function refuseEphemeral({ detach }: StartOptions): Ending {
  const flag = detach === true ? "--detach" : "--reuse";
  const why = `nobody could find it again: it keeps no state folder`;
  return failUsage(
    `${flag} and --ephemeral exclude each other: ${why}`,
    'leave --ephemeral out, and name a folder to throw away: --dir "$(mktemp -d)"',
  );
}

/** Prints the ready line of the live sandbox; refuses where it is served otherwise than it was asked for. */
async function useLive(
  context: Context,
  options: StartOptions,
  { folder, live }: { readonly folder: string; readonly live: Live },
): Promise<Ending> {
  const { description } = live;
  const given = hosted(givenSecrets(context.world));
  if (!given.ok) return given;
  const wanted = hosted(await withConfig(context, options));
  if (!wanted.ok) return wanted;
  const { liveDifferences } = await import("../config/live-differences.ts");
  const asked = { options: wanted.value, given: given.value };
  const differences = await liveDifferences(context, asked, { folder, live });
  if (!differences.ok) return differences;
  const { all, ofStores } = differences.value;
  if (all.length > 0) {
    const apply = ofStores ? "; checkout config apply changes stores" : "";
    return fail({
      exitCode: EXIT.usage,
      code: "settings_differ",
      message: `the sandbox that runs here (pid ${description.pid}) is served otherwise than asked for`,
      next: `leave these settings out, or run checkout sandbox stop first${apply}`,
      differences: all,
    });
  }
  const signInUrl = await newSignInUrl(context.world, live);
  const ready = readyOfLive(context, { ...live, signInUrl });
  if (!ready.ok) return ready;
  if (description.heldBack !== null) warnHeldBack(context, description.heldBack);
  noteTarget(context, "folder");
  return context.printer.result(ready.value, () =>
    banner(context, ready.value, {
      running: { detached: description.logFile },
      given: given.value,
      ownSecrets: description.ownSecrets,
      activeFaults: description.activeFaults,
    }),
  );
}

/** A new link to the portal of a sandbox that runs; null where it has none. */
async function newSignInUrl(world: World, { run, description }: Live): Promise<string | null> {
  if (description.portalUrl === null) return null;
  const { callControl } = await import("../../client/control/control.ts");
  const { port, control_token: token, version = "" } = run;
  const target = { origin: localOrigin(port ?? 0), token, version };
  const made = await callControl(world, target, { name: "createSignIn", body: {} });
  return made.end === "success" ? made.value.signInUrl : null;
}

function warnHeldBack({ printer }: Context, why: string): void {
  printer.trace(`warning: no events are delivered: ${why}`);
}

/** Starts a process of its own, and prints what it tells: its ready line, or the problem that it met. */
async function startDetached(
  context: Context,
  options: StartOptions,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<Ending> {
  const { world, printer } = context;
  const given = hosted(givenSecrets(world));
  if (!given.ok) return given;
  const made = hosted(makeStateFolder(world, folder, options));
  if (!made.ok) return made;
  const logFile = stateFile(folder, "log");
  const logged = world.files.size(logFile) ?? 0;
  const started = world.startDetached({ logFile });
  const message = await Promise.race([started.told, aborted(signal)]);
  if (message === "aborted") return abandon(world, started);
  const told = message === undefined ? undefined : (parseJson(message) as Told | undefined);
  if (told === undefined) {
    return fail(endedEarly(await started.ended, logLines(world, { logFile, logged })));
  }
  if ("problem" in told) {
    started.abandon();
    await started.ended;
    return fail(told.problem);
  }
  for (const note of told.notes) printer.talk(note);
  const ending = await printer.result(told.ready, () =>
    banner(context, told.ready, {
      running: { detached: logFile },
      given: given.value,
      ownSecrets: told.ownSecrets,
      activeFaults: told.activeFaults,
    }),
  );
  if (world.isResultLost()) {
    started.abandon();
    await started.ended;
    return fail(unannounced());
  }
  noteTarget(context, "folder");
  if (told.heldBack !== undefined) warnHeldBack(context, told.heldBack);
  await started.letGo();
  return ending;
}

function aborted(signal: AbortSignal): Promise<"aborted"> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"));
  });
}

/** Ends a process that was started, so that Ctrl-C leaves nothing behind. */
async function abandon(world: World, { abandon: stop, ended }: DetachedProcess): Promise<Ending> {
  stop();
  const late = new Promise<void>((resolve) => world.after(ABANDON_MS, resolve));
  await Promise.race([ended, late]);
  return fail(interruptedProblem("; no sandbox was started"));
}

/** What a process has written to its log since it was started: the last lines. */
function logLines(
  { files }: World,
  { logFile, logged }: { readonly logFile: string; readonly logged: number },
): readonly string[] {
  const { bytes } = files.readFrom(logFile, logged) ?? { bytes: new Uint8Array(0) };
  const lines = Buffer.from(bytes)
    .toString("utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.slice(-SHOWN_LOG_LINES);
}

function endedEarly(how: string, lines: readonly string[]): Problem {
  const end = lines.length === 0 ? "" : `; its log ends with: ${lines.join(" / ")}`;
  return {
    exitCode: EXIT.failed,
    code: "start_failed",
    message: `the sandbox ended before it was ready (${how})${end}`,
    next: "run checkout sandbox logs, or start it here to see more: checkout sandbox start",
  };
}

/** Serves in a process that was started detached: tells its starter when it is ready, and stops where that has gone. */
export async function serveDetached(
  context: Context,
  options: StartOptions,
  starter: Starter,
): Promise<Ending> {
  const { world, printer } = context;
  const stop = Promise.withResolvers<"stopped">();
  let isStopped = false;
  world.onStop(() => {
    isStopped = true;
    stop.resolve("stopped");
  });
  const found = context.around.folder();
  if (!found.ok) return found;
  const notes: string[] = [];
  const talk = (text: string): void => {
    notes.push(text);
    printer.talk(text);
  };
  const place = { ...context, printer: { ...printer, talk } };
  const configured = hosted(await withConfig(place, options));
  if (!configured.ok) return configured;
  const ended = await serveSandbox(place, configured.value, {
    place: { folder: found.value, log: world.stderr, logFile: starter.logFile },
    use: async ({ ready, description, heldBack, stopRequested }) => {
      if (isStopped) return fail(interruptedProblem(" before it was ready"));
      const { ownSecrets, activeFaults } = description;
      const told: Told = {
        ready,
        notes,
        ownSecrets,
        activeFaults,
        ...(heldBack === undefined ? {} : { heldBack }),
      };
      if (!(await starter.tell(JSON.stringify(told)))) return fail(abandoned());
      printer.talk(`checkout sandbox ${ready.version} serves ${ready.base_url} (pid ${ready.pid}).`);
      await Promise.race([stop.promise, stopRequested]);
      return DONE;
    },
  });
  const ending = endingOf(ended);
  if (ending.ok) printer.talk("checkout sandbox stopped.");
  return ending;
}

function abandoned(): Problem {
  const message = "the command that started this sandbox ended before it was ready";
  return { exitCode: EXIT.failed, code: "abandoned", message, next: "checkout sandbox start --detach" };
}
