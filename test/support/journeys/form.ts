import type { Readable } from "node:stream";
import { begin, beginHere, PROGRAM, type Result } from "../program.ts";
import { tempFolder } from "../temp-folder.ts";

/** The folder, the variables and the standard input of a command line. */
export type FormOptions = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Readable;
};

/** A started command line. */
export type Command = {
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** The exit code, null after a signal. */
  readonly ended: Promise<number | null>;
  /** Asks the command to stop, and waits for its end. */
  readonly stop: () => Promise<number | null>;
};

/** A form in which users get the program. */
export type Form = {
  readonly name: string;
  /** Creates the empty folder of a new user. */
  readonly folder: () => string;
  readonly begin: (words: readonly string[], options: FormOptions) => Command;
  /** The program as a shop's command line starts it; null if the form has no shell. */
  readonly shell: string | null;
  /** The half of the command lines without variables that the form runs in `npm test`; undefined: all of them. */
  readonly half?: 0 | 1 | undefined;
  /** The exit code and the message with which `hosted dev` is refused in this form. */
  readonly hosted: { readonly code: number; readonly says: RegExp };
};

/** The refusal of `hosted dev` in forms that do not have the Worker. */
export const WITHOUT_WORKER = {
  code: 2,
  says: /\bnpx --no -- checkout hosted dev\b/,
};

/** The refusal of `hosted dev` in the npm package if it finds no npx. */
export const WITHOUT_NPX = { code: 1, says: /\b127\b/ };

/** The sources, in this process. The processes that they start run the built program. */
export const SOURCE: Form = {
  name: "source",
  folder: tempFolder,
  begin: beginHere,
  shell: `'${process.execPath}' '${PROGRAM}'`,
  hosted: WITHOUT_WORKER,
};

/** A form that users start with `command`, to which the words of the command line are appended. */
export function programForm({
  command,
  variables = {},
  ...form
}: Pick<Form, "name" | "hosted" | "half"> & {
  readonly command: readonly string[];
  readonly shell?: string | null;
  /** The environment variables of its users. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly folder?: Form["folder"];
}): Form {
  return {
    folder: tempFolder,
    shell: command.map((word) => `'${word}'`).join(" "),
    ...form,
    begin: (words, { cwd, env, stdin }) => {
      const running = begin(words, { cwd, env: { ...variables, ...env }, command });
      const input = running.process.stdin;
      input?.on("error", () => undefined);
      if (stdin === undefined) input?.end();
      else if (input !== null) stdin.pipe(input);
      return { output: running.output, ended: running.ended, stop: () => running.stop("SIGTERM") };
    },
  };
}

/** Runs a command line of a form to its end. */
export async function runIn(form: Form, words: readonly string[], options: FormOptions): Promise<Result> {
  const begun = form.begin(words, options);
  const code = await begun.ended;
  return { code, ...begun.output };
}
