import type { Command, CommanderError } from "commander";
import { VERSION } from "../../version.ts";
import type { World } from "../../world.ts";
import type { TypedCommand } from "../program.ts";

/** A command line, the program's commands, and the typed words that name a command. */
export type TypedLine = TypedCommand & {
  readonly world: World;
  readonly program: Command;
  readonly argv: readonly string[];
};

/** A suggested command line without placeholders, quotes or help. */
const WHOLE_LINE = /^(?:npx )?checkout ((?!(?:.* )?--(?:help)?(?: |$))[^<>"'$;|&]+)$/;

/** A line that this program refuses, and its error. */
type RefusedLine = { readonly error: CommanderError; readonly line: TypedLine };

/** The refusal of a suggested line; undefined for a line that parses, and for a text that is no whole line. Runs nothing. */
export async function refusalOf(suggestedLine: string, world: World): Promise<RefusedLine | undefined> {
  const [, typed] = WHOLE_LINE.exec(suggestedLine) ?? [];
  if (typed === undefined) return undefined;
  const { CommanderError } = await import("commander");
  const { arrangeArguments, createProgram, findTypedCommand } = await import("../program.ts");
  const ownWorld = { ...world, argv: typed.trim().split(/ +/) };
  const program = await createProgram({ world: ownWorld, version: VERSION, exit: () => undefined });
  const argv = arrangeArguments(program, ownWorld.argv);
  const found = findTypedCommand(program, argv);
  // A group alone prints its help.
  if (argv.length === found.words.length && found.command.commands.length > 0) return undefined;
  found.command.action(() => undefined);
  try {
    await program.parseAsync(argv, { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? undefined : { error, line: { world: ownWorld, program, argv, ...found } };
  }
}
