import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The languages of the code in the documents, the portal and the shops, with the programs that run it. */
const LANGUAGES = {
  curl: ["curl", "openssl"],
  go: ["go"],
  java: ["java", "javac"],
  php: ["php"],
  python: ["python3"],
} as const satisfies Record<string, readonly string[]>;
/** The shells in which commands to copy are run. */
const SHELLS = ["sh", "bash", "dash", "zsh", "fish", "ksh", "pwsh"] as const;

/** A language that tests run if the machine has it. */
export type TestedLanguage = keyof typeof LANGUAGES;
/** A shell that tests run if the machine has it. */
export type TestedShell = (typeof SHELLS)[number];

/** The shells of this machine. Tests use all of them, and the end of a run names the missing shells. */
export function installedShells(): readonly TestedShell[] {
  return SHELLS.filter(isInstalled);
}

/** Whether `script` of util-linux can give programs a terminal on this machine, for commands that a person types. */
export function hasTerminals(): boolean {
  return process.platform === "linux" && isInstalled("script");
}

/** Whether this machine runs a language. Python and PHP also need SQLite, which their shops use. */
export function hasLanguage(name: TestedLanguage): boolean {
  const isThere = LANGUAGES[name].every(isInstalled);
  return name === "python" || name === "php" ? isThere && hasSqlite(name) : isThere;
}

/** The installed and the missing shells and languages of this machine, in one line. */
export function machineLine(): string {
  const languages = (Object.keys(LANGUAGES) as TestedLanguage[]).filter(hasLanguage);
  return `${listed("shells", SHELLS, installedShells())}; ${listed("languages", Object.keys(LANGUAGES), languages)}`;
}

/**
 * The folder of the interpreter that `python3` runs, if `python3` is a wrapper (pyenv's starts thirty processes each
 * time); undefined if `python3` is the interpreter itself, or missing.
 */
export function pythonFolder(): string | undefined {
  const found = folders().find((folder) => isProgram(join(folder, "python3")));
  if (found === undefined) return undefined;
  const script = "import os, sys; print(os.path.dirname(sys.executable))";
  const behind = spawnSync("python3", ["-c", script], { encoding: "utf8" }).stdout.trim();
  return behind !== found && isProgram(join(behind, "python3")) ? behind : undefined;
}

function listed(what: string, all: readonly string[], had: readonly string[]): string {
  const missing = all.filter((name) => !had.includes(name));
  return `${what}: ${had.join(", ")}${missing.length === 0 ? "" : ` (missing: ${missing.join(", ")})`}`;
}

function isInstalled(program: string): boolean {
  return folders().some((folder) => isProgram(join(folder, program)));
}

function folders(): readonly string[] {
  return (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const WITH_SQLITE = {
  python: ["python3", "-c", "import sqlite3"],
  php: ["php", "-r", "exit(extension_loaded('pdo_sqlite') ? 0 : 1);"],
} as const;
const sqlite = new Map<keyof typeof WITH_SQLITE, boolean>();

function hasSqlite(name: keyof typeof WITH_SQLITE): boolean {
  const [program, ...words] = WITH_SQLITE[name];
  const isThere = sqlite.get(name) ?? spawnSync(program, words).status === 0;
  sqlite.set(name, isThere);
  return isThere;
}
