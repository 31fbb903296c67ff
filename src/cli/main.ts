import type { Command } from "commander";
import { VERSION } from "../version.ts";
import type { World } from "../world.ts";
import { ownWords } from "./option-rules.ts";
import { EXIT, storageProblem, usageProblem, type Problem } from "./problem.ts";

/**
 * Runs one command line and returns its exit code. The one catch of the command line is here. `version` is that of this
 * program; a test gives another one.
 */
export async function main(world: World, version = VERSION): Promise<number> {
  const { argv, stdout } = world;
  // Scripts ask for the version often; the answer does not wait for the commands to load.
  const [word = "", ...others] = argv.filter((one) => one !== "--json" && one !== "--no-color");
  if (others.length === 0 && ["--version", "-v", "-V", "version"].includes(word)) {
    stdout.write(`${wantsJson(world) ? JSON.stringify({ version }) : version}\n`);
    return EXIT.done;
  }
  const { CommanderError } = await import("commander");
  const { arranged, createProgram } = await import("./program.ts");
  const { createPrinter } = await import("./printer.ts");
  let exitCode: number = EXIT.done;
  let program: Command | undefined;
  let typed = argv;
  try {
    program = await createProgram({ world, version, exit: (code) => (exitCode = code) });
    typed = arranged(program, argv);
    await program.parseAsync(typed, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    const problem =
      error instanceof CommanderError
        ? usageOf(error, knownWords(program, typed))
        : (storageProblem(error) ?? defectOf(error));
    createPrinter(world, { json: wantsJson(world) }).problem(problem);
    return problem.exitCode;
  }
}

/** What commander found wrong, on one line. A group without its command has been answered with its help. */
function usageOf(
  error: { readonly code: string; readonly message: string },
  words: readonly string[],
): Problem {
  const next = ["checkout", ...words, "--help"].join(" ");
  if (error.code === "commander.help") return usageProblem("a command is missing", next);
  return usageProblem(
    withoutValue(error.message)
      .replace(/^error: /, "")
      .replace(/\s*\n\s*/g, " "),
    next,
  );
}

/** An unknown option without the value behind it, which may be a secret: `--api-key=…` is what people try. */
function withoutValue(message: string): string {
  return message.replace(/^(error: unknown option '(?:--[^=]+(?==)|-[^-])).+(?=')/s, "$1");
}

/** The groups and the command that were typed, as far as there are such: a hint does not repeat a mistyped word. */
function knownWords(program: Command | undefined, argv: readonly string[]): readonly string[] {
  const words: string[] = [];
  let group = program;
  for (const word of argv.filter((one) => !one.startsWith("-"))) {
    group = group?.commands.find((command) => command.name() === word);
    if (group === undefined) break;
    words.push(word);
  }
  return words;
}

function defectOf(error: unknown): Problem {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    exitCode: EXIT.failed,
    code: "defect",
    message: `this is a bug in checkout: ${text}`,
    next: "run the command again; if it fails again, report it with this text",
  };
}

/** Whether JSON was asked for, where the command line could not be parsed. */
function wantsJson({ argv }: World): boolean {
  return ownWords(argv).includes("--json");
}
