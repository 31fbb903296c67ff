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
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";

/** Each makes files of its own, and leaves those of the other alone. */
export type Kind = "package" | "executable";

/** What a build reads: files and folders of the repository, and npm's list of what is installed. */
export const INPUTS = [
  "INTERFACE.md",
  "bin",
  "build.ts",
  "node_modules/.package-lock.json",
  "package.json",
  "src",
  "tsconfig.json",
];

/** How the names of folders of chunks begin. Each has the hash of what it holds, so that several can stay. */
export const CHUNKS = "chunks-";
const UNFINISHED = "unfinished-";
/** Where `bin/checkout.cjs` lets Node keep compiled code. */
const COMPILED = "compile-cache";
const DAY_MS = 86_400_000;
/** A running program loads chunks of the build that it was started with for so long after another took its place. */
const REPLACED_KEPT_MS = 7 * DAY_MS;

/** What a build of the repository in a folder makes, and where it puts it. */
export type Output = {
  readonly root: string;
  readonly out: string;
  readonly kind: Kind;
  readonly make: (folder: string) => Promise<void>;
};

/**
 * Makes what is not up to date: in a folder of its own first, from where each file is moved whole into the place of the
 * older one. Builds that run at the same time, or that are killed, do no harm.
 */
export async function update({ root, out, kind, make }: Output): Promise<void> {
  const stamp = `.${kind}.stamp`;
  const inputs = hashInputs(root);
  const older = readStamp(join(out, stamp));
  if (older.inputs === inputs && [...older.files].every(([name, hash]) => hashFile(join(out, name)) === hash))
    return;
  mkdirSync(out, { recursive: true });
  const unfinished = mkdtempSync(join(out, UNFINISHED));
  try {
    await make(unfinished);
    const made = filesBelow(unfinished);
    const hashes = made.map((name) => `${hashFile(join(unfinished, name))} ${name}\n`);
    // What was made while its sources changed is made again by the next build.
    writeFileSync(join(unfinished, stamp), hashes.join("") + (hashInputs(root) === inputs ? inputs : ""));
    // Chunks first, and last the stamp: what is in place finds what it loads.
    const isChunk = (name: string): boolean => name.startsWith(CHUNKS);
    for (const name of [...made.filter(isChunk), ...made.filter((one) => !isChunk(one)), stamp]) {
      mkdirSync(dirname(join(out, name)), { recursive: true });
      renameSync(join(unfinished, name), join(out, name));
    }
    for (const name of older.files.keys())
      if (!isChunk(name) && !made.includes(name)) rmSync(join(out, name), { force: true });
  } finally {
    rmSync(unfinished, { recursive: true });
  }
  if (kind === "package") removeOld(out);
}

/** One hash of all that a build reads, and of the Node that runs it. */
function hashInputs(root: string): string {
  const { version, platform, arch } = process;
  const hash = createHash("sha256").update(JSON.stringify([version, platform, arch]));
  for (const name of INPUTS.flatMap((input) => filesOf(root, input))) {
    const path = join(root, name);
    // Another installer keeps no list of what is installed: then nothing is known to be up to date.
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

/** The hash and name of each file that a build has made, and last the hash of what it was made of. */
function readStamp(path: string): { readonly inputs: string; readonly files: ReadonlyMap<string, string> } {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  const files = lines.slice(0, -1).map((line) => line.split(" ") as [string, string]);
  return { inputs: lines.at(-1) ?? "", files: new Map(files.map(([hash, name]) => [name, hash])) };
}

function hashFile(path: string): string {
  return existsSync(path) ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
}

/** Removes chunks that were replaced long ago, what killed builds have left, and what Node has compiled of the older one. */
function removeOld(out: string): void {
  const now = Date.now();
  const folders = readdirSync(out)
    .map((name) => ({ name, at: statSync(join(out, name), { throwIfNoEntry: false })?.mtimeMs ?? now }))
    .toSorted((left, right) => right.at - left.at);
  const chunks = folders.filter(({ name }) => name.startsWith(CHUNKS));
  const old = [
    // Each was replaced when the next younger one was made.
    ...chunks.filter((_, index) => now - (chunks[index - 1]?.at ?? now) > REPLACED_KEPT_MS),
    ...folders.filter(({ name, at }) => name.startsWith(UNFINISHED) && now - at > DAY_MS),
    { name: COMPILED },
  ];
  for (const { name } of old) rmSync(join(out, name), { recursive: true, force: true, maxRetries: 5 });
}
