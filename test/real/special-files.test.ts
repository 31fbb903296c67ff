import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { part } from "../support/campaign.ts";
import { run, type Result } from "../support/program.ts";
import { REAL } from "../support/real.ts";
import { sideBySide } from "../support/side-by-side.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Special files, each with a function that creates it. A git clone can contain most. */
const KINDS = {
  "a link to a device": (path) => symlinkSync("/dev/zero", path),
  "a pipe": (path) => execFileSync("mkfifo", ["-m", "600", path]),
  "a link to a pipe": (path) => {
    execFileSync("mkfifo", ["-m", "600", `${path}.pipe`]);
    symlinkSync(`${path}.pipe`, path);
  },
  "a folder": (path) => mkdirSync(path, { mode: 0o700 }),
  "a file of 3 GiB": (path) => {
    writeFileSync(path, "", { mode: 0o600 });
    truncateSync(path, 3 * 1024 ** 3);
  },
} as const satisfies Readonly<Record<string, (path: string) => void>>;

const SIGNED = ["--timestamp", "1", "--signature", "a".repeat(64)];
const SECRET = { CHECKOUT_SIGNING_SECRET: `whsec_${"a".repeat(43)}` };

/** Commands, each with the file that it reads; `{}` is the path of the file. */
const READERS: readonly (readonly [
  file: string,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
])[] = [
  ["checkout.config.json", ["exec", "--", "true"]],
  ["checkout.config.json", ["config", "validate"]],
  ["named.json", ["sandbox", "start", "--ephemeral", "--port", "0", "--config", "{}"]],
  ["faults.json", ["exec", "--fault", "{}", "--", "true"]],
  ["body", ["webhooks", "sign", "--payload-file", "{}"], SECRET],
  ["body", ["webhooks", "verify", "--payload-file", "{}", ...SIGNED], SECRET],
  ["secret", ["webhooks", "sign", "--payload-file", "-", "--secret-file", "{}"]],
  ["secret", ["webhooks", "verify", "--payload-file", "-", "--secret-file", "{}", ...SIGNED]],
  ["ca.pem", ["listen", "--forward", "https://localhost:1", "--ca", "{}"]],
  ["api-key", ["sandbox", "start", "--ephemeral", "--port", "0"], { CHECKOUT_SANDBOX_API_KEY_FILE: "{}" }],
  ["snapshot", ["snapshots", "restore", "x", "--file", "{}"]],
  ...["credentials.json", "run.json", "admin.json", "master.key", "sandbox.db"].map(
    (name) => [`.checkout/${name}`, ["sandbox", "start", "--port", "0"]] as const,
  ),
  [".checkout/store.json", ["whoami"]],
  [".checkout/journal.db", ["idempotency", "list"]],
  [".checkout/credentials.json", ["whoami"]],
  [".checkout/sandbox.log", ["sandbox", "logs"]],
];

type Case = { readonly kind: keyof typeof KINDS; readonly at: number };

test("every command refuses an input or state file that is not an ordinary file or is too large", async () => {
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
  const cases = READERS.flatMap((_reader, at) => kinds.map((kind): Case => ({ kind, at })));
  const wrong: unknown[] = [];
  await sideBySide(part(cases, 12), [1, 2, 3], async (one) => {
    const { code, stdout, stderr } = await runReader(one);
    const [file = ""] = READERS[one.at] ?? [];
    const isRefused =
      code !== null && code > 0 && stderr.includes(basename(file)) && !/\n\s+at /.test(stderr);
    if (!isRefused || stdout !== "") wrong.push([one, READERS[one.at], { code, stdout, stderr }]);
  });
  expect(wrong).toEqual([]);
});

async function runReader({ kind, at }: Case): Promise<Result> {
  const [file, args, env = {}] = READERS[at] ?? ["", []];
  const cwd = tempFolder();
  if (file.startsWith(".checkout/")) mkdirSync(join(cwd, ".checkout"), { mode: 0o700 });
  // A state without a store and without a running sandbox.
  if (args[0] === "snapshots") makeState(join(cwd, ".checkout"));
  const path = join(cwd, file);
  KINDS[kind](path);
  const filled = (text: string): string => text.replace("{}", path);
  const variables = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)]));
  return run(args.map(filled), { cwd, env: variables, timeoutMs: 20_000 });
}

function makeState(folder: string): void {
  mkdirSync(folder, { mode: 0o700 });
  const opened = openStore(join(folder, "sandbox.db"), { pid: process.pid, scheduler: REAL });
  if (!opened.ok) throw new Error(opened.refusal.message);
  opened.value.close();
  writeFileSync(join(folder, "master.key"), "ab".repeat(32), { mode: 0o600 });
}
