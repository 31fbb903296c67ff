import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { SQLITE_ASSET } from "../../src/world/addon.ts";
import { ALIAS, bundled, common } from "./bundle.ts";
import { LICENSES, licenseTexts, nodeLicense } from "./licenses.ts";

const EXECUTABLE = process.platform === "win32" ? "checkout.exe" : "checkout";

/** Makes Node's single executable for this platform: the program in one script, SQLite's addon as an asset. */
export async function buildExecutable(folder: string): Promise<void> {
  const [script, config, licenses] = ["executable.cjs", "sea.json", `checkout-${LICENSES}`];
  await build({
    ...common,
    entryPoints: ["bin/main.ts"],
    outfile: join(folder, script),
    format: "cjs",
    alias: ALIAS,
    supported: { "dynamic-import": false },
    // The embedded require knows only Node's own modules; this one also loads the unpacked addon.
    banner: {
      js: 'const __non_webpack_require__ = require("node:module").createRequire(process.execPath);',
    },
  });
  writeFileSync(join(folder, licenses), `${licenseTexts(bundled)}\n${licenseOfNode()}`);
  const description = {
    main: script,
    output: EXECUTABLE,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    assets: { [SQLITE_ASSET]: addonPath(), [LICENSES]: licenses },
  };
  writeFileSync(join(folder, config), JSON.stringify(description));
  execFileSync(process.execPath, ["--build-sea", config], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (const intermediate of [script, config]) rmSync(join(folder, intermediate));
}

/** The licence note of the Node inside the executable. */
function licenseOfNode(): string {
  const title = `Node.js ${process.versions.node}, and what it is made of`;
  const text = nodeLicense();
  if (text !== undefined) return `${title}\n\n${text}`;
  const address = `https://github.com/nodejs/node/blob/v${process.versions.node}/LICENSE`;
  process.stderr.write(`warning: this Node has no LICENSE beside it; add ${address} to what you pass on\n`);
  return `${title}: ${address}\n`;
}

/** The addon of better-sqlite3 for this platform. */
function addonPath(): string {
  const require = createRequire(import.meta.url);
  const binding = join(dirname(require.resolve("better-sqlite3")), "binding.js");
  const { getPrebuildPath } = require(binding) as { getPrebuildPath: () => string | null };
  const path = getPrebuildPath();
  if (path === null) throw new Error(`better-sqlite3 has no addon for ${process.platform}-${process.arch}`);
  return path;
}
