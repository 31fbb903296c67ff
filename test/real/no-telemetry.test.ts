import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { part } from "../support/campaign.ts";
import { OTHER_COMMANDS, COMMANDS, ORDER, argsOf } from "../support/commands.ts";
import { begin, run, runHere, startSandbox } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { sideBySide } from "../support/side-by-side.ts";

type Note = {
  readonly what: "watched" | "connect" | "bind" | "lookup" | "udp" | "pipe";
  readonly detail: readonly (string | number)[];
  /** The command line of the process, if the note is from a log file. */
  readonly argv?: readonly string[];
};

const PRELOAD = join(import.meta.dirname, "../support/note-network.cjs");
const { watchNetwork } = createRequire(import.meta.url)(PRELOAD) as {
  readonly watchNetwork: (note: (one: Note) => void) => () => void;
};
/** Complete command lines for commands that use no service. */
const ALONE_AS_TYPED: Readonly<Record<string, readonly string[]>> = {
  "sandbox start": ["sandbox start --ephemeral --port 0"],
  // Only the help of `hosted dev`, because the command makes npm fetch another program.
  "hosted dev": ["hosted dev --help"],
  "sandbox stop": ["sandbox stop --dir nowhere"],
  "sandbox reset": ["sandbox reset --yes --dir nowhere"],
  exec: ["exec -- true"],
  webhooks: [
    "webhooks sign --payload-file body.json --secret-file secret",
    "webhooks verify --payload-file body.json --secret-file secret --timestamp 1 --signature 00",
  ],
  idempotency: ["idempotency list", "idempotency show none-of-ours", "idempotency forget none-of-ours"],
};
/** Commands that run until they are stopped. */
const GOES_ON = /^(sandbox start|listen$)/;
/** Commands that run as processes of the built program; the others run in this process. */
const AS_PROCESSES = new Set([`orders create ${ORDER}`, "--version", "--help"]);
const WORKERS = ["one", "two", "three", "four"];
const LOOPBACK = new Set<unknown>(["127.0.0.1", "::1", "localhost"]);

test("the commands connect to, bind and resolve only this machine if no other host is named", async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, "body.json"), "{}");
  writeFileSync(join(cwd, "secret"), `whsec_${"a".repeat(43)}`);
  const watched = (name: string): Record<string, string> => ({
    NODE_OPTIONS: `--require ${PRELOAD}`,
    NETWORK_LOG: join(cwd, name),
    // A connection through this proxy would be recorded.
    ALL_PROXY: "http://127.0.0.9:9",
    CHECKOUT_RETRIES: "0",
  });
  const sandbox = await startSandbox({ cwd, env: watched("sandbox.log") });
  const all = [
    ...COMMANDS,
    ...OTHER_COMMANDS.flatMap((line) => ALONE_AS_TYPED[line] ?? [line]),
    "--version",
    "--help",
  ];
  const isProcess = (line: string): boolean => GOES_ON.test(line) || AS_PROCESSES.has(line);
  const processes = all.filter(isProcess);
  const lines = [
    ...processes,
    ...part(
      all.filter((line) => !isProcess(line)),
      2,
    ),
  ];
  const env = watched("commands.log");
  const here: Note[] = [];
  onTestFinished(watchNetwork((note) => here.push(note)));
  await sideBySide(lines, WORKERS, async (line) => {
    if (GOES_ON.test(line)) await runUntilOutput(line, { cwd, env });
    else if (isProcess(line)) await run(argsOf(line), { cwd, env });
    else await runHere(argsOf(line), { cwd, env });
  });
  await sandbox.stop("SIGTERM");

  const logged = notesOf(join(cwd, "commands.log"));
  const started = new Set(
    logged.filter(({ what }) => what === "watched").map(({ argv = [] }) => argv.join(" ")),
  );
  expect(processes.filter((line) => !started.has(argsOf(line).join(" ")))).toEqual([]);
  const notes = [...logged, ...here];
  const isNamed = ({ what, detail: [host, port] }: Note): boolean => {
    if (what === "watched") return true;
    if (what === "connect") return LOOPBACK.has(host) && port === sandbox.port;
    return (what === "bind" || what === "lookup") && LOOPBACK.has(host);
  };
  expect(notes.filter((note) => !isNamed(note))).toEqual([]);
  // An empty recording would prove nothing: it must have the commands' calls of the sandbox.
  expect(notes.filter(({ what }) => what === "connect").length).toBeGreaterThan(lines.length / 3);
  const own = notesOf(join(cwd, "sandbox.log")).filter(({ what }) => what !== "watched");
  expect(own.filter(({ detail: [host] }) => !LOOPBACK.has(host))).toEqual([]);
});

async function runUntilOutput(
  line: string,
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  const running = begin(argsOf(line), options);
  const { stdout } = running.process;
  if (stdout === null) throw new Error("its output is a pipe");
  await Promise.race([once(stdout, "data"), once(running.process, "close")]);
  if (running.process.exitCode === null) await running.stop("SIGTERM");
}

function notesOf(path: string): Note[] {
  const rows = readFileSync(path, "utf8").trimEnd().split("\n");
  return rows.map((row) => JSON.parse(row) as Note);
}
