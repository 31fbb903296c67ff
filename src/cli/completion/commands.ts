import { dirname, isAbsolute, join } from "node:path";
import type { World } from "../../world.ts";
import { register, type Context, type Group } from "../command.ts";
import { Refused, refuseUsage, storageProblem } from "../problem.ts";
import { printable } from "../../core/text.ts";
import bash from "./checkout.bash?raw";
import fish from "./checkout.fish?raw";
import powershell from "./checkout.ps1?raw";
import zsh from "./checkout.zsh?raw";
import { output } from "../output/output.ts";

export const COMPLETION_SCRIPTS = { bash, zsh, fish, powershell } as const;

type CompletionShell = keyof typeof COMPLETION_SCRIPTS;

const SHELLS = Object.keys(COMPLETION_SCRIPTS) as CompletionShell[];

const SCRIPT_LOCATIONS = {
  bash: {
    variable: "XDG_DATA_HOME",
    fallback: ".local/share",
    path: "bash-completion/completions/checkout",
    nextStep: (path: string) =>
      `bash reads it if bash-completion is installed; otherwise add to ~/.bashrc: source '${path}'`,
  },
  zsh: {
    variable: "XDG_DATA_HOME",
    fallback: ".local/share",
    path: "zsh/site-functions/_checkout",
    nextStep: (path: string) =>
      `if zsh does not find it, add to ~/.zshrc, before compinit: fpath+=('${dirname(path)}')`,
  },
  fish: {
    variable: "XDG_CONFIG_HOME",
    fallback: ".config",
    path: "fish/completions/checkout.fish",
    nextStep: (_path: string) => "fish reads it in every new session",
  },
  powershell: {
    variable: "XDG_CONFIG_HOME",
    fallback: ".config",
    path: "powershell/checkout-completion.ps1",
    nextStep: (path: string) => `add to the file that $PROFILE names: . '${path}'`,
  },
};

const OWN_SCRIPT = /^(?:#compdef checkout\n)?# (?:bash|zsh|fish|PowerShell) completion for checkout\./;

export function registerCompletion(group: Group): void {
  for (const shell of SHELLS)
    register(group, {
      name: shell,
      usesStore: false,
      summary: `print the completion script for ${shell === "powershell" ? "PowerShell" : shell}`,
      examples: [`checkout completion ${shell}`],
      run: ({ printer }, { json }) =>
        json === true
          ? printer.result(
              output("completion_script", { shell, script: COMPLETION_SCRIPTS[shell] }),
              () => "",
            )
          : Promise.resolve(printer.raw(COMPLETION_SCRIPTS[shell])),
    });
  register(group, {
    name: "install [shell]",
    usesStore: false,
    summary:
      "write the completion script to the folder in which the shell finds it (default: the shell named in SHELL)",
    examples: ["checkout completion install", "checkout completion install zsh"],
    choices: SHELLS,
    run: (context, _options, name) => install(context, name),
  });
  register(group, {
    name: "uninstall [shell]",
    usesStore: false,
    summary: "remove the completion scripts written by install (default: for all shells)",
    examples: ["checkout completion uninstall", "checkout completion uninstall zsh"],
    choices: SHELLS,
    run: (context, _options, name) => uninstall(context, name),
  });
}

function install({ world, printer }: Context, name: string | undefined): Promise<number> {
  const shell = parseShell(name) ?? shellOfUser(world);
  const path = scriptPath(world, shell);
  refuseForeignFile(world, path);
  try {
    world.files.makeFolder(dirname(path));
    world.files.write(path, COMPLETION_SCRIPTS[shell]);
  } catch (error) {
    const problem = storageProblem(error);
    throw problem === undefined ? error : new Refused({ ...problem, next: manualStep(shell) });
  }
  const note = SCRIPT_LOCATIONS[shell].nextStep(path);
  return printer.result(
    output("completion_file", { shell, path, also: note }),
    () => `✓ wrote ${printable(path)}\n  ${printable(note)}`,
  );
}

function uninstall({ world, printer }: Context, name: string | undefined): Promise<number> {
  const shell = parseShell(name);
  const paths = (shell === undefined ? SHELLS : [shell]).map((choice) => scriptPath(world, choice));
  const installedPaths = paths.filter((path) => world.files.exists(path));
  for (const path of installedPaths) refuseForeignFile(world, path);
  for (const path of installedPaths) world.files.remove(path);
  return printer.result(output("removed_files", { removed: installedPaths }), () =>
    installedPaths.length === 0
      ? "no script was installed"
      : installedPaths.map((path) => `✓ removed ${printable(path)}`).join("\n"),
  );
}

function parseShell(name: string | undefined): CompletionShell | undefined {
  if (name === undefined) return undefined;
  const shell = SHELLS.find((choice) => choice === name || (name === "pwsh" && choice === "powershell"));
  if (shell === undefined)
    throw refuseUsage(
      `there is no completion for ${JSON.stringify(name)}`,
      `name one of: ${SHELLS.join(", ")}`,
    );
  return shell;
}

function shellOfUser({ env }: World): CompletionShell {
  const name = /([a-z]+)(?:\.exe)?$/i.exec(env["SHELL"] ?? "")?.[1] ?? "";
  const shell = SHELLS.find((choice) => choice === name);
  if (shell !== undefined) return shell;
  throw refuseUsage(
    "SHELL does not name a shell with completion",
    `name it: checkout completion install ${SHELLS.join("|")}`,
  );
}

function scriptPath({ env }: World, shell: CompletionShell): string {
  const { variable, fallback, path } = SCRIPT_LOCATIONS[shell];
  const home = env["HOME"] || env["USERPROFILE"];
  const base = env[variable] || (home ? join(home, fallback) : undefined);
  if (base !== undefined && isAbsolute(base)) return join(base, path);
  const message =
    base === undefined
      ? "there is no home folder to write to (HOME)"
      : `${env[variable] ? variable : "HOME"} is not an absolute path: ${printable(base)}`;
  throw new Refused({ code: "no_home", message, next: manualStep(shell) });
}

function manualStep(shell: CompletionShell): string {
  return `name a folder that you can write in ${SCRIPT_LOCATIONS[shell].variable}, or save what this prints: checkout completion ${shell}`;
}

function refuseForeignFile({ files }: World, path: string): void {
  const text = files.exists(path) ? files.read(path) : undefined;
  if (text === undefined || OWN_SCRIPT.test(text)) return;
  throw new Refused({
    code: "file_refused",
    message: `${printable(path)} was not written by checkout, and was left unchanged`,
    next: "move it away, and run the command again",
  });
}
