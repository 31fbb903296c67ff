import { runnerFor } from "../calling.ts";
import { register, valueOption, type Group } from "../command.ts";
import { parseNote } from "../parsers.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type RequestOptions = CommonOptions & { readonly note?: string };

export function registerProduction(group: Group): void {
  register<RequestOptions>(group, {
    name: "request",
    summary: "request production access, as the merchant; the request itself does not open the gate",
    examples: [
      "checkout production request",
      'checkout production request --note "launch planned for 1 December"',
    ],
    options: [valueOption("--note <text>", "note for the administrator", parseNote)],
    run: runnerFor("requestProduction", {
      body: ({ note }) => ({ note }),
      remedies: { state_conflict: "checkout checklist shows the status" },
      text: (_answer, { style }) =>
        [
          `${style.green("✓")} production was requested; the administrator decides`,
          "  to see what is missing: checkout checklist",
        ].join("\n"),
    }),
  });
}
