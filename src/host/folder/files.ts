import { join } from "node:path";
import { SNAPSHOTS_FOLDER } from "../../core/snapshot/snapshot.ts";

export const WORKER_FILE = "hosted-worker.mjs";

const FILES = {
  database: "sandbox.db",
  journal: "journal.db",
  requests: "requests.db",
  masterKey: "master.key",
  credentials: "credentials.json",
  admin: "admin.json",
  run: "run.json",
  lock: "run.lock",
  store: "store.json",
  log: "sandbox.log",
  olderLog: "sandbox.log.1",
  signIn: "sign-in.html",
  snapshots: SNAPSHOTS_FOLDER,
  objects: "objects",
  worker: WORKER_FILE,
  workerdConfig: "workerd.capnp",
} as const;

export const IGNORE_FILE = ".gitignore";

export const IGNORE_ALL = "*\n";

/** `.cache` exists if the folder is also a home folder, as in the container image. */
const SYSTEM_FILES =
  /^(\.cache|\.DS_Store|\._.*|\.localized|\.directory|lost\+found|Thumbs\.db|desktop\.ini)$/i;

export function stateFile(folder: string, file: keyof typeof FILES): string {
  return join(folder, FILES[file]);
}

/** A known name with a suffix after `-` or `.` also counts as checkout's, for example SQLite's sandbox.db-wal. */
export function ownerOfName(name: string): "checkout" | "system" | "other" {
  if (SYSTEM_FILES.test(name)) return "system";
  const isOwnFile = [IGNORE_FILE, ...Object.values(FILES)].some(
    (file) => name === file || (name.startsWith(file) && /^[-.]/.test(name.slice(file.length))),
  );
  return isOwnFile ? "checkout" : "other";
}

const UNFINISHED_NAME = /\.\d+\.new-\w+(?:-journal)?$/;

export function isOwnFolderName(name: string): boolean {
  return name === SNAPSHOTS_FOLDER || name === FILES.objects || UNFINISHED_NAME.test(name);
}
