import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import type { Server } from "./processes.ts";

/** Longer than a server waits before it returns memory to the system (decision 102). */
const SETTLE_MS = 12_000;
const WATCH_MS = 2000;
/** Fields of /proc/PID/stat after the process's name: user and system time, in ticks of 10 ms. */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;

/** Memory and processor time of a sandbox without requests; measured on Linux only. */
export async function measureIdle(server: Server, when: string): Promise<Figure[]> {
  if (process.platform !== "linux") return [];
  await sleep(SETTLE_MS);
  const before = processorTicks(server.pid);
  await sleep(WATCH_MS);
  const used = processorTicks(server.pid) - before;
  return [
    { name: `idle memory, ${when}`, value: residentMegabytes(server.pid), unit: "MB", target: { below: 90 } },
    { name: `idle CPU in ${WATCH_MS / 1000} s, ${when}`, value: used, unit: "ticks", target: { atMost: 1 } },
  ];
}

function residentMegabytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

/** The processor time that a process has used, in ticks of 10 ms. */
export function processorTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS]);
}
