import type { Command } from "commander";
import { accept, type Outcome } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { register, switchOption, type Context, type Registry } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { noteTarget } from "../target/notes.ts";
import { DONE, EXIT, fail, notRunning, type Ending, type Problem } from "../problem.ts";
import { describeRun } from "./live.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type LogsOptions = CommonOptions & { readonly follow?: boolean };

const LOOK_EVERY_MS = 200;

/** `checkout sandbox logs`. */
export function registerSandboxLogs(parent: Command, registry: Registry): void {
  register<LogsOptions>(parent, registry, {
    name: "logs",
    ofStore: false,
    summary: "print the log of a sandbox that was started with --detach",
    examples: ["checkout sandbox logs", "checkout sandbox logs --follow", "checkout sandbox logs --json"],
    options: [switchOption("-f, --follow", "go on with what is written from now on, until Ctrl-C")],
    run: runLogs,
  });
}

async function runLogs(context: Context, options: LogsOptions): Promise<Ending> {
  const { world, around } = context;
  const found = around.folder();
  if (!found.ok) return found;
  const folder = found.value;
  noteTarget(context, "folder");
  const isThere = await checkLog(context, folder);
  if (!isThere.ok) return isThere;
  const stop = new AbortController();
  const unsubscribe = world.onStop(() => stop.abort());
  // Who read the lines may have gone.
  world.stdout.once("close", () => stop.abort());
  const log = readLog(world.files, folder);
  const lines = createLines(context);
  try {
    log.older().forEach(lines.add);
    for (;;) {
      log.next().forEach(lines.add);
      if (options.follow !== true || stop.signal.aborted) break;
      await world.sleep(LOOK_EVERY_MS, stop.signal);
    }
  } finally {
    unsubscribe();
  }
  lines.end();
  return DONE;
}

/** Refuses where there is no log to read, because the sandbox logs elsewhere or never ran detached. */
async function checkLog(context: Context, folder: string): Promise<Outcome<void, Problem>> {
  const { world, around } = context;
  const live = around.run();
  if (!live.ok) return live;
  if (live.value !== undefined && live.value.port !== null) {
    const described = await describeRun(context, live.value);
    // One that does not answer may have said why in its log.
    if (described.ok && described.value.description.logFile === null) return fail(inTerminal(live.value.pid));
  }
  if (world.files.exists(stateFile(folder, "log"))) return accept(undefined);
  if (live.value !== undefined) return fail(inTerminal(live.value.pid));
  const { message, ...problem } = notRunning(around.shownFolder());
  return fail({ ...problem, message: `there is no log: ${message}` });
}

function inTerminal(pid: number): Problem {
  return {
    exitCode: EXIT.failed,
    code: "no_log_file",
    message: `the sandbox that runs here (pid ${pid}) writes its log to the terminal that it was started in`,
    next: "look there, or have it in a file: checkout sandbox stop; checkout sandbox start --detach",
  };
}

type LogReader = {
  /** What the older file holds. */
  readonly older: () => readonly Uint8Array[];
  /** What the log holds beyond what was read, also if it has started anew meanwhile. */
  readonly next: () => readonly Uint8Array[];
};

function readLog({ readFrom }: World["files"], folder: string): LogReader {
  const [path, olderPath] = [stateFile(folder, "log"), stateFile(folder, "olderLog")];
  const older = (offset: number): Uint8Array[] => {
    const found = readFrom(olderPath, offset);
    return found === undefined ? [] : [found.bytes];
  };
  let offset = 0;
  return {
    older: () => older(0),
    next: () => {
      const found = readFrom(path, offset);
      if (found === undefined) return [];
      // It is shorter, so what it held has moved into the older file.
      const isNew = found.size < offset;
      const parts = isNew ? [...older(offset), readFrom(path, 0)?.bytes ?? new Uint8Array(0)] : [found.bytes];
      offset = (isNew ? 0 : offset) + (parts.at(-1)?.length ?? 0);
      return parts;
    },
  };
}

/** Prints whole lines of bytes that come in parts. */
function createLines({ printer }: Context) {
  let rest = Buffer.alloc(0);
  const print = (line: string): void => printer.line({ line }, () => printable(line));
  return {
    add: (part: Uint8Array): void => {
      const bytes = Buffer.concat([rest, part]);
      const end = bytes.lastIndexOf("\n") + 1;
      rest = bytes.subarray(end);
      if (end > 0)
        bytes
          .toString("utf8", 0, end - 1)
          .split("\n")
          .forEach(print);
    },
    end: (): void => {
      if (rest.length > 0) print(rest.toString("utf8"));
    },
  };
}
