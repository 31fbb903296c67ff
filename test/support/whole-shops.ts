import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { eventually } from "./eventually.ts";
import { heldPort } from "./ports.ts";
import { PROGRAM, run, runHere, startSandboxHere, type Result } from "./program.ts";
import { tempFolder } from "./temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "fixtures/shops");
/** The complete shops whose file begins with a list of their commands for the launch, by language. */
export const WHOLE_SHOPS = {
  node: join(FOLDER, "node/shop.js"),
  python: join(FOLDER, "python/shop.py"),
} as const;

/** All complete shops of fixtures/shops, by language, each with its section `shop`. */
export const DESCRIBED_SHOPS = {
  ...WHOLE_SHOPS,
  php: join(FOLDER, "php/shop.php"),
  go: join(FOLDER, "go/shop.go"),
  java: join(FOLDER, "java/Shop.java"),
} as const;
export type ShopLanguage = keyof typeof DESCRIBED_SHOPS;
export const SHOP_LANGUAGES = Object.keys(DESCRIBED_SHOPS) as readonly ShopLanguage[];

/** The build cache of Go; its default is in the home folder of the user, which may not be writable. */
export const GO_CACHE = join(ROOT, "node_modules/.cache/go");

/** The built program, as a shell command. */
const BUILT = `"${process.execPath}" "${PROGRAM}"`;

/** Python without the machine's packages, some of which run code at each start. */
const PYTHON = `#!/bin/sh
PATH=\${PATH#*:} exec python3 -S "$@"
`;

/** The PATH with this Node first. */
const PATH = `${join(process.execPath, "..")}:${process.env["PATH"] ?? ""}`;

/** The cache folder of compiled code, so that each import is compiled once. */
const COMPILED = process.env["NODE_COMPILE_CACHE"] ?? "";

