import { join } from "node:path";
import { accept, type Outcome } from "../../core/outcome.ts";
import { quote } from "../../core/shell/quote.ts";
import type { PathFacts, World } from "../../world.ts";
import { IGNORE_ALL, IGNORE_FILE, isOwnFolderName, ownerOfName } from "./files.ts";
import { stateFailure, type HostFailure } from "../failure.ts";

export type TrustOptions = { readonly trustFolder?: boolean };

/** Only development versions, before 0.1.0, used this name. */
const DEVELOPMENT_FILE = "administrator.json";

/**
 * Refuses a folder that another user may have filled, because its content determines where keys and events are sent
 * (decision 70). Links are refused even with `trustFolder`.
 */
export function checkFolderTrust(
  { files }: Pick<World, "files">,
  folder: string,
  options: TrustOptions,
): Outcome<"nothing" | "vacant" | "used", HostFailure> {
  const fileFacts = files.stat(folder);
  if (fileFacts === undefined) return accept("nothing");
  if (fileFacts.kind !== "folder") return refuseFolder(`${folder} is ${NOUNS[fileFacts.kind]}, not a folder`);
  const names = files.list(folder).filter((name) => ownerOfName(name) === "checkout");
  const isVacant = names.length === 0;
  const exposure = exposureOf(fileFacts);
  // A folder without checkout's files may be readable by other users, but not writable.
  if (exposure !== undefined && !(isVacant && exposure === "readable") && options.trustFolder !== true)
    return refuseExposed(folder, folder, EXPOSURE_TEXTS[exposure]);
  for (const name of names) {
    const path = join(folder, name);
    const file = files.stat(path);
    if (file === undefined) continue;
    const isAllowedKind = file.kind === "file" || (file.kind === "folder" && isOwnFolderName(name));
    if (!isAllowedKind) return refuseFolder(`${path} is ${NOUNS[file.kind]}, not a regular file`);
    const reason = exposureOf(file);
    if (reason !== undefined && name !== IGNORE_FILE && options.trustFolder !== true)
      return refuseExposed(folder, path, EXPOSURE_TEXTS[reason]);
  }
  return accept(isVacant ? "vacant" : "used");
}

/** Refuses a folder with other files: `--dir .` must not turn a project into a state folder. */
export function checkContents({ files }: Pick<World, "files">, folder: string): Outcome<void, HostFailure> {
  const names = files.list(folder);
  if (names.includes(DEVELOPMENT_FILE)) return refuseDevelopmentFolder(folder);
  const otherName = names.find((name) => ownerOfName(name) === "other");
  if (otherName === undefined || files.read(join(folder, IGNORE_FILE)) === IGNORE_ALL)
    return accept(undefined);
  return refuseFolder(`${folder} contains other files, such as ${join(folder, otherName)}`);
}

export function ownerFault(files: World["files"], path: string, kind: "file" | "folder"): string | undefined {
  const fileFacts = files.stat(path);
  if (fileFacts === undefined) return undefined;
  if (fileFacts.kind !== kind) return `is ${NOUNS[fileFacts.kind]}, not a ${kind}`;
  return fileFacts.isOwn ? undefined : EXPOSURE_TEXTS.foreign;
}

export function trustFault(
  { files }: Pick<World, "files">,
  path: string,
  kind: "file" | "folder",
): string | undefined {
  const fileFacts = files.stat(path);
  if (fileFacts === undefined) return undefined;
  if (fileFacts.kind !== kind) return `is ${NOUNS[fileFacts.kind]}`;
  const exposure = exposureOf(fileFacts);
  return exposure && EXPOSURE_TEXTS[exposure];
}

const NOUNS: Readonly<Record<PathFacts["kind"], string>> = {
  folder: "a folder",
  file: "a file",
  link: "a symbolic link",
  other: "neither a file nor a folder",
};

const EXPOSURE_TEXTS = {
  foreign: "belongs to another user",
  writable: "can be written by other users",
  readable: "can be read by other users",
} as const;

function exposureOf({ isOwn, openTo }: PathFacts): keyof typeof EXPOSURE_TEXTS | undefined {
  if (!isOwn) return "foreign";
  if (openTo === "writers") return "writable";
  return openTo === "readers" ? "readable" : undefined;
}

function refuseExposed(folder: string, path: string, reason: string): Outcome<never, HostFailure> {
  return refuseFolder(
    `${path} ${reason}, as files from a repository or an archive often are`,
    `if checkout created it here: chmod -R go= ${quote(folder)}, or --trust-folder (CHECKOUT_SANDBOX_TRUST_FOLDER=1) if a group owns it or the file system has no modes; otherwise name another folder with --dir`,
  );
}

export function refuseFolder(
  reason: string,
  next = "name another folder with --dir, or move this one away",
): Outcome<never, HostFailure> {
  return stateFailure({
    code: "state_folder_refused",
    message: `${reason}; nothing was read from the folder or written to it`,
    next,
  });
}

/** The database of a development version would be refused too, but only later, when the database is opened. */
function refuseDevelopmentFolder(folder: string): Outcome<never, HostFailure> {
  return stateFailure({
    code: "state_folder_development_version",
    message: `${folder} was created by a development version of checkout; nothing was written to it`,
    next: "move it away, or use a new folder with --dir",
  });
}
