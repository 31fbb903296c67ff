import interfaceText from "../../../../../INTERFACE.md?raw";
import { ASSUMPTIONS } from "../../../../core/readiness/assumptions.ts";

/** A rule or a decision in its own words. */
export type Stated = { readonly title: string; readonly words: string };

/** A rule of INTERFACE.md, in its words there; undefined where it has none of this number. */
export function ruleOf(number: number): Stated | undefined {
  const begin = `**${number}. `;
  const paragraph = interfaceText.split("\n\n").find((text) => text.startsWith(begin));
  const [, title = "", words = ""] = /^\*\*\d+\. (.+?)\.?\*\*\s*(.*)$/s.exec(paragraph ?? "") ?? [];
  return title === "" ? undefined : { title, words: words.replaceAll(/\s+/g, " ").replaceAll("`", "") };
}

/** What a decision has chosen, in a sentence; undefined of one that fills no gap in the interface. */
export function decisionOf(number: number): Stated | undefined {
  const found = ASSUMPTIONS.find((one) => one.number === number);
  return found && { title: found.title, words: found.chosen };
}
