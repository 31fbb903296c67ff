import { toIso } from "../../core/clock.ts";
import {
  calibrationLine,
  explorationLine,
  evidenceLine,
  verdictLine,
  type ChecklistReport,
  type RiskTolerance,
} from "../../core/readiness/report.ts";
import { english } from "../../core/language.ts";
import { ITEM_TITLES } from "../../core/readiness/names.ts";
import { READINESS_SENTENCES } from "../../core/readiness/sentences.ts";
import { printable, publishableText } from "../../core/text.ts";
import { junitXml } from "../output/junit.ts";
import { PLAIN_STYLE, type Printer } from "../printer.ts";
import type { ChecklistItem } from "../../core/readiness/shapes.ts";

type TextLayout = Pick<Printer, "style" | "wrap">;

export function checklistText(report: ChecklistReport, { style, wrap }: TextLayout): string {
  const { items, service, storeId, judgedAt } = report;
  const calibrationText = calibrationLine(report);
  const explorationText = explorationLine(report);
  const storeText = storeId === null ? service : `store ${storeId} at ${service}`;
  return [
    style.bold(wrap(`Launch checklist of ${printable(storeText)}, ${toIso(judgedAt)}`, 2)),
    "",
    ...items.map((item) => `${itemLines(item, { style, wrap }).join("\n")}\n`),
    style.bold(verdictLine(report)),
    ...(calibrationText === undefined
      ? []
      : [wrap(`${printable(calibrationText)}; checkout assumptions shows each`, 2)]),
    ...(explorationText === undefined ? [] : [wrap(explorationText, 2)]),
    style.dim(english(READINESS_SENTENCES.testMode)),
  ].join("\n");
}

function itemLines(item: ChecklistItem, { style, wrap }: TextLayout): string[] {
  const { name, status, reason, evidence, assumptions, next } = item;
  const marks = { pass: style.green("✓"), fail: style.red("✗"), unknown: style.bold("?") };
  return [
    `${marks[status]} ${english(ITEM_TITLES[name])} ${style.dim(`(${name}: ${status})`)}`,
    wrap(`  ${printable(reason)}`, 2),
    ...evidence.map((entry) => style.dim(wrap(`  · ${printable(evidenceLine(entry))}`, 4))),
    ...assumptions.map((risk) => wrap(`  ${style.red("!")} risk: ${printable(risk)}`, 4)),
    ...(status === "pass" ? [] : [`  ${style.cyan("→")} ${printable(next)}`]),
  ];
}

export function checklistMarkdown(report: ChecklistReport): string {
  const text = checklistText(report, { style: PLAIN_STYLE, wrap: (line) => line });
  const publishedText = text.split("\n").map(publishableText).join("\n");
  const maxRunLength = Math.max(2, ...Array.from(publishedText.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(maxRunLength + 1);
  return `## Launch checklist\n\n${fence}text\n${publishedText}\n${fence}`;
}

/**
 * Reports an unknown item as an error and a risk as a failure, so that each run that does not exit with 0 has an error
 * or a failure.
 */
export function checklistJunit(report: ChecklistReport, tolerance: RiskTolerance): string {
  const { verdict, items, service, storeId, judgedAt } = report;
  return junitXml({
    name: "checkout checklist",
    timestamp: toIso(judgedAt),
    properties: { verdict, service, ...(storeId !== null && { store_id: storeId }), livemode: "false" },
    cases: items.map((item) => ({
      name: item.name,
      results: caseResults(item, tolerance),
      output: [
        english(ITEM_TITLES[item.name]),
        ...item.evidence.map(evidenceLine),
        ...item.assumptions.map((risk) => `risk: ${risk}`),
      ],
    })),
  });
}

function caseResults({ status, reason, assumptions, next }: ChecklistItem, { allowRisks }: RiskTolerance) {
  const text = `next: ${next}`;
  if (status === "fail") return [{ element: "failure", type: status, message: reason, text } as const];
  if (status === "unknown") return [{ element: "error", type: status, message: reason, text } as const];
  if (assumptions.length === 0 || allowRisks) return [];
  return [{ element: "failure", type: "risk", message: assumptions.join("; "), text } as const];
}
