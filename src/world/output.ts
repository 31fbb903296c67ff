import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { World } from "../world.ts";
import { isError } from "../core/outcome.ts";
import { awaitStarterNotice } from "./detached.ts";
import { discardFile, temporaryName } from "./files.ts";

const lostStreams = { stdout: false };

/** `logFile`: the file to which a detached process's stderr goes. */
export function standardOutputs(
  logFile: string | undefined,
): Pick<World, "stdout" | "stderr" | "isResultLost"> {
  const stdout = outputOf(process.stdout, {
    onFailure: (error) => {
      if (!lostStreams.stdout) process.stderr.write(`✗ the result could not be printed: ${error.message}\n`);
      lostStreams.stdout = true;
    },
  });
  const stderr = outputOf(process.stderr, {
    lossNote: (lines) => `(${lines} lines dropped: stderr was full)\n`,
    ...(logFile === undefined ? {} : { rotatedPath: logFile }),
  });
  return { stdout, stderr, isResultLost: () => lostStreams.stdout };
}

const DRAIN_TIMEOUT_MS = 500;

/**
 * Waits up to half a second for output. Exits with 1 if a result was lost, because a script would trust the exit code
 * of the missing result.
 */
export async function exitProgram(exitCode: number): Promise<void> {
  const streams = [process.stdout, process.stderr].filter(({ writableLength }) => writableLength > 0);
  const drains = streams.map((stream) => new Promise((resolve) => stream.once("drain", resolve)));
  await Promise.race([Promise.all([...drains, awaitStarterNotice()]), sleep(DRAIN_TIMEOUT_MS)]);
  process.exit(lostStreams.stdout ? 1 : exitCode);
}

type ProcessOutput = NodeJS.WriteStream & { readonly fd: number };

type OutputLoss = {
  /** Called for each failed write, except to a pipe whose reader has exited. */
  readonly onFailure?: (error: Error) => void;
  readonly lossNote?: (lines: number) => string;
  readonly rotatedPath?: string;
};

function outputOf(stream: ProcessOutput, loss: OutputLoss): Writable {
  if (!isFile(stream)) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") loss.onFailure?.(error);
    });
    return stream;
  }
  const { fd } = stream;
  const { rotatedPath } = loss;
  return fileOutput((bytes) => {
    if (rotatedPath !== undefined && fstatSync(fd).size + bytes.length > MAX_LOG_BYTES)
      rotateLog(fd, rotatedPath);
    return writeSync(fd, bytes);
  }, loss);
}

const MAX_LOG_BYTES = 10 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Copies and truncates instead of renaming, because Node itself writes to the open file when it crashes. */
function rotateLog(fd: number, path: string): void {
  const temporaryPath = temporaryName(path);
  try {
    const copy = openSync(temporaryPath, "wx", 0o600);
    try {
      const part = new Uint8Array(CHUNK_BYTES);
      for (let doneBytes = 0; ;) {
        const length = readSync(fd, part, 0, part.length, doneBytes);
        if (length === 0) break;
        writeFileSync(copy, part.subarray(0, length));
        doneBytes += length;
      }
    } finally {
      closeSync(copy);
    }
    renameSync(temporaryPath, `${path}.1`);
  } catch {
    discardFile(temporaryPath);
  }
  ftruncateSync(fd, 0);
}

function isFile({ fd, isTTY }: ProcessOutput): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isFile() || (stats.isCharacterDevice() && !isTTY);
  } catch {
    // The descriptor was closed before the program started. Node's own stream accepts the writes.
    return false;
  }
}

/** Drops and counts lines while writes fail, and ends a truncated line before the next one. */
export function fileOutput(write: (bytes: Uint8Array) => number, loss: OutputLoss = {}): Writable {
  let droppedLines = 0;
  let isCut = false;
  const writeAll = (bytes: Uint8Array): void => {
    for (let doneBytes = 0; doneBytes < bytes.length;) {
      doneBytes += write(bytes.subarray(doneBytes));
      isCut = true;
    }
    isCut = false;
  };
  return new Writable({
    write: (chunk: Buffer, _encoding, onDone) => {
      const note = droppedLines === 0 ? "" : (loss.lossNote?.(droppedLines) ?? "");
      try {
        writeAll(Buffer.concat([Buffer.from(`${isCut ? "\n" : ""}${note}`), chunk]));
        droppedLines = 0;
      } catch (error) {
        droppedLines += chunk.toString("latin1").split("\n").length - 1;
        loss.onFailure?.(isError(error) ? error : new Error(String(error)));
      }
      onDone();
    },
  });
}
