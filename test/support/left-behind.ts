import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { once } from "node:events";

/** The processes that run in a folder or below it; Linux only. */
export function processesIn(folder: string): readonly number[] {
  if (!existsSync("/proc/self/cwd")) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && runsIn(name, folder))
    .map(Number);
}

function runsIn(pid: string, folder: string): boolean {
  try {
    const cwd = readlinkSync(`/proc/${pid}/cwd`);
    return cwd === folder || cwd.startsWith(`${folder}/`);
  } catch {
    // The process has ended meanwhile, or belongs to another user.
    return false;
  }
}

/** Whether a program accepts connections on a port of this machine. */
export async function isTaken(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Remains of a stopped sandbox in its state folder: its lock, and unfinished work. */
export function remainsIn(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => /^run\.json|\.new-\w+$/.test(name));
}
