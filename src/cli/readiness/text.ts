import { iso } from "../../core/clock.ts";
import { evidenceLine, verdictLine, type ChecklistReport } from "../../core/readiness/report.ts";
import type { ChecklistItem } from "../../core/control/readiness.ts";
import { english } from "../../core/language.ts";
import { ITEM_TITLES } from "../../core/readiness/names.ts";
import { READINESS } from "../../core/readiness/sentences.ts";
import { printable } from "../../core/text.ts";
import type { Style } from "../printer.ts";

/** A report for people: each item with its reason, its evidence, its risks and, where it does not pass, what to type next. */
export function checklistText(report: ChecklistReport, style: Style): string {
  const { items, service, storeId, judgedAt } = report;
  const where = storeId === null ? service : `store ${storeId} at ${service}`;
  return [
    style.bold(`Launch checklist of ${printable(where)}, ${iso(judgedAt)}`),
    "",
    ...items.map((item) => `${itemLines(item, style).join("\n")}\n`),
    style.bold(verdictLine(report)),
    style.dim(english(READINESS.testMode)),
  ].join("\n");
}

function itemLines(item: ChecklistItem, style: Style): string[] {
  const { name, status, reason, evidence, assumptions, next } = item;
  const marks = { pass: style.green("✓"), fail: style.red("✗"), unknown: style.bold("?") };
  return [
    `${marks[status]} ${english(ITEM_TITLES[name])} ${style.dim(`(${name}: ${status})`)}`,
    `  ${printable(reason)}`,
    ...evidence.map((one) => style.dim(`  · ${printable(evidenceLine(one))}`)),
    ...assumptions.map((risk) => `  ${style.red("!")} risk: ${printable(risk)}`),
    ...(status === "pass" ? [] : [`  ${style.cyan("→")} ${printable(next)}`]),
  ];
}
