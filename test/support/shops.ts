import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { hasLanguage } from "./machine.ts";
import { runHere, startSandboxHere, type Result, type SandboxHere } from "./program.ts";
import { tempFolder } from "./temp-folder.ts";

export type ShopStack = "express" | "python";

/** Whether this machine can run the shop in Python. */
export const HAS_PYTHON = hasLanguage("python");

const FOLDER = join(import.meta.dirname, "../shops");
const PROGRAMS: Readonly<Record<ShopStack, readonly string[]>> = {
  express: [process.execPath, join(FOLDER, "express/shop.js")],
  // Without the machine's packages, some of which run code at each start.
  python: ["python3", "-S", join(FOLDER, "python/shop.py")],
};

/** A served shop, its sandbox, and the command lines of its developer. */
export type ServedShop = {
  /** The ready line of the sandbox. */
  readonly ready: SandboxHere["ready"];
  readonly origin: string;
  /** The command that creates an order. */
  readonly createOrder: string;
  /**
   * Runs a command line of `checkout` in the developer's folder, in this process, because another test runs the binary.
   */
  readonly type: (args: readonly string[]) => Promise<Result>;
};

/** Starts a sandbox and a shop, with a mistake or without; both end with the test. */
export async function serveShop(make: ShopStack, breakage = ""): Promise<ServedShop> {
  const cwd = tempFolder();
  const folder = join(cwd, "shop");
  mkdirSync(folder);
  const { ready } = await startSandboxHere({ cwd });
  const [file = "", ...script] = PROGRAMS[make];
  const child = spawn(file, script, {
    env: {
      PATH: process.env["PATH"] ?? "",
      SHOP_FOLDER: folder,
      BREAKAGE: breakage,
      PORT: "0",
      CHECKOUT_BASE_URL: ready.base_url,
      CHECKOUT_API_KEY: ready.api_key ?? "",
      CHECKOUT_SIGNING_SECRET: ready.signing_secret,
    },
    stdio: "pipe",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const gone = once(child, "close").then(() => {
    throw new Error(`the shop with ${make} ended before it was served: ${said}`);
  });
  const [line] = (await Promise.race([once(child.stdout, "data"), gone])) as [Buffer];
  gone.catch(() => undefined);
  const quoted = [file, ...script].map((word) => `"${word}"`).join(" ");
  return {
    ready,
    origin: line.toString("utf8").trim(),
    // A command in this process has its own environment, not the developer's.
    createOrder: `SHOP_FOLDER="${folder}" BREAKAGE="${breakage}" ${quoted} create-order`,
    type: (args) => runHere(args, { cwd }),
  };
}
