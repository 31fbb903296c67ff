import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { curlOf } from "../../src/core/request/curl.ts";
import {
  assignmentCommand,
  optionToCopy,
  quote,
  quoteToCopy,
  shellOf,
  type Shell,
} from "../../src/core/shell/quote.ts";
import { printable } from "../../src/core/text.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { HOSTILE_TEXTS } from "../support/hostile-texts.ts";
import { installedShells, machineLine, type TestedShell } from "../support/machine.ts";
import { tempFolder } from "../support/temp-folder.ts";

const POSIX = installedShells().filter((shell) => shell !== "pwsh");
/** Characters and texts that have a meaning in some shell, or that end quotes. */
const NASTY = [
  ...Array.from("'\"`$\\!#%^&*()[]{}<>|;:,.?~=+-_@/ \t\nabxn0179éß漢😀"),
  ...Array.from(
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u00a0\u00ad\u200d\u202e\u2028\u0007\u001b\u007f\u0085\ue000\uf600\ufdd0\ufffd",
  ),
  "$(touch x)",
  "`touch x`",
  ";touch x;",
  "\ntouch x\n",
  "'\\''",
  "\\'",
  "\\\\",
  "';touch x;'",
  '";touch x;"',
  "&&touch x",
  "|touch x",
  "!!",
  "!-1",
  "!t",
  "${x}",
  "$x",
  "$'",
  '$"',
  "\\x41",
  "\\n",
  "%s",
  "\\c",
  "(touch x)",
  "{a,b}",
  "[a-z]",
  "~root",
  "=ls",
  "--order-id",
  "-n",
  "<(touch x)",
  ">x",
  "2>x",
  "*",
  "👩‍👩‍👧",
];
const FIXED = [
  "",
  "-",
  "-n",
  "--",
  "=ls",
  "~",
  "~root",
  "#x",
  "\\",
  "'",
  "\\'",
  "'\\",
  "a\\",
  "\\\\srv\\x",
  "C:\\a b\\",
  "x\n\ny",
];

const VALUES = [
  ...FIXED,
  ...HOSTILE_TEXTS.filter((text) => !text.includes("\0") && text.isWellFormed()),
  ...randomValues(size(120, 5_000)),
];

function randomValues(count: number): string[] {
  const random = seededRandom(SEED);
  const piece = (): string => NASTY[Math.floor(random() * NASTY.length)] ?? "";
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + Math.floor(random() * 12) }, piece).join(""),
  );
}

test("any quoted value is one word in every shell, byte for byte, and is not executed", () => {
  expect(POSIX).toContain("sh");
  for (const shell of POSIX) {
    check(shell, VALUES, (value) => quote(value));
    check(shell, VALUES, (value) => quoteToCopy(value));
    // An option and a value that begins with `-` are one word.
    const values = VALUES.flatMap((value, at) => (at % 8 === 0 ? [value, `-${value}`] : []));
    check(shell, values, (value) => optionToCopy("--order-id", value), optionWords);
  }
});

test("a quoted value is also one word at an interactive prompt, where ! repeats a command", () => {
  expect(quote("it's!")).toBe(`'it'"'"'s!'`);
  for (const shell of POSIX.filter((one) => one === "bash" || one === "zsh")) {
    // A copied command is one line: line breaks are escaped.
    check(shell, VALUES, (value) => quoteToCopy(value), undefined, "prompt");
  }
});

test("a value in a command to copy is shown unchanged, and a value that cannot be copied gives no command", () => {
  for (const value of VALUES) {
    const word = quoteToCopy(value);
    if (word === undefined) expect([value, value.endsWith("\n")]).toEqual([value, true]);
    else expect(printable(word)).toBe(word);
  }
  for (const value of ["a\0b", "\ud800", "a\n"]) expect(quoteToCopy(value)).toBeUndefined();
  expect([quoteToCopy("a\u202eb", "powershell"), optionToCopy("--x", "\n", "powershell")]).toEqual([
    undefined,
    undefined,
  ]);
});

