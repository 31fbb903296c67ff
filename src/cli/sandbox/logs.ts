import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { register, switchOption, type Context, type Group } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { noteTarget } from "../target/notes.ts";
import { catchRefusal, EXIT, noSandboxProblem, Refused } from "../problem.ts";
import { abortOnStop } from "../stopping.ts";
import { fetchRunningSandbox } from "./running.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { output } from "../output/output.ts";

type LogsOptions = CommonOptions & { readonly follow?: boolean };

const CHECK_INTERVAL_MS = 200;

export function registerSandboxLogs(group: Group): void {
  register<LogsOptions>(group, {
    name: "logs",
    usesStore: false,
    summary: "print the log of a sandbox started with --detach",
    examples: ["checkout sandbox logs", "checkout sandbox logs --follow", "checkout sandbox logs --json"],
    options: [switchOption("-f, --follow", "keep printing new lines, until Ctrl-C")],
    run: runLogs,
  });
}

async function runLogs(context: Context, options: LogsOptions): Promise<number> {
  const { world, around } = context;
  const folder = around.folder();
  noteTarget(context);
  await checkLog(context, folder);
  using stop = abortOnStop(world);
  world.stdout.once("close", () => stop.abort());
  const log = createLogReader(world.files, folder);
  const linePrinter = createLinePrinter(context);
  log.readOlder().forEach(linePrinter.add);
  for (;;) {
    log.readNext().forEach(linePrinter.add);
    if (options.follow !== true || stop.signal.aborted) break;
    await world.sleep(CHECK_INTERVAL_MS, stop.signal);
  }
  linePrinter.end();
  return EXIT.done;
}

async function checkLog(context: Context, folder: string): Promise<void> {
  const { world, around } = context;
  const run = around.run();
  if (run !== undefined && run.port !== null) {
    const outcome = await catchRefusal(fetchRunningSandbox(context, run));
    // A sandbox that does not answer is accepted, because its log may say why.
    if (outcome.ok && outcome.value.description.logFile === null) throw refuseTerminalLog(run.pid);
  }
  if (world.files.exists(stateFile(folder, "log"))) return;
  if (run !== undefined) throw refuseTerminalLog(run.pid);
  const { message, ...problem } = noSandboxProblem(around.shownFolder());
  throw new Refused({ ...problem, message: `there is no log: ${message}` });
}

function refuseTerminalLog(pid: number): Refused {
  return new Refused({
    code: "no_log_file",
    message: `the running sandbox (pid ${pid}) writes its log to the terminal in which it was started`,
    next: "look there, or restart it with a log file: checkout sandbox stop; checkout sandbox start --detach",
  });
}

function createLogReader({ readFrom }: World["files"], folder: string) {
  const [path, olderPath] = [stateFile(folder, "log"), stateFile(folder, "olderLog")];
  const readOlder = (offset: number): Uint8Array[] => {
    const part = readFrom(olderPath, offset);
    return part === undefined ? [] : [part.bytes];
  };
  let offset = 0;
  return {
    readOlder: () => readOlder(0),
    readNext: (): readonly Uint8Array[] => {
      const part = readFrom(path, offset);
      if (part === undefined) return [];
      // The file is shorter than before, so the log was rotated: its old content is in the older file.
      const isRotated = part.size < offset;
      const parts = isRotated
        ? [...readOlder(offset), readFrom(path, 0)?.bytes ?? new Uint8Array(0)]
        : [part.bytes];
      offset = (isRotated ? 0 : offset) + (parts.at(-1)?.length ?? 0);
      return parts;
    },
  };
}

function createLinePrinter({ printer }: Context) {
  let partialLine = Buffer.alloc(0);
  const print = (line: string): void => printer.line(output("log_line", { line }), () => printable(line));
  return {
    add: (part: Uint8Array): void => {
      const bytes = Buffer.concat([partialLine, part]);
      const end = bytes.lastIndexOf("\n") + 1;
      partialLine = bytes.subarray(end);
      if (end > 0)
        bytes
          .toString("utf8", 0, end - 1)
          .split("\n")
          .forEach(print);
    },
    end: (): void => {
      if (partialLine.length > 0) print(partialLine.toString("utf8"));
    },
  };
}
