import { dirname, resolve } from "node:path";
import type { World } from "../../world.ts";
import { EXIT, Refused } from "../problem.ts";

/**
 * The JUnit file of a report. Refuses a missing folder immediately, before the reported work starts. `write` is called
 * after the report was printed, so that a failure to write the file does not lose the report.
 */
export function prepareJunitFile(
  { cwd, files }: Pick<World, "cwd" | "files">,
  path: string,
): { readonly write: (xml: string) => void } {
  const file = resolve(cwd, path);
  const refused = (why: string): Refused =>
    new Refused({
      exitCode: EXIT.failed,
      code: "report_not_written",
      message: `${path} cannot be written: ${why}`,
      next: "name a file in an existing folder, with --junit",
    });
  if (!files.exists(dirname(file))) throw refused("its folder does not exist");
  return {
    write: (xml) => {
      try {
        files.write(file, xml);
      } catch (error) {
        throw refused(error instanceof Error ? error.message : String(error));
      }
    },
  };
}
