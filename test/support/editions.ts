import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { markOfId, objectFileName, objectName } from "../../src/hosted/shared/marks.ts";
import { stateFile } from "../../src/host/folder/files.ts";
import type { ReadyMessage } from "../../src/host/ready.ts";
import { controlOf, type Control } from "./control.ts";
import { beginHostedFolder, untilReady } from "./hosted-folder.ts";
import { begin, type RunOptions, type Process } from "./program.ts";
import { sendRaw } from "./send-raw.ts";
import { tempFolder } from "./temp-folder.ts";

/** One of the two ways to run the service from a state folder. */
export type Edition = {
  readonly name: "sandbox start" | "hosted dev";
  /** Starts the service without waiting until it is ready. The service ends with the test. */
  readonly begin: (
    folder: string,
    args?: readonly string[],
    options?: Pick<RunOptions, "command">,
  ) => Process;
  /** Sizes of disks on which the service cannot start: too small for its first files, or for its databases. */
  readonly tooSmall: readonly string[];
  /** The path of the database with the rows of a store. */
  readonly databaseOf: (folder: string, storeId: string) => string;
};

export const EDITIONS: readonly Edition[] = [
  {
    name: "sandbox start",
    begin: (folder, args = [], options = {}) =>
      begin(["sandbox", "start", "--json", "--port", "0", "--quiet", "--dir", folder, ...args], {
        cwd: tempFolder(),
        ...options,
      }),
    tooSmall: ["64k", "256k"],
    databaseOf: (folder) => stateFile(folder, "database"),
  },
  {
    name: "hosted dev",
    begin: beginHostedFolder,
    tooSmall: ["64k", "1540k", "2000k"],
    databaseOf: (folder, storeId) =>
      join(
        stateFile(folder, "objects"),
        "stores",
        objectFileName("stores", objectName(markOfId(storeId) ?? 0)),
      ),
  },
];

/** A running service of an edition, and the calls that test it. */
export type RunningEdition = Process & {
  readonly folder: string;
  readonly ready: ReadyMessage;
  readonly control: Control;
  /** Sends a request to the service; by default with the key of the first store. */
  readonly request: (
    path: string,
    options?: { readonly headers?: Record<string, string>; readonly body?: unknown },
  ) => Promise<{
    readonly status: number;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly body: string;
  }>;
  /** Reads rows of the first store from its database, while the service runs. */
  readonly rows: (sql: string) => readonly Readonly<Record<string, unknown>>[];
};

/** Starts an edition on a folder, and waits until it is ready. */
export async function serve(
  edition: Edition,
  folder = join(tempFolder(), ".checkout"),
  options: Pick<RunOptions, "command"> = {},
): Promise<RunningEdition> {
  const running = edition.begin(folder, [], options);
  const ready = await untilReady(running);
  const { origin, port } = new URL(ready.base_url);
  const rows: RunningEdition["rows"] = (sql) => {
    const path = edition.databaseOf(folder, ready.store_id);
    const database = new Database(path, { readonly: true, fileMustExist: true });
    try {
      return database.prepare<[], Readonly<Record<string, unknown>>>(sql).all();
    } finally {
      database.close();
    }
  };
  onTestFinished(async () => void (await running.stop("SIGKILL")));
  return {
    ...running,
    folder,
    ready,
    control: controlOf({ origin, token: ready.control_token, storeId: ready.store_id }),
    rows,
    request: async (path, { headers = {}, body } = {}) => {
      const sent = {
        Host: `127.0.0.1:${port}`,
        Authorization: `Bearer ${ready.api_key}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      };
      const method = body === undefined ? "GET" : "POST";
      const target = { port: Number(port), method, path, headers: sent };
      const answer = await sendRaw(target, body === undefined ? undefined : JSON.stringify(body));
      return { status: answer.status, headers: answer.headers, body: String(answer.body) };
    },
  };
}