test("a plain value is not quoted, and other values get quotes that most shells understand", () => {
  expect(
    ["order-1001", "http://127.0.0.1:4242/v1", "it's", "a b", "C:\\a b", "", "=x", "~x", "a,b"].map((text) =>
      quote(text),
    ),
  ).toEqual([
    "order-1001",
    "http://127.0.0.1:4242/v1",
    `"it's"`,
    "'a b'",
    "'C:\\a b'",
    "''",
    "'=x'",
    "'~x'",
    "'a,b'",
  ]);
  expect(quote(`it's "\\`)).toBe(String.raw`'it'"'"'s "'\\`);
  expect([optionToCopy("--order-id", "-x"), optionToCopy("--order-id", "-x y")]).toEqual([
    "--order-id=-x",
    "'--order-id=-x y'",
  ]);
});

test("PowerShell reads every quoted value back unchanged", () => {
  for (const value of VALUES) {
    expect([value, readByPowerShell(quote(value, "powershell"))]).toEqual([value, value]);
    // PowerShell may read a value that was quoted for an unknown shell as another word, but never executes any of it.
    const unknown = quote(value);
    if (!/[\\'\u2018-\u201b]/.test(value)) expect([value, readByPowerShell(unknown)]).toEqual([value, value]);
    expect([value, readByPowerShell(unknown)]).not.toEqual([value, undefined]);
  }
  expect(quote("it's ’n $x", "powershell")).toBe("'it''s ’’n $x'");
  expect(quote("a & b", "powershell")).toBe('"a & b"');
  if (installedShells().includes("pwsh")) check("pwsh", VALUES, (value) => quote(value, "powershell"));
});

test("a printed curl command sends the same request in every shell, whatever text the request contains", () => {
  const rows = VALUES.slice(0, size(140, 1_000)).flatMap((text) => {
    const headers = ["Host", "x", "Authorization", "Bearer secret", "Cookie", "a=b", "X-Own", text];
    const body = JSON.stringify({ text }) + text;
    const line = curlOf({ method: "POST", path: "/v1/orders", headers, body });
    if (line === undefined) expect([text, text.endsWith("\n")]).toEqual([text, true]);
    return line === undefined ? [] : [{ line, text, body }];
  });
  expect(rows.length).toBeGreaterThan(100);
  for (const shell of POSIX) {
    const got = sentByCurl(
      shell,
      rows.map(({ line }) => line),
    );
    for (const [at, { text, body }] of rows.entries()) {
      const sent = ["-i", "BASE/orders", "-H", "Authorization: Bearer KEY", "-H", `X-Own: ${text}`, body];
      expect([shell, got[at]]).toEqual([shell, sent]);
    }
  }
});

test("a printed assignment sets a variable to any value in every shell", () => {
  for (const shell of POSIX) {
    const lines = VALUES.slice(0, 200).map(
      (value) => `${assignmentCommand("V", value, shell === "fish" ? "fish" : "sh")}\nprintf '%s\\0' "$V"`,
    );
    expect([shell, read(shell, lines.join("\n"))]).toEqual([shell, VALUES.slice(0, 200)]);
  }
});

test("SHELL determines the shell, and without SHELL the shell on Windows is PowerShell", () => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, Shell])[] = [
    [{ SHELL: "/usr/bin/fish" }, "fish"],
    [{ SHELL: "/opt/homebrew/bin/fish" }, "fish"],
    [{ SHELL: "/bin/zsh" }, "sh"],
    [{ SHELL: "/usr/bin/pwsh" }, "powershell"],
    [{ SHELL: "/usr/bin/bash", OS: "Windows_NT" }, "sh"],
    [{ OS: "Windows_NT" }, "powershell"],
    [{}, "sh"],
  ];
  for (const [env, shell] of cases) expect([env, shellOf(env)]).toEqual([env, shell]);
});

test("the machine line of the test summary lists shells and languages", () => {
  expect(machineLine()).toMatch(/^shells: sh\b.*; languages: [^\n]*$/);
});

/** The expected words of `--order-id` with this value. */
function optionWords(value: string): readonly string[] {
  return value.startsWith("-") ? [`--order-id=${value}`] : ["--order-id", value];
}

