import { accessSync, constants, readFileSync, statfsSync } from "node:fs";

/** The folder on Linux whose files are in memory. */
const FOLDER = "/dev/shm";
/** Minimum free memory: the maximum size of the files of all concurrent tests, with a margin. */
const MIN_FREE_BYTES = 2 * 1024 ** 3;

/**
 * A folder in memory for the temporary files of tests, so that they never wait for a disk; undefined if there is none
 * with enough room in which programs can run.
 */
export function memoryFolder(): string | undefined {
  try {
    accessSync(FOLDER, constants.W_OK);
    const { bavail, bsize } = statfsSync(FOLDER);
    const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
    const options = mounts.map((line) => line.split(" ")).findLast(([, folder]) => folder === FOLDER)?.[3];
    // Tests run programs from their folders.
    const runsPrograms = options !== undefined && !options.split(",").includes("noexec");
    return runsPrograms && bavail * bsize >= MIN_FREE_BYTES ? FOLDER : undefined;
  } catch {
    return undefined;
  }
}
