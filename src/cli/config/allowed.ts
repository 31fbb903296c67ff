import { join } from "node:path";
import { accept, type Outcome } from "../../core/outcome.ts";
import { parseAllowed, type AllowedVariables } from "../../core/state-files.ts";
import { printable } from "../../core/text.ts";
import { storageFailureOf } from "../../store/connection/storage-failure.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { whyUntrusted } from "../../host/folder/trust.ts";
import { EXIT, Refused } from "../problem.ts";

/**
 * A variable whose value is sent as an API key: its name, the real folder of the configuration, and the origin of the
 * service.
 */
export type AllowedVariable = AllowedVariables["variables"][number];

const ALLOWED_FILE = "allowed.json";

type PersonalWorld = Pick<World, "files" | "settingsFolder">;

/**
 * Whether the user has allowed a variable for a folder and an address (decision 85). Refuses a file that another user
 * could have written, and a file with unexpected content; `own` is the variable that needs no permission.
 */
export function isAllowed(world: PersonalWorld, use: AllowedVariable, own: string): boolean {
  const folder = world.settingsFolder();
  if (folder === undefined) return false;
  const read = attemptInWords(() => readAllowed(world, folder));
  if (!read.ok) throw refuseVariable(read.refusal, { folder, own });
  return read.value.variables.some((one) => isSame(one, use));
}

/** Stores a permission. If that fails, the command continues, and warns that the permission is for this call only. */
export function storePermission(
  { world, printer }: Pick<Context, "world" | "printer">,
  use: AllowedVariable,
): void {
  const kept = tryToKeep(world, use);
  const where = `${use.name} may be sent to ${use.origin} from ${printable(use.folder)}`;
  if (kept.ok) printer.talk(`note: ${where}; kept in ${printable(kept.value)}`);
  else
    printer.trace(
      `warning: ${where} for this call only, because the permission could not be stored: ${printable(kept.refusal)}`,
    );
}

/** The path of the file that now contains the permission, or the reason why it was not written. */
function tryToKeep(world: PersonalWorld, use: AllowedVariable): Outcome<string, string> {
  return attemptInWords(() => {
    const folder = world.settingsFolder();
    if (folder === undefined) throw new UntrustedFile("there is no home folder");
    const { variables } = readAllowed(world, folder);
    world.files.makeFolder(folder);
    const path = join(folder, ALLOWED_FILE);
    const allowed: AllowedVariables = { variables: [...variables, use] };
    world.files.write(path, `${JSON.stringify(allowed, null, 2)}\n`);
    return path;
  });
}

/** The allowed variables; none if the file is missing or empty. Throws the reason if the file is not trusted. */
function readAllowed(world: PersonalWorld, folder: string): AllowedVariables {
  const path = join(folder, ALLOWED_FILE);
  for (const [place, kind] of [
    [folder, "folder"],
    [path, "file"],
  ] as const) {
    const why = whyUntrusted(world, place, kind);
    if (why !== undefined) throw new UntrustedFile(`${place} ${why}`);
  }
  const text = world.files.read(path) ?? "";
  const allowed = text === "" ? { variables: [] } : parseAllowed(text);
  if (allowed === undefined) throw new UntrustedFile(`${path} was not written by checkout`);
  return allowed;
}

class UntrustedFile extends Error {}

/** The result of `work`, or the reason of its failure: the file is not trusted, or the file system refuses. */
function attemptInWords<Value>(work: () => Value): Outcome<Value, string> {
  try {
    return accept(work());
  } catch (error) {
    if (error instanceof UntrustedFile) return { ok: false, refusal: error.message };
    const failure = storageFailureOf(error);
    if (failure === undefined) throw error;
    return { ok: false, refusal: `${failure.sentence} (${error instanceof Error ? error.message : ""})` };
  }
}

function isSame(one: AllowedVariable, other: AllowedVariable): boolean {
  return one.name === other.name && one.folder === other.folder && one.origin === other.origin;
}

function refuseVariable(
  why: string,
  { folder, own }: { readonly folder: string; readonly own: string },
): Refused {
  return new Refused({
    exitCode: EXIT.failed,
    code: "allowed_file_refused",
    message: `${printable(why)}; this file decides where API keys are sent, so it is not used`,
    next: `move ${printable(folder)} away, and allow the variable again; or put the key into ${own}; nothing was sent`,
  });
}
