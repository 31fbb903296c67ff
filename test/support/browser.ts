import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser } from "playwright-core";

const MODULES = join(import.meta.dirname, "../../node_modules");

/** Launches a headless browser: the Chromium of a package on Linux x64, elsewhere the installed Chrome. */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  // As root, for example in a container, Chromium runs only without its own sandbox. It opens only our own pages.
  const args = ["--no-sandbox", "--font-render-hinting=none", ...more];
  if (process.platform !== "linux" || process.arch !== "x64") {
    return chromium.launch({ channel: "chrome", args });
  }
  const folder = await unpackedChromium();
  // The package includes the needed libraries, some of which a minimal machine lacks.
  const env = { ...process.env, LD_LIBRARY_PATH: join(folder, "al2023/lib") };
  return chromium.launch({ executablePath: join(folder, "chromium"), args, env });
}

/** The folder of the package's Chromium, which is unpacked once, and renamed to its final name when it is complete. */
async function unpackedChromium(): Promise<string> {
  const manifest = readFileSync(join(MODULES, "@sparticuz/chromium/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { readonly version: string };
  const cache = join(MODULES, ".cache");
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const unfinished = mkdtempSync(`${folder}.new-`);
  await unpackInto(unfinished);
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    // Another test has unpacked Chromium meanwhile.
    if (!existsSync(folder)) throw error;
    rmSync(unfinished, { recursive: true });
  }
  return folder;
}

/**
 * Unpacks Chromium into a folder. The package unpacks into the temporary folder, and includes its libraries only if it
 * believes that it runs on AWS Lambda.
 */
async function unpackInto(folder: string): Promise<void> {
  const before = { TMPDIR: process.env["TMPDIR"], AWS_EXECUTION_ENV: process.env["AWS_EXECUTION_ENV"] };
  const beside = {
    LD_LIBRARY_PATH: process.env["LD_LIBRARY_PATH"],
    FONTCONFIG_PATH: process.env["FONTCONFIG_PATH"],
  };
  Object.assign(process.env, { TMPDIR: folder, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" });
  try {
    const { default: packed } = await import("@sparticuz/chromium");
    await packed.executablePath();
  } finally {
    for (const [name, value] of Object.entries({ ...before, ...beside })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}
