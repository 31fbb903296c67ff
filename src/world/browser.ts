import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { World } from "../world.ts";
import { isError } from "../core/outcome.ts";

/**
 * An opener that finds no browser fails within this time; one that still runs has become the browser. On Windows, the
 * opener would end with this process.
 */
const OPENER_TIMEOUT_MS = process.platform === "win32" ? 10_000 : 1000;

export async function openBrowser(url: string): ReturnType<World["openBrowser"]> {
  try {
    const { default: open } = await import("open");
    const ending = await Promise.race([open(url).then(endingOf), sleep(OPENER_TIMEOUT_MS, 0)]);
    if (ending === 0) return { ok: true };
    return { ok: false, message: `the system's opener ended with ${ending}` };
  } catch (error) {
    const message = isError(error) ? error.message : String(error);
    return { ok: false, message: `the system's opener cannot be run: ${message}` };
  }
}

async function endingOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode === null && child.signalCode === null)
    await new Promise((resolve) => child.once("exit", resolve));
  return child.exitCode ?? child.signalCode ?? "no exit code";
}
