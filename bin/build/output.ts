import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";

/** Each kind writes its own files, and leaves the files of the other kind unchanged. */
export type BuildKind = "package" | "executable";

/** A change of one of these causes a new build. `.package-lock.json` is npm's list of installed packages. */
export const INPUTS = [
  "INTERFACE.md",
  "README.md",
  "bin",
  "build.ts",
  "docs",
  "node_modules/.package-lock.json",
  "package.json",
  "src",
  "tsconfig.json",
  "tsconfig.types.json",
];

/** The folder's name also contains a hash of its content, so that chunks of several builds can exist. */
export const CHUNK_PREFIX = "chunks-";
const TEMP_PREFIX = "unfinished-";
/** Where `bin/checkout.cjs` lets Node cache compiled code. */
const CACHE_FOLDER = "compile-cache";
/** How long replaced chunks, which running programs may still load, and the remains of killed builds are kept. */
const RETENTION_MS = 7 * 86_400_000;

export type BuildOptions = {
  readonly root: string;
  readonly out: string;
  readonly kind: BuildKind;
  readonly make: (folder: string) => Promise<void>;
};

/**
 * Makes the output in a temporary folder unless it is up to date, then moves each file into place atomically, so that
 * concurrent and killed builds do no harm.
 */
export async function updateOutput({ root, out, kind, make }: BuildOptions): Promise<void> {
  const stamp = `.${kind}.stamp`;
  const inputs = hashInputs(root);
  const oldStamp = readStamp(join(out, stamp));
  if (
    oldStamp.inputs === inputs &&
    [...oldStamp.files].every(([name, hash]) => hashFile(join(out, name)) === hash)
  )
    return;
  mkdirSync(out, { recursive: true });
  const tempFolder = mkdtempSync(join(out, TEMP_PREFIX));
  try {
    await make(tempFolder);
    const newNames = filesBelow(tempFolder);
    const hashes = newNames.map((name) => `${hashFile(join(tempFolder, name))} ${name}\n`);
    // If sources changed during the build, the stamp has no input hash, so that the next build runs again.
    writeFileSync(join(tempFolder, stamp), hashes.join("") + (hashInputs(root) === inputs ? inputs : ""));
    // Chunks are moved first and the stamp last, so that a file in place finds everything that it loads.
    const isChunk = (name: string): boolean => name.startsWith(CHUNK_PREFIX);
    for (const name of [...newNames.filter(isChunk), ...newNames.filter((file) => !isChunk(file)), stamp]) {
      mkdirSync(dirname(join(out, name)), { recursive: true });
      renameSync(join(tempFolder, name), join(out, name));
    }
    for (const name of oldStamp.files.keys()) {
      if (newNames.includes(name)) continue;
      if (isChunk(name)) touch(dirname(join(out, name)));
      else rmSync(join(out, name), { force: true });
    }
  } finally {
    rmSync(tempFolder, { recursive: true });
  }
  if (kind === "package") removeOldFiles(out);
}

function hashInputs(root: string): string {
  const { version, platform, arch } = process;
  const hash = createHash("sha256").update(JSON.stringify([version, platform, arch]));
  for (const name of INPUTS.flatMap((input) => filesOf(root, input))) {
    const path = join(root, name);
    // Other package managers write no list of installed packages, so the build never counts as up to date.
    const bytes = existsSync(path) ? readFileSync(path) : Buffer.from(randomUUID());
    hash.update(JSON.stringify([name, bytes.length])).update(bytes);
  }
  return hash.digest("hex");
}

function filesOf(root: string, input: string): string[] {
  const path = join(root, input);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? filesBelow(path).map((name) => join(input, name)) : [input];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .toSorted();
}

/** A stamp has one line with hash and name for each file; the last line is the hash of the inputs. */
function readStamp(path: string): { readonly inputs: string; readonly files: ReadonlyMap<string, string> } {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  const files = lines.slice(0, -1).map((line) => line.split(" ") as [string, string]);
  return { inputs: lines.at(-1) ?? "", files: new Map(files.map(([hash, name]) => [name, hash])) };
}

function hashFile(path: string): string {
  return existsSync(path) ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
}

function touch(folder: string): void {
  if (existsSync(folder)) utimesSync(folder, new Date(), new Date());
}

/**
 * Removes chunks replaced long ago, remains of killed builds, and the compile cache, which a new build makes useless.
 */
function removeOldFiles(out: string): void {
  const isOld = (name: string): boolean => {
    if (!name.startsWith(CHUNK_PREFIX) && !name.startsWith(TEMP_PREFIX)) return name === CACHE_FOLDER;
    const { mtimeMs = Date.now() } = statSync(join(out, name), { throwIfNoEntry: false }) ?? {};
    return Date.now() - mtimeMs > RETENTION_MS;
  };
  for (const name of readdirSync(out).filter(isOld))
    rmSync(join(out, name), { recursive: true, force: true, maxRetries: 5 });
}
