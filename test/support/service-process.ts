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
  /** Opens the database, read-only, until the test ends. */
  readonly openRows: () => Database.Database;
  /**
   * Kills the process at once, as SIGKILL does, and waits for its end. Fails if the process has ended by itself before.
   */
  readonly kill: () => Promise<void>;
  /** Starts the service again on its state. */
  readonly restart: () => Promise<ServiceProcess>;
  /** Stops the service as its users do. */
  readonly stop: () => Promise<void>;
};

const start = perFile(() => startCommand(tempFolder()));

/** Replaces the service for the campaigns that the current test file loads. */
export function replaceService(startOther: () => Promise<ServiceProcess>): void {
  start.replace(startOther);
}

/** Starts a service, or creates a new store of a running service. The service ends with the test. */
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
