import { join } from "node:path";
import { accept, type Outcome } from "../../core/outcome.ts";
import { parseAllowed, type Allowed } from "../../core/state-files.ts";
import { printable } from "../../core/text.ts";
import { storageFailureOf } from "../../store/connection/storage-failure.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { whyUntrusted } from "../../host/folder/trust.ts";
import { EXIT, fail, type Problem } from "../problem.ts";

/** A variable that is sent as an API key: its name, the real folder of the configuration, the origin of the service. */
export type AllowedUse = Allowed["variables"][number];

const ALLOWED_FILE = "allowed.json";

type PersonalWorld = Pick<World, "files" | "settingsFolder">;

/**
 * Whether the person has allowed a variable for a folder and an address (decision 85). Refuses a file that somebody else
 * could have written, and one that holds something else; `own` is the variable that works without it.
 */
export function isAllowed(world: PersonalWorld, use: AllowedUse, own: string): Outcome<boolean, Problem> {
  const folder = world.settingsFolder();
  if (folder === undefined) return accept(false);
  const read = readAllowed(world, folder);
  if (!read.ok) return refused(read.refusal, { folder, own });
  return accept(read.value.variables.some((one) => isSame(one, use)));
}

/** Keeps a permission. Where that fails the command goes on, and says that it will ask again. */
export function keepAllowed({ world, printer }: Pick<Context, "world" | "printer">, use: AllowedUse): void {
  const kept = tryToKeep(world, use);
  const where = `${use.name} may be sent to ${use.origin} from ${printable(use.folder)}`;
  if (kept.ok) printer.talk(`note: ${where}; kept in ${printable(kept.value)}`);
  else printer.trace(`warning: ${where} this time; that could not be kept: ${printable(kept.refusal)}`);
}

/** The path of the file that has the permission now, or why there is none. */
function tryToKeep(world: PersonalWorld, use: AllowedUse): Outcome<string, string> {
  const folder = world.settingsFolder();
  if (folder === undefined) return { ok: false, refusal: "there is no home folder" };
  const read = readAllowed(world, folder);
  if (!read.ok) return read;
  return unlessRefused(() => {
    world.files.makeFolder(folder);
    const path = join(folder, ALLOWED_FILE);
    const allowed: Allowed = { variables: [...read.value.variables, use] };
    world.files.write(path, `${JSON.stringify(allowed, null, 2)}\n`);
    return accept(path);
  });
}

/** What is allowed: nothing where the file is missing or empty. Refuses with the reason not to believe the file. */
function readAllowed(world: PersonalWorld, folder: string): Outcome<Allowed, string> {
  const path = join(folder, ALLOWED_FILE);
  return unlessRefused(() => {
    for (const [place, kind] of [
      [folder, "folder"],
      [path, "file"],
    ] as const) {
      const why = whyUntrusted(world, place, kind);
      if (why !== undefined) return { ok: false, refusal: `${place} ${why}` };
    }
    const text = world.files.read(path) ?? "";
    const allowed = text === "" ? { variables: [] } : parseAllowed(text);
    return allowed === undefined
      ? { ok: false, refusal: `${path} does not hold what checkout wrote to it` }
      : accept(allowed);
  });
}

/** A refusal of the file system, in words. */
function unlessRefused<Value>(work: () => Outcome<Value, string>): Outcome<Value, string> {
  try {
    return work();
  } catch (error) {
    const failure = storageFailureOf(error);
    if (failure === undefined) throw error;
    return { ok: false, refusal: `${failure.sentence} (${error instanceof Error ? error.message : ""})` };
  }
}

function isSame(one: AllowedUse, other: AllowedUse): boolean {
  return one.name === other.name && one.folder === other.folder && one.origin === other.origin;
}

function refused(
  why: string,
  { folder, own }: { readonly folder: string; readonly own: string },
): Outcome<never, Problem> {
  return fail({
    exitCode: EXIT.failed,
    code: "allowed_file_refused",
    message: `${printable(why)}: it decides where API keys are sent, and is not believed`,
    next: `move ${printable(folder)} away, and allow again; or put the key into ${own}; nothing was sent`,
  });
}
