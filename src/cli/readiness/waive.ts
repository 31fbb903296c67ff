import { toIso } from "../../core/clock.ts";
import { DRILL_KINDS, DRILL_NAMES, type DrillKind } from "../../core/readiness/names.ts";
import { EVIDENCE_VALIDITY_MS } from "../../core/readiness/proof.ts";
import { printableLiteral } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { register, valueOption, type Group } from "../command.ts";
import { parseNote } from "../parsers.ts";
import { refuseUsage } from "../problem.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type WaiveOptions = CommonOptions & { readonly reason: string };

const DRILL_NAMES_TEXT = DRILL_KINDS.map((kind) => DRILL_NAMES[kind]).join(", ");

export function registerChecklistWaive(group: Group): void {
  register<WaiveOptions>(group, {
    name: "waive <drill>",
    summary: `skip a drill for 7 days (${DRILL_NAMES_TEXT}); the checklist shows that as a risk`,
    choices: DRILL_KINDS.map((kind) => DRILL_NAMES[kind]),
    examples: [
      'checkout checklist waive duplicates --reason "one item a customer; checked by hand"',
      'checkout checklist waive browser-return --reason "the shop has no return page"',
    ],
    options: [valueOption("--reason <text>", "reason for skipping the drill, for the report", parseNote)],
    required: ["reason"],
    run: runnerFor("waiveDrill", {
      body: ({ reason }, { argument }) => ({ drill: parseDrill(argument), reason }),
      text: ({ at }, { style }, { argument }) =>
        [
          `${style.green("✓")} the ${argument} drill is skipped until ${toIso(at + EVIDENCE_VALIDITY_MS)}`,
          "  the checklist shows that as a risk until the drill passes",
        ].join("\n"),
    }),
  });
}

function parseDrill(name: string): DrillKind {
  const drill = DRILL_KINDS.find((kind) => DRILL_NAMES[kind] === name);
  if (drill !== undefined) return drill;
  throw refuseUsage(
    `there is no drill ${printableLiteral(name)}`,
    `the drills are: ${DRILL_NAMES_TEXT}; nothing was done`,
  );
}
