import type Database from "better-sqlite3";
import { expect } from "vitest";
import { openControl, type Control } from "./control.ts";
import { apiKeyOf, openRows } from "./load.ts";
import { perFile } from "./per-file.ts";
import { startSandbox, type SandboxProcess } from "./program.ts";
import { tempFolder } from "./temp-folder.ts";

/** A new store of a service in a separate process, which a test kills and starts again. */
export type ServiceProcess = {
  readonly baseUrl: string;
  readonly storeId: string;
  readonly apiKey: string;
  readonly signingSecret: string;
  readonly control: Control;
  /** Opens the tables, to read only. They are closed with the test. */
  readonly openRows: () => Database.Database;
  /** Kills the process at once, as SIGKILL does, and waits until it is gone. Fails if it ended by itself before. */
  readonly kill: () => Promise<void>;
  /** Starts it again on its state. */
  readonly restart: () => Promise<ServiceProcess>;
  /** Ends it in the way in which its users end it. */
  readonly stop: () => Promise<void>;
};

const start = perFile(() => startCommand(tempFolder()));

/** Lets the campaigns that the running file loads start another service. */
export function startAnother(startOther: () => Promise<ServiceProcess>): void {
  start.replace(startOther);
}

/** Starts a service, or makes a new store of one. It ends with the test. */
export function startServiceProcess(): Promise<ServiceProcess> {
  return start.now()();
}

async function startCommand(cwd: string): Promise<ServiceProcess> {
  const sandbox = await startSandbox({ cwd, args: ["--rate-limit", "off", "--quiet"] });
  const { ready, port } = sandbox;
  return {
    baseUrl: ready.base_url,
    storeId: ready.store_id,
    apiKey: apiKeyOf(sandbox),
    signingSecret: ready.signing_secret,
    control: openControl(port, ready.data_dir ?? ""),
    openRows: () => openRows(sandbox),
    kill: async () =>
      expect(await sandbox.stop("SIGKILL"), `it ended by itself: ${sandbox.output.stderr}`).toBeNull(),
    restart: () => startCommand(cwd),
    stop: async () => expect(await sandbox.stop("SIGTERM"), saidBy(sandbox)).toBe(0),
  };
}

function saidBy({ output }: SandboxProcess): string {
  return output.stderr;
}
