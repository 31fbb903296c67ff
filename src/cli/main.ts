import type { Option } from "commander";
import { stateFile } from "../host/folder/files.ts";
import { locateStateFolder } from "../host/folder/location.ts";
import { VERSION } from "../version.ts";
import type { World } from "../world.ts";
import { findTopic } from "./help/topic-names.ts";
import { wordsBeforeSeparator } from "./option-rules.ts";
import type { TypedLine } from "./program.ts";
import { EXIT, storageProblem, type Problem } from "./problem.ts";

export async function main(world: World, version = VERSION): Promise<number> {
  const { argv, stdout } = world;
  // Printed before the commands are loaded, because scripts often read the version.
  const [firstWord = "", ...tail] = argv.filter((word) => word !== "--json" && word !== "--no-color");
  if (tail.length === 0 && ["--version", "-v", "-V", "version"].includes(firstWord)) {
    stdout.write(`${wantsJson(world) ? JSON.stringify({ version }) : version}\n`);
    const dir = world.env["CHECKOUT_DIR"] || undefined;
    if (mayVersionDiffer(world, stateFile(locateStateFolder(world, dir), "run"), version))
      await (await import("./sandbox/version-note.ts")).noteSandboxVersion(world, version, dir);
    return EXIT.done;
  }
  if (argv[0] === "complete" && argv.includes("--"))
    return (await import("./completion/complete.ts")).printCompletions(world, version);
  const { CommanderError } = await import("commander");
  const { readTypedLine } = await import("./program.ts");
  const { createPrinter } = await import("./printer.ts");
  let exitCode: number = EXIT.done;
  let line: TypedLine | undefined;
  try {
    line = await readTypedLine({ world, version, exit: (code) => (exitCode = code) });
    const helpExitCode = await printHelp(line, version);
    if (helpExitCode !== undefined) return helpExitCode;
    const flag = optionWithoutValue(line)?.flags ?? flagWithoutValue(argv, line.argv);
    if (flag !== undefined) {
      const message = `error: option '${flag}' argument missing`;
      throw new CommanderError(EXIT.usage, "checkout.missingValue", message);
    }
    await line.program.parseAsync(line.argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    const problem =
      error instanceof CommanderError && line !== undefined
        ? await (await import("./hints/hints.ts")).problemWithHint(error, line)
        : (storageProblem(error) ?? bugProblem(error));
    (await createPrinter(world, { json: wantsJson(world) })).problem(problem);
    return problem.exitCode;
  }
}

function mayVersionDiffer({ files }: World, recordPath: string, version: string): boolean {
  try {
    const text = files.read(recordPath);
    return text !== undefined && !text.includes(`"version": ${JSON.stringify(version)}`);
  } catch {
    return true;
  }
}

async function printHelp({ world, words, argv }: TypedLine, version: string): Promise<number | undefined> {
  const [group, name, ...tail] = wordsBeforeSeparator(world.argv).filter((word) => !word.startsWith("-"));
  const topic = group === "help" && tail.length === 0 ? findTopic(name) : undefined;
  const json = wantsJson(world);
  if (topic !== undefined) return (await import("./help/topics.ts")).printTopic(world, topic, { json });
  const nextWord = argv.slice(words.length).find((word) => word !== "--json" && word !== "--no-color");
  if (!json || (nextWord !== "--help" && nextWord !== "-h")) return undefined;
  return (await import("./help/map.ts")).printCommandMap({ world, version }, words);
}

function optionWithoutValue({ words, command, argv }: TypedLine): Option | undefined {
  if (command.registeredArguments.some(({ variadic }) => variadic)) return undefined;
  const optionNamed = (word: string): Option | undefined =>
    command.options.find(({ long, short }) => word === long || word === short);
  for (let index = words.length; index < argv.length && argv[index] !== "--"; index += 1) {
    const option = optionNamed(argv[index] ?? "");
    if (option === undefined || !option.required) continue;
    if (optionNamed(argv[index + 1] ?? "") !== undefined) return option;
    index += 1;
  }
  return undefined;
}

function flagWithoutValue(argv: readonly string[], arrangedWords: readonly string[]): string | undefined {
  const lastWord = wordsBeforeSeparator(argv).at(-1) ?? "";
  const flags = { "--dir": "--dir <folder>", "--store": "--store <id|name>" } as const;
  if (lastWord !== "--dir" && lastWord !== "--store") return undefined;
  return arrangedWords.includes(lastWord) ? undefined : flags[lastWord];
}

function bugProblem(error: unknown): Problem {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    exitCode: EXIT.failed,
    code: "defect",
    message: `this is a bug in checkout: ${text}`,
    next: "run the command again; if it fails again, report it with this text",
  };
}

function wantsJson({ argv }: World): boolean {
  return wordsBeforeSeparator(argv).includes("--json");
}
