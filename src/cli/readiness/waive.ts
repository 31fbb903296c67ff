import type { Command } from "commander";
import { iso } from "../../core/clock.ts";
import { encodeAnswer } from "../../core/control/operations.ts";
import { DRILL_KINDS, DRILL_NAMES, type DrillKind } from "../../core/readiness/names.ts";
import { EVIDENCE_MS } from "../../core/readiness/proof.ts";
import { printableLiteral } from "../../core/text.ts";
import { register, valueOption, type Context, type Registry } from "../command.ts";
import { parseNote } from "./note.ts";
import { failUsage, type Ending } from "../problem.ts";
import { callSandbox } from "../target/control.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type WaiveOptions = CommonOptions & { readonly reason: string };

const NAMES = DRILL_KINDS.map((kind) => DRILL_NAMES[kind]).join(", ");

/** `checkout checklist waive`. */
export function registerChecklistWaive(checklist: Command, registry: Registry): void {
  register<WaiveOptions>(checklist, registry, {
    name: "waive <drill>",
    summary: `do without a drill for 7 days; the checklist shows it as a risk (${NAMES})`,
    examples: [
      'checkout checklist waive duplicates --reason "one item a customer; checked by hand"',
      'checkout checklist waive browser-return --reason "the shop has no return page"',
    ],
    options: [valueOption("--reason <text>", "why it can be done without, for the report", parseNote)],
    required: ["reason"],
    run: runWaive,
  });
}

async function runWaive(context: Context, options: WaiveOptions, name = ""): Promise<Ending> {
  const drill = drillNamed(name);
  if (drill === undefined)
    return failUsage(
      `there is no drill ${printableLiteral(name)}`,
      `name one of: ${NAMES}; nothing was done`,
    );
  const waived = await callSandbox(context, {
    name: "waiveDrill",
    body: { drill, reason: options.reason },
  });
  if (!waived.ok) return waived;
  const { printer } = context;
  const until = iso(waived.value.at + EVIDENCE_MS);
  return printer.result(encodeAnswer("waiveDrill", waived.value), () =>
    [
      `${printer.style.green("✓")} the drill of ${name} is waived until ${until}`,
      "  the checklist shows it as a risk; a passed drill removes it",
    ].join("\n"),
  );
}

function drillNamed(name: string): DrillKind | undefined {
  return DRILL_KINDS.find((kind) => DRILL_NAMES[kind] === name);
}
