import { iso } from "../../core/clock.ts";
import { encodeAnswer, type AnswerOf } from "../../core/control/operations.ts";
import type { AssumptionEntry } from "../../core/control/readiness.ts";
import { printable } from "../../core/text.ts";
import { calling } from "../calling.ts";
import { register, switchOption, type Group } from "../command.ts";
import type { Style } from "../printer.ts";
import type { CommonOptions } from "../target/surroundings.ts";

type AssumptionsOptions = CommonOptions & { readonly used?: boolean };

const NONE_USED = "your integration has not relied on any assumption yet";

/** `checkout assumptions`. */
export function registerAssumptions(group: Group): void {
  register<AssumptionsOptions>(group, {
    name: "assumptions",
    summary:
      "list the gaps in the interface, how the sandbox fills them, and the ones your integration relied on",
    examples: ["checkout assumptions", "checkout assumptions --used", "checkout assumptions --used --json"],
    options: [switchOption("--used", "only assumptions that your integration relied on")],
    run: calling("assumptions", {
      json: (_shown, answer, { options }) =>
        encodeAnswer("assumptions", { ...answer, assumptions: listedOf(answer, options) }),
      text: (answer, { style }, { options }) => {
        const assumptions = listedOf(answer, options);
        return assumptions.length === 0 ? NONE_USED : assumptions.map((one) => lines(one, style)).join("\n");
      },
    }),
  });
}

function listedOf({ assumptions }: AnswerOf<"assumptions">, { used }: AssumptionsOptions) {
  return used === true ? assumptions.filter(({ reliedOn }) => reliedOn !== null) : assumptions;
}

/** The lines of one assumption: its title, the choice, the setting that changes it, and whether it was relied on. */
function lines(assumption: AssumptionEntry, style: Style): string {
  const { decision, title, chosen, setting } = assumption;
  const mark = assumption.reliedOn === null ? " " : style.green("✓");
  return [
    `${mark} ${String(decision).padStart(2)}  ${style.bold(title)}`,
    `      ${chosen}`,
    ...(setting === null ? [] : [`      ${style.dim(`setting: ${setting}`)}`]),
    `      ${style.dim(relianceOf(assumption))}`,
  ].join("\n");
}

function relianceOf({ reliedOn, shownBy }: AssumptionEntry): string {
  if (reliedOn !== null) {
    return `relied on since ${iso(reliedOn.since)}: ${shownBy ?? ""} (${printable(reliedOn.requestId)})`;
  }
  return shownBy === null ? "the sandbox cannot see whether it is relied on" : "not relied on yet";
}
