import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { COMPLETION_SCRIPTS } from "../../src/cli/completion/commands.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { hasTerminals, installedShells } from "../support/machine.ts";
import { PROGRAM, runHere, startSandboxHere } from "../support/program.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Shells whose completion can be tested: the arguments without the user's settings, and the first line to type. */
const STARTS = {
  bash: { args: "--noprofile --norc -i", load: "source completion; PS1=at-'prompt '" },
  zsh: { args: "-f -i", load: "autoload -U compinit; compinit -u -D; source completion; PS1=at-'prompt '" },
  fish: {
    args: "--no-config -i",
    load: "source completion; function fish_prompt; echo -n at-'prompt '; end",
  },
} as const;
type TestedShell = keyof typeof STARTS;
const INSTALLED = (Object.keys(STARTS) as TestedShell[]).filter((shell) => installedShells().includes(shell));
const SHELLS = hasTerminals() ? INSTALLED : [];

/** A text that a person types before Tab, and the order_id that must reach the command. */
type Line = { readonly typed: string; readonly orderId: string };

/** Texts with the syntax of shells; a shell that executes a command in them creates the file `canary`. */
const HOSTILE: readonly Line[] = [
  { typed: "a", orderId: "a b  c" },
  { typed: "b", orderId: `b'quote "two" #*?[x]{y,z}~` },
  { typed: "'c", orderId: "c$(touch canary)" },
  { typed: '"d', orderId: "d`touch canary`$HOME" },
  { typed: "e", orderId: String.raw`e!! !x \n$HOME\\` },
  { typed: "f", orderId: "f订单 号;touch canary|x&y>z:k=v@w" },
];
const PIECES = [
  ...Array.from(" '\"`$\\!#%^&*()[]{}<>|;:,.?~=+-_@/abn9é漢😀"),
  "$(touch canary)",
  "`touch canary`",
  ";touch canary;",
  "!!",
  "!t",
  "$HOME",
  "$'",
  "%s",
  "\\n",
  "<(touch canary)",
];

for (const shell of SHELLS)
  test(`completion in ${shell} inserts every order_id as one word, without executing it`, async () => {
    const cwd = tempFolder();
    await startSandboxHere({ cwd });
    const lines = await createOrders(cwd, [...HOSTILE, ...drawLines(size(0, 70))]);
    expect(lines.length).toBeGreaterThanOrEqual(size(6, 60));
    // The first request makes the sandbox load code, which may take longer than a Tab waits.
    await runHere(["complete", "--", "sandbox", "pay", ""], { cwd });
    const reached = await typeInto(shell, cwd, lines);
    expect(reached).toEqual(lines.map(({ orderId }) => ["sandbox", "pay", orderId]));
    expect(existsSync(join(cwd, "canary"))).toBe(false);
  });

for (const shell of SHELLS)
  test(`completion in ${shell} does not expand an order_id that begins with ~`, async () => {
    const cwd = tempFolder();
    await startSandboxHere({ cwd });
    const lines = await createOrders(cwd, [{ typed: "", orderId: "~root" }]);
    expect(lines).toHaveLength(1);
    await runHere(["complete", "--", "sandbox", "pay", ""], { cwd });
    const [reached = []] = await typeInto(shell, cwd, lines);
    // A shell that does not quote `~` inserts nothing.
    expect([
      ["sandbox", "pay", "~root"],
      ["sandbox", "pay"],
    ]).toContainEqual(reached);
  });