/** Prints the word of each value in one process of the shell, and compares the output with the expected words. */
function check(
  shell: TestedShell,
  values: readonly string[],
  wordOf: (value: string) => string | undefined,
  expectedOf: (value: string) => readonly string[] = (value) => [value],
  at: "script" | "prompt" = "script",
): void {
  const written = values.flatMap((value) => {
    const word = wordOf(value);
    return word === undefined ? [] : [{ value, word }];
  });
  const lines = written.map(({ word }) => `printf '%s\\0' ${word}`);
  const got = read(shell, lines.join("\n"), at);
  const expected = written.flatMap(({ value }) => expectedOf(value));
  const first = expected.findIndex((value, index) => value !== got[index]);
  expect([`seed ${SEED}`, shell, at, expected[first], got[first]]).toEqual([
    `seed ${SEED}`,
    shell,
    at,
    expected[first],
    expected[first],
  ]);
  expect(got).toHaveLength(expected.length);
}

/** A `curl` that prints the number of its arguments, the arguments, and a body from the pipe. */
const CURL = {
  sh: `curl() { printf '%s\\0' "$#" "$@"; case "$*" in *" --data-binary @-") cat; printf '\\0';; esac; }
CHECKOUT_BASE_URL=BASE CHECKOUT_API_KEY=KEY`,
  fish: `function curl; printf '%s\\0' (count $argv) $argv; if test "$argv[-1]" = @-; cat; printf '\\0'; end; end
set CHECKOUT_BASE_URL BASE; set CHECKOUT_API_KEY KEY`,
} as const;

/** Runs curl lines; returns the arguments of each line, with the body in place of the option that passes it. */
function sentByCurl(shell: TestedShell, lines: readonly string[]): string[][] {
  const fields = read(shell, [CURL[shell === "fish" ? "fish" : "sh"], ...lines].join("\n"));
  return lines.map(() => {
    const words = fields.splice(0, 1 + Number(fields[0])).slice(1);
    const last = words.at(-1) === "@-" ? fields.splice(0, 1) : words.slice(-1);
    return [...words.slice(0, -2), ...last];
  });
}

/**
 * Parses a word as PowerShell does: bare text, and literals in single (`'`, U+2018 to U+201B) or double quotes (`"`,
 * U+201C to U+201E). Undefined if the text has a special character outside quotes, or an expansion in double quotes.
 */
function readByPowerShell(text: string): string | undefined {
  let value = "";
  let rest = text;
  while (rest !== "") {
    const [all, single, double, bare] =
      /^(?:['\u2018-\u201b]((?:[^'\u2018-\u201b]|['\u2018-\u201b]{2})*)['\u2018-\u201b]|["\u201c-\u201e]([^"\u201c-\u201e$`]*)["\u201c-\u201e]|([\w./:@=+\\-]+))/.exec(
        rest,
      ) ?? [];
    if (all === undefined) return undefined;
    value += single?.replaceAll(/(['\u2018-\u201b])./g, "$1") ?? double ?? bare ?? "";
    rest = rest.slice(all.length);
  }
  return value;
}

const QUIET = {
  bash: ["--norc", "--noprofile"],
  zsh: ["-f"],
  fish: ["--no-config"],
  pwsh: ["-NoProfile"],
} as const;

/** Runs a script; returns its output, split at NULs. Fails if the script left a file in its folder. */
function read(shell: TestedShell, script: string, at: "script" | "prompt" = "script"): string[] {
  const cwd = tempFolder();
  const folder = tempFolder();
  const file = join(folder, shell === "pwsh" ? "script.ps1" : "script");
  writeFileSync(file, `${script}\n`);
  const own = shell in QUIET ? QUIET[shell as keyof typeof QUIET] : [];
  const output = execFileSync(shell, [...own, ...(at === "prompt" ? ["-i"] : [file])], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: folder, LC_ALL: "C.UTF-8", PS1: "", PS2: "" },
    input: at === "prompt" ? `${script}\n` : "",
    stdio: ["pipe", "pipe", "ignore"],
    maxBuffer: 64 * 1024 * 1024,
  });
  expect([shell, readdirSync(cwd)]).toEqual([shell, []]);
  return output.toString("utf8").split("\0").slice(0, -1);
}
