import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { REAL } from "../support/real.ts";
import { seededRandom, SEED, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { PROGRAM } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROUNDS = size(6, 200);
/** Maximum time from the start to a kill, so that kills come before and during the command. */
const KILL_WITHIN_MS = 400;
const { processStartTime } = REAL;

test(`checkout exec leaves no file and no open port, whether it ends or is killed (seed ${SEED})`, async () => {
  const [cwd, home, tmp] = [tempFolder(), tempFolder(), tempFolder()];
  const random = seededRandom(SEED);
  const ports = new Set<number>();
  const processes: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const isKilled = round % 2 === 1;
    // Without a kill the command ends by itself.
    const command = [process.execPath, "-e", isKilled ? SLEEPS : SAYS_WHERE];
    const child = spawn(process.execPath, [PROGRAM, "exec", "--", ...command], {
      cwd,
      env: { PATH: process.env["PATH"], HOME: home, TMPDIR: tmp },
      stdio: ["ignore", "pipe", "inherit"],
    });
    processes.push(child.pid ?? 0);
    let said = "";
    child.stdout.on("data", (part: Buffer) => (said += part.toString()));
    const gone = once(child, "exit");
    if (isKilled) {
      await sleep(random() * KILL_WITHIN_MS);
      child.kill("SIGKILL");
    }
    const [code] = (await gone) as [number | null];
    expect([round, code]).toEqual([round, isKilled && code === null ? null : 0]);
    for (const [, port] of said.matchAll(/:(\d+)\/v1/g)) ports.add(Number(port));
  }
  expect(ports.size).toBeGreaterThanOrEqual(1);
  expect(processes.filter((pid) => processStartTime(pid) !== undefined)).toEqual([]);
  await eventually("no port of a sandbox answers", async () => {
    for (const port of ports) expect([port, await isOpen(port)]).toEqual([port, false]);
  });
  expect([cwd, home, tmp].flatMap((folder) => readdirSync(folder))).toEqual([]);
});

const SAYS_WHERE = "console.log(process.env.CHECKOUT_BASE_URL)";
const SLEEPS = `${SAYS_WHERE}; setTimeout(() => {}, 500)`;

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
