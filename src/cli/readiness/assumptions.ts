import { calibrationAgeMs, verdictOn, type Calibration } from "../../core/calibration/calibration.ts";
import { toIso } from "../../core/clock.ts";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import { printable } from "../../core/text.ts";
import { runnerFor } from "../calling.ts";
import { spanText } from "../../core/explain/span.ts";
import { english } from "../../core/language.ts";
import { register, switchOption, type Group } from "../command.ts";
import { readProjectCalibration } from "../calibration/record.ts";
import type { Style } from "../printer.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { AssumptionEntry } from "../../core/calibration/shapes.ts";
import { output } from "../output/output.ts";

type AssumptionsOptions = CommonOptions & { readonly used?: boolean };

export function registerAssumptions(group: Group): void {
  register<AssumptionsOptions>(group, {
    name: "assumptions",
    summary:
      "list the gaps in the interface, how the sandbox fills them, and which of these assumptions your integration relied on",
    examples: ["checkout assumptions", "checkout assumptions --used", "checkout assumptions --used --json"],
    options: [switchOption("--used", "only assumptions that your integration relied on")],
    run: runnerFor("assumptions", {
      json: (_wireAnswer, answer, { options, context }) =>
        output("assumptions", {
          ...encodeAnswer("assumptions", { ...answer, assumptions: selectAssumptions(answer, options) }),
          calibration: readProjectCalibration(context) ?? null,
        }),
      text: (answer, { style }, { options, context }) => {
        const record = readProjectCalibration(context);
        const lineOptions = { style, record, now: context.world.now() };
        const texts = selectAssumptions(answer, options).map((item) => assumptionLines(item, lineOptions));
        return texts.length === 0
          ? "your integration has not relied on any assumption yet"
          : texts.join("\n");
      },
    }),
  });
}

function selectAssumptions({ assumptions }: AnswerOf<"assumptions">, { used }: AssumptionsOptions) {
  return used === true ? assumptions.filter(({ reliedOn }) => reliedOn !== null) : assumptions;
}

type LineOptions = { readonly style: Style; readonly record: Calibration | undefined; readonly now: number };

function assumptionLines(assumption: AssumptionEntry, lineOptions: LineOptions): string {
  const { style, record } = lineOptions;
  const { decision, title, chosen, setting, inEffect = [] } = assumption;
  const mark = assumption.reliedOn === null ? " " : style.green("✓");
  return [
    `${mark} ${String(decision).padStart(2)}  ${style.bold(title)}`,
    `      ${chosen}`,
    ...(setting === null ? [] : [`      ${style.dim(`setting: ${setting}`)}`]),
    ...(inEffect.length === 0 ? [] : [`      in effect: ${printable(inEffect.join(", "))}`]),
    `      ${style.dim(relianceText(assumption))}`,
    ...(record === undefined ? [] : [`      ${calibrationLine(record, decision, lineOptions)}`]),
  ].join("\n");
}

function calibrationLine(record: Calibration, decision: number, { style, now }: LineOptions): string {
  const service = printable(record.service);
  const verdict = verdictOn(record, decision);
  if (verdict === "not_observed") return style.dim(`not observed at ${service}`);
  const line = `${verdict} by ${service}, ${spanText(calibrationAgeMs(record, now), english)} ago`;
  return verdict === "contradicted" ? style.red(line) : style.dim(line);
}

function relianceText({ reliedOn, shownBy }: AssumptionEntry): string {
  if (reliedOn !== null) {
    return `relied on since ${toIso(reliedOn.since)}: ${shownBy ?? ""} (${printable(reliedOn.requestId)})`;
  }
  return shownBy === null ? "the sandbox cannot see whether it is relied on" : "not relied on yet";
}
