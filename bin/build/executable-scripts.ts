import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildTwoScripts, ENTRY, LOADERS, REST } from "./chunks.ts";

/** The script that an executable runs, in a folder in which executables are made. */
export const SCRIPT = "executable.cjs";

/** The compiled code of `REST`, an asset; empty where the executable's own Node cannot run. */
const COMPILED = "program.cache";

/** The files of a folder that every executable contains as assets. */
export const PROGRAM_ASSETS = [REST, COMPILED] as const;

/**
 * The beginning of the script. Node compiles the script of an executable anew at each start, except for its outermost
 * functions. So the script is small, and the rest of the program is an asset with compiled code of the functions that
 * commands call.
 */
const START = `"use strict";
const addon = (path) => require("node:module").createRequire(process.execPath)(path);
let own;
const ${LOADERS.rest} = (name) => (own ??= loadRest())(name);
function loadRest() {
  const { getAsset, getRawAsset } = require("node:sea");
  const compiled = new Uint8Array(getRawAsset("${COMPILED}"));
  const { Script } = require("node:vm");
  const script = new Script(getAsset("${REST}", "utf8"), {
    filename: "${REST}",
    cachedData: compiled.length === 0 ? undefined : compiled,
  });
  const module = { exports: {} };
  script.runInThisContext()(module, require, ${LOADERS.part}, addon, __dirname);
  return module.exports;
}
`;

/** With a character beyond ASCII, each character of the whole script would take two bytes. */
const BEYOND_ASCII = /[\u0080-\uffff]/g;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Bundles the program into the scripts of a folder, from which executables are made. */
export async function bundleScripts(folder: string): Promise<void> {
  const { start, rest } = await buildTwoScripts(folder);
  writeFileSync(join(folder, SCRIPT), START + start.replaceAll(`require("./${REST}")`, LOADERS.rest));
  const program = rest.replaceAll(`require("./${ENTRY}")`, LOADERS.entry).replaceAll(BEYOND_ASCII, escaped);
  // better-sqlite3 loads a named addon with the function of this name.
  writeFileSync(
    join(folder, REST),
    `(function(module,require,${LOADERS.entry},__non_webpack_require__,__dirname){${program}\n})`,
  );
}

/** Removes the scripts after the executables were made. */
export function removeScripts(folder: string): void {
  for (const name of [SCRIPT, ...PROGRAM_ASSETS]) rmSync(join(folder, name));
}

/** Runs the program of a folder and records the functions that it called. */
const RECORDER = join(import.meta.dirname, "record-compiled.ts");

/** Frequent commands, beside a start of the sandbox. */
const FREQUENT = [
  ["orders", "create", "--order-id", "order-1001", "--price-id", "price_coffee"],
  ["orders", "list"],
  ["env"],
] as const;

/**
 * Compiles the functions that frequent commands call, by running these commands with the Node of the executable. Each
 * run begins with the compiled code of the runs before it. Without a Node that can run here, nothing is compiled.
 */
export async function compileProgram(folder: string, node: string | undefined): Promise<void> {
  writeFileSync(join(folder, COMPILED), "");
  if (node === undefined) return;
  const home = mkdtempSync(join(tmpdir(), "checkout-compile-"));
  const [compiled, unused] = [join(folder, COMPILED), join(home, COMPILED)];
  const run = (output: string, words: readonly string[]) =>
    execute(node, [RECORDER, folder, output, ...words, "--dir", join(home, "state")], {
      env: { HOME: home },
    });
  const serve = async (output: string, work: () => Promise<void>): Promise<void> => {
    const sandbox = run(output, ["sandbox", "start", "--port", "0"]);
    await Promise.race([once(sandbox.child.stdout ?? sandbox.child, "data"), sandbox]);
    await work();
    await Promise.all([sandbox, run(unused, ["sandbox", "stop"])]);
  };
  try {
    // A sandbox records its functions when it ends; the commands then record theirs beside another one.
    await serve(compiled, () => Promise.resolve());
    await serve(unused, async () => {
      for (const words of FREQUENT) await run(compiled, words);
    });
  } finally {
    rmSync(home, { recursive: true });
  }
}

const execute = promisify(execFile);