test("every installed shell parses its completion script, and no completion script evaluates text", () => {
  const folder = tempFolder();
  for (const shell of INSTALLED) {
    const path = join(folder, shell);
    writeFileSync(path, COMPLETION_SCRIPTS[shell]);
    const { status, stderr } = spawnSync(shell, ["-n", path], { encoding: "utf8" });
    expect([shell, status, stderr]).toEqual([shell, 0, ""]);
  }
  if (installedShells().includes("pwsh")) {
    const parse = "[scriptblock]::Create([Console]::In.ReadToEnd()) | Out-Null";
    const { status } = spawnSync("pwsh", ["-NoProfile", "-Command", parse], {
      input: COMPLETION_SCRIPTS.powershell,
    });
    expect(status).toBe(0);
  }
  for (const script of Object.values(COMPLETION_SCRIPTS)) {
    const code = script.replaceAll(/^#.*$/gm, "");
    expect(code).not.toMatch(/\beval\b|compgen|Invoke-Expression|\biex\b/);
  }
});

/** Creates an order for each line; returns the lines whose order_id the service accepts. */
async function createOrders(cwd: string, lines: readonly Line[]): Promise<readonly Line[]> {
  const accepted: Line[] = [];
  for (const line of lines) {
    const words = ["orders", "create", `--order-id=${line.orderId}`, "--price-id", "price_coffee"];
    const { code } = await runHere(words, { cwd });
    if (code === 0) accepted.push(line);
  }
  return accepted;
}

/** Draws order_ids of hostile pieces, each with a unique beginning that is typed bare or after an open quote. */
function drawLines(count: number): readonly Line[] {
  const random = seededRandom(SEED);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const all = Array.from({ length: count }, (_, at) => {
    const start = `z${String(at).padStart(2, "0")}`;
    const text = Array.from({ length: 8 }, () => pick(PIECES)).join("");
    const orderId = `${start}${text}`.slice(0, 31).toWellFormed();
    return { typed: `${pick(["", "'", '"'])}${start}`, orderId: `${orderId}x` };
  });
  // bash expands ! within double quotes, so its script does not offer such a value there.
  return all.filter(({ typed, orderId }) => !typed.startsWith('"') || !orderId.includes("!"));
}

/** Types each line with a Tab into a shell on a terminal; returns the words that reached `checkout`. */
async function typeInto(
  shell: TestedShell,
  cwd: string,
  lines: readonly Line[],
): Promise<readonly (readonly string[])[]> {
  const bin = join(cwd, "bin");
  const reached = join(cwd, "reached");
  mkdirSync(bin);
  writeFileSync(reached, "");
  writeFileSync(join(cwd, "completion"), COMPLETION_SCRIPTS[shell]);
  writeFileSync(
    join(bin, "checkout"),
    `#!/bin/sh
# A busy machine may not answer within the second that a completion waits: ask again.
if [ "$1" = complete ]; then
  for again in 1 2 3 4 5 6 7 8; do
    answer=$('${process.execPath}' '${PROGRAM}' "$@")
    case $answer in *"$(printf '\\t')"*) break ;; esac
  done
  printf '%s\\n' "$answer"
  exit
fi
{ for word; do printf '%s\\0' "$word"; done; printf '\\n'; } >> '${reached}'
echo "has-run"
`,
  );
  chmodSync(join(bin, "checkout"), 0o755);
  const { args, load } = STARTS[shell];
  const env = {
    PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
    HOME: cwd,
    TERM: "xterm",
    LC_ALL: "C.UTF-8",
    HISTFILE: "",
  };
  const child = spawn("script", ["-qfec", `${shell} ${args}`, "/dev/null"], { cwd, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (bytes: Buffer) => void (output += bytes.toString()));
  // Keys typed before the prompt could reach the terminal before the shell reads them.
  const prompt = (after: string): Promise<void> =>
    eventually(`${shell} asks after ${after}`, () =>
      expect(output).toMatch(new RegExp(`${after}[^]*at-prompt `)),
    ).then(() => undefined);
  child.stdin.write(`${load}\r`);
  await prompt("");
  for (const [at, { typed }] of lines.entries()) {
    output = "";
    child.stdin.write(`checkout sandbox pay ${typed}\t\r`);
    await prompt("has-run");
    expect(readFileSync(reached, "utf8").split("\n")).toHaveLength(at + 2);
  }
  child.stdin.end("exit\r");
  return readFileSync(reached, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split("\0").slice(0, -1));
}
