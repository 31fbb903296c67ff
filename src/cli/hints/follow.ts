import type { Command, CommanderError } from "commander";
import { VERSION } from "../../version.ts";
import type { World } from "../../world.ts";
import type { TypedLine } from "../program.ts";

const COMPLETE_COMMAND_PATTERN = /^(?:npx )?checkout ((?!(?:.* )?--(?:help)?(?: |$))[^<>"'$;|&]+)$/;

type RefusedLine = { readonly error: CommanderError; readonly line: TypedLine };

export async function refusalOfLine(suggestedLine: string, world: World): Promise<RefusedLine | undefined> {
  const [, commandText] = COMPLETE_COMMAND_PATTERN.exec(suggestedLine) ?? [];
  if (commandText === undefined) return undefined;
  const { CommanderError } = await import("commander");
  const line = await readTypedWords(commandText.trim().split(/ +/), world);
  const { program, argv, words, command } = line;
  // A group without a command is valid, because it prints its help.
  if (argv.length === words.length && command.commands.length > 0) return undefined;
  // Replaces the actions of the parents too, because the value of an option can have the name of a subcommand.
  for (let parent: Command | null = command; parent !== null; parent = parent.parent)
    if (parent !== program) parent.action(() => undefined);
  try {
    await program.parseAsync(argv, { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? undefined : { error, line };
  }
}

export async function readTypedWords(argv: readonly string[], world: World): Promise<TypedLine> {
  const { readTypedLine } = await import("../program.ts");
  return readTypedLine({ world: { ...world, argv }, version: VERSION, exit: () => undefined });
}
