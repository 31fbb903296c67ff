import { VERSION } from "../version.ts";
import type { World } from "../world.ts";
import { EXIT, type ExitCode } from "./problem.ts";

/** Runs one command line and returns its exit code. The one catch of the command line is here. */
export async function main(world: World): Promise<ExitCode> {
  const { argv, stdout } = world;
  // Scripts ask for the version often; the answer does not wait for the commands to load.
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    stdout.write(`${VERSION}\n`);
    return EXIT.done;
  }
  const { CommanderError } = await import("commander");
  const { createProgram } = await import("./program.ts");
  let exitCode: ExitCode = EXIT.done;
  try {
    const program = await createProgram({ world, exit: (code) => (exitCode = code) });
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    world.stderr.write(`checkout failed, and this is a defect of checkout: ${text}\n`);
    return EXIT.failed;
  }
}