/** The commands at the head of a shop's file, which set the shop up and make it ready for launch: one in each line. */
export function headOf(file: string): readonly string[] {
  const lines = readFileSync(file, "utf8").split("\n");
  const end = lines.findIndex((line) => /^(?:"""|\*\/)$/.test(line));
  const indented = lines.slice(0, end).filter((line) => line.startsWith("    "));
  return indented
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.trim());
}

/** A new folder with a complete shop and its installed packages. */
export function newShopFolder(language: keyof typeof WHOLE_SHOPS): string {
  return folderWith(WHOLE_SHOPS[language]);
}

/** Options of Java for a program that runs only for seconds. */
const SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/**
 * Creates a folder with a complete shop, the section `shop` beside it and a new sandbox; returns the options for its
 * commands.
 */
export async function describedFolder(language: ShopLanguage) {
  const cwd = tempFolder();
  cpSync(dirname(DESCRIBED_SHOPS[language]), cwd, { recursive: true });
  install(cwd);
  await startSandboxHere({ cwd });
  const env = { PATH, GOCACHE: GO_CACHE, NODE_COMPILE_CACHE: COMPILED, JAVA_TOOL_OPTIONS: SHORT_LIVED };
  return { cwd, env };
}

/** Judges a complete shop by the section `shop` beside it. */
export async function judgeDescribedShop(
  language: ShopLanguage,
  options: readonly string[] = [],
): Promise<Result> {
  return run(["checklist", "run", "--trust-config", ...options], await describedFolder(language));
}

function folderWith(file: string): string {
  const cwd = tempFolder();
  copyFileSync(file, join(cwd, basename(file)));
  install(cwd);
  return cwd;
}

/** Installs the packages that a shop in Node imports. */
function install(cwd: string): void {
  writeFileSync(join(cwd, "package.json"), '{"type":"module"}\n');
  symlinkSync(join(ROOT, "node_modules"), join(cwd, "node_modules"));
}

/**
 * Runs the commands at the head of a shop's file in a new folder, on a free port, and returns the result. In them,
 * `npx checkout` runs `program`, and the shop's packages are installed already.
 */
export async function typeHead(file: string, program = BUILT): Promise<Result> {
  const cwd = folderWith(file);
  const port = await heldPort();
  const bin = join(cwd, "bin");
  mkdirSync(bin);
  const npx = `#!/bin/sh\nshift\nexec ${program} "$@"\n`;
  writeFileSync(join(bin, "npx"), npx, { mode: 0o755 });
  writeFileSync(join(bin, "python3"), PYTHON, { mode: 0o755 });
  onTestFinished(async () => void (await run(["sandbox", "stop"], { cwd })));
  const env = {
    PATH: `${bin}:${PATH}`,
    NODE_COMPILE_CACHE: COMPILED,
    PORT: `${port}`,
    CHECKOUT_SANDBOX_PORT: "0",
  };
  // In a separate process group, so that the shop ends with the test.
  const shell = spawn("sh", ["-c", scriptOf(headOf(file), port)], {
    cwd,
    env,
    detached: true,
    stdio: "pipe",
  });
  onTestFinished(() => {
    if (shell.exitCode === null) process.kill(-(shell.pid ?? 0), "SIGKILL");
  });
  const output = { stdout: "", stderr: "" };
  shell.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  shell.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const [code] = (await once(shell, "close")) as [number | null];
  return { code, ...output };
}

/** A complete shop with the changes of a hurried developer, and the command line of its drill. */
export type HurriedShop = {
  readonly name: string;
  readonly language: keyof typeof WHOLE_SHOPS;
  /** The changed texts of the shop's file. */
  readonly changes?: readonly (readonly [text: string, replacement: string])[];
  /** The command line of the drill; `{shop}` is the shop's URL, and {client} its client. */
  readonly drill: string;
  /** A client as a shell script; default: the shop's client. */
  readonly client?: string;
};

/** A running complete shop with its new sandbox. */
type ServedShop = {
  /** The folder of the shop's developer. */
  readonly cwd: string;
  readonly origin: string;
  /** The shop's own client, as a command line. */
  readonly client: string;
  /** Buys an order as a customer does, and returns the address of the payment page. */
  readonly buy: (orderId: string) => Promise<string>;
};

/** Serves a changed shop as a process that ends with the test. */
export async function serveWholeShop({
  language,
  changes = [],
  client,
}: Omit<HurriedShop, "name" | "drill">): Promise<ServedShop> {
  const cwd = tempFolder();
  const [{ ready }, port] = await Promise.all([startSandboxHere({ cwd }), heldPort()]);
  const file = basename(WHOLE_SHOPS[language]);
  writeFileSync(join(cwd, file), changed(readFileSync(WHOLE_SHOPS[language], "utf8"), changes));
  install(cwd);
  if (client !== undefined) writeFileSync(join(cwd, "client.sh"), client);
  const program = language === "node" ? [process.execPath] : ["python3", "-S"];
  const env = {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: COMPILED,
    PORT: `${port}`,
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key ?? "",
    CHECKOUT_SIGNING_SECRET: ready.signing_secret,
  };
  const [command = "", ...options] = program;
  const shop = spawn(command, [...options, file], { cwd, env, stdio: "ignore" });
  onTestFinished(() => void shop.kill("SIGKILL"));
  const origin = `http://localhost:${port}`;
  await eventually("the shop is served", () => fetch(origin));
  expect((await runHere(["endpoints", "add", `${origin}/hooks`], { cwd })).code).toBe(0);
  const own = `cd "${cwd}" && ${client === undefined ? `"${program.join('" "')}" ${file} create-order` : "sh client.sh"}`;
  const buy = async (orderId: string): Promise<string> => {
    const body = new URLSearchParams({ order_id: orderId });
    const answer = await fetch(`${origin}/buy`, { method: "POST", redirect: "manual", body });
    expect(answer.status).toBe(303);
    return answer.headers.get("location") ?? "";
  };
  return { cwd, origin, client: own, buy };
}

/** Serves a changed shop, and runs a drill. */
export async function drillHurriedShop(shop: HurriedShop): Promise<Result> {
  const { cwd, origin, client, buy } = await serveWholeShop(shop);
  await buy("order-1001");
  await eventually("the shop has heard of its order", async () => {
    const { stdout } = await runHere(["deliveries", "list", "--json"], { cwd });
    expect(stdout).toMatch(/"status":\d/);
  });
  const words = shop.drill
    .split(" ")
    .map((word) => word.replace("{shop}", origin).replace("{client}", client));
  return runHere(["checklist", "run", ...words, "--json"], { cwd });
}

function changed(text: string, changes: NonNullable<HurriedShop["changes"]>): string {
  return changes.reduce((left, [from, to]) => {
    if (!left.includes(from)) throw new Error(`the shop has no ${from}`);
    return left.replace(from, () => to);
  }, text);
}

/** The commands as a script that ends at the first failure, and waits until the shop answers. */
function scriptOf(head: readonly string[], port: number): string {
  const origin = `http://localhost:${port}`;
  const lines = head
    .filter((line) => !line.startsWith("npm install"))
    .map((line) => line.replaceAll("http://localhost:3000", origin))
    .map((line) =>
      line.endsWith("&")
        ? `${line.slice(0, -1)} >shop.log 2>&1 & trap 'kill $!' EXIT; until curl -s ${origin}; do sleep 0.1; done`
        : line,
    );
  return ["set -e", ...lines].join("\n");
}
