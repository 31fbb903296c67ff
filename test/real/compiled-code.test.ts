import { hash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { cacheAddon, unpackAddon } from "../../src/world/addon.ts";
import { copyBuilt } from "../support/built.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const ADDON = Buffer.from("the bytes of an addon");
const NAME = `${hash("sha256", ADDON, "hex")}.node`;
const IS_UNIX = process.getuid !== undefined;
/** Only root could change the folder's owner, so the process pretends to be another user than the owner. */
const OTHERS = "another user's, mode 700";
const AS_ANOTHER = "const own = process.getuid(); process.getuid = () => own + 1;";

/** Unsafe cache folders: of another user, open to other users, a link or a file. `plant` creates one at a path. */
const PLANTED: readonly (readonly [what: string, plant: (path: string) => void, possible: boolean])[] = [
  ...[0o777, 0o770, 0o755, 0o701, 0o1777].map(
    (mode) =>
      [
        `accessible with mode ${mode.toString(8)}`,
        (path: string): void => {
          mkdirSync(path);
          chmodSync(path, mode);
        },
        IS_UNIX,
      ] as const,
  ),
  [OTHERS, (path) => mkdirSync(path, { mode: 0o700 }), IS_UNIX],
  ["a link to another folder of the user", (path) => symlinkSync(tempFolder(), path), IS_UNIX],
  ["a file", (path) => writeFileSync(path, "", { mode: 0o600 }), true],
];

/** Copies the built program; returns its start file and its cache folder. */
function install(): { readonly bin: string; readonly cache: string } {
  const folder = tempFolder();
  cpSync(join(ROOT, "bin"), join(folder, "bin"), { recursive: true });
  copyBuilt(join(folder, "dist"));
  return { bin: join(folder, "bin", "checkout.cjs"), cache: join(folder, "dist", "compile-cache") };
}

/** Runs `checkout --version` in a shell with a umask, without a configured folder for compiled code. */
function runVersion(bin: string, umask: string, before = ""): string {
  const { NODE_COMPILE_CACHE: _ours, ...env } = process.env;
  const command = `umask ${umask}; exec "$0" --import "$1" "$2" --version`;
  const args = ["-c", command, process.execPath, `data:text/javascript,${before}`, bin];
  return execFileSync("/bin/sh", args, { encoding: "utf8", env });
}

/** Makes this process look like another user's process until the test ends. */
function runAsAnother(): void {
  const { getuid } = process;
  if (getuid === undefined) throw new Error("this system has no users by number");
  onTestFinished(() => void (process.getuid = getuid));
  process.getuid = () => getuid() + 1;
}

for (const umask of ["000", "002", "022", "077"]) {
  test.runIf(IS_UNIX)(`only the user can read and write the compiled code, under umask ${umask}`, () => {
    const { bin, cache } = install();
    expect(runVersion(bin, umask)).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((lstatSync(cache).mode & 0o777).toString(8)).toBe("700");
    expect(readdirSync(cache)).not.toEqual([]);
  });
}

for (const [what, plant, possible] of PLANTED) {
  test.runIf(possible && IS_UNIX)(
    `compiled code is neither run from nor written to a cache folder that is ${what}`,
    () => {
      const { bin, cache } = install();
      plant(cache);
      const before = lstatSync(cache);
      expect(runVersion(bin, "000", what === OTHERS ? AS_ANOTHER : "")).toMatch(/^\d+\.\d+\.\d+\n$/);
      const after = lstatSync(cache);
      expect([after.mode, after.uid]).toEqual([before.mode, before.uid]);
      expect(statSync(cache).isDirectory() ? readdirSync(cache) : []).toEqual([]);
    },
  );

  test.runIf(possible)(`the executable loads nothing from a cache folder that is ${what}`, () => {
    const folder = join(tempFolder(), "cache");
    plant(folder);
    if (what === OTHERS) runAsAnother();
    expect(() => cacheAddon(folder, ADDON)).toThrow(folder);
    expect(existsSync(join(folder, NAME))).toBe(false);
  });
}

test("the executable unpacks its addon once per process, even if no folder of the user can store the addon", () => {
  const temporary = tempFolder();
  for (const name of ["XDG_CACHE_HOME", "TMPDIR", "TEMP"]) vi.stubEnv(name, temporary);
  for (const name of ["hosted-checkout", `hosted-checkout-${process.getuid?.() ?? "user"}`])
    writeFileSync(join(temporary, name), "no folder");
  const asset = vi
    .spyOn(process.getBuiltinModule("node:sea"), "getRawAsset")
    .mockReturnValue(Uint8Array.from(ADDON).buffer);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    asset.mockRestore();
    Reflect.deleteProperty(globalThis, "__non_webpack_require__");
  });
  const listeners = process.listenerCount("exit");
  const path = unpackAddon();
  expect(readFileSync(path)).toEqual(ADDON);
  expect([unpackAddon(), unpackAddon()]).toEqual([path, path]);
  expect(process.listenerCount("exit")).toBe(listeners + 1);
  expect(readdirSync(temporary)).toHaveLength(3);
});

test("the executable keeps its addon in a private file, and replaces any other file in that place", () => {
  const folder = join(tempFolder(), "cache");
  const path = cacheAddon(folder, ADDON);
  expect([path, readFileSync(path)]).toEqual([join(folder, NAME), ADDON]);
  if (IS_UNIX) expect([statSync(folder).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
  const first = statSync(path).ino;
  expect(statSync(cacheAddon(folder, ADDON)).ino).toBe(first);
  writeFileSync(path, "other bytes");
  expect(readFileSync(cacheAddon(folder, ADDON))).toEqual(ADDON);
});

test.runIf(IS_UNIX)("a link or a writable file in the place of the executable's addon is replaced", () => {
  const folder = join(tempFolder(), "cache");
  mkdirSync(folder, { mode: 0o700 });
  const elsewhere = join(tempFolder(), "theirs");
  writeFileSync(elsewhere, ADDON);
  symlinkSync(elsewhere, join(folder, NAME));
  expect(lstatSync(cacheAddon(folder, ADDON)).isFile()).toBe(true);
  chmodSync(join(folder, NAME), 0o666);
  expect(statSync(cacheAddon(folder, ADDON)).mode & 0o777).toBe(0o600);
  expect(readFileSync(elsewhere)).toEqual(ADDON);
});
