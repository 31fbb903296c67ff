import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { DEBIAN } from "../platforms.ts";
import { UNPACKED_FOLDER } from "../release.ts";
import { makeRoot } from "./run.ts";

/** Runs the arm64 executable in an emulator, from the start of a sandbox to a paid order. */
export async function tryEmulated(folder: string): Promise<string> {
  const root = join(folder, "arm64");
  makeRoot(root, ["--variant=extract", "--arch=arm64"], DEBIAN.libraries);
  const cwd = join(folder, "arm64-state");
  mkdirSync(cwd);
  const program = ["-L", root, resolve(UNPACKED_FOLDER, "checkout-linux-arm64")];
  const checkout = (words: readonly string[], env = process.env): string =>
    execFileSync("qemu-aarch64-static", [...program, ...words], { cwd, env })
      .toString()
      .trim();
  // The emulator hides the start time by which commands find a sandbox, so variables give address and keys.
  const keys = checkout(["keys", "generate"]).split("\n");
  const startVariables = Object.fromEntries(keys.map((line) => line.split("=") as [string, string]));
  const sandbox = spawn("qemu-aarch64-static", [...program, "sandbox", "start", "--port", "0", "--json"], {
    cwd,
    env: { ...process.env, ...startVariables },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(sandbox, "exit");
  try {
    const lines = createInterface({ input: sandbox.stdout });
    const ready = await Promise.race([once(lines, "line"), exit]);
    if (typeof ready[0] !== "string")
      throw new Error(`the sandbox ended before it was ready: ${String(ready[0])}`);
    const { base_url: baseUrl } = JSON.parse(ready[0]) as { readonly base_url: string };
    const clientVariables = keys.map(
      (line) => line.replace("CHECKOUT_SANDBOX_", "CHECKOUT_").split("=") as [string, string],
    );
    const env = { ...process.env, ...Object.fromEntries(clientVariables), CHECKOUT_BASE_URL: baseUrl };
    checkout(["orders", "create", "--order-id", "arm64-1", "--price-id", "price_coffee"], env);
    checkout(["sandbox", "pay", "arm64-1", "--outcome", "succeeded"], env);
    const status = checkout(["orders", "get", "arm64-1", "--json"], env);
    if (!status.includes('"status":"succeeded"')) throw new Error(`the order is not paid: ${status}`);
  } finally {
    sandbox.kill("SIGTERM");
  }
  const [code] = await exit;
  if (code !== 0) throw new Error(`the sandbox ended with ${String(code)}`);
  return `${checkout(["--version"])}: started, created and paid an order, stopped`;
}
