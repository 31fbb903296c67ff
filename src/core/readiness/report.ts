import { iso } from "../clock.ts";
import {
  CHECKLIST_ITEMS,
  ITEM_TITLES,
  type Checklist,
  type ChecklistItem,
  type Evidence,
  type Verdict,
} from "./checklist.ts";
import { printable, redactSecrets } from "../text.ts";

/** A judged checklist with what it is of. */
export type ChecklistReport = Checklist & {
  /** `sandbox`: by all its facts. `service`: by what v1 shows of it. */
  readonly source: "sandbox" | "service";
  /** The service's base URL. */
  readonly service: string;
  /** Null for a service that does not tell. */
  readonly storeId: string | null;
  /** Milliseconds: by the store's clock for a sandbox, by this machine's for a service. */
  readonly judgedAt: number;
};

/** What every report says, because no run of a test can show it (interface 5). */
export const TEST_MODE_NOTE = "This is test mode: nothing here shows that live payments work.";

/** The verdict in words. */
const VERDICTS: Readonly<Record<Verdict, string>> = {
  ready: "Ready",
  ready_with_risks: "Ready with risks",
  not_ready: "Not ready",
};

/** The report as it stands in JSON. */
export function reportJson({ verdict, source, service, storeId, judgedAt, items }: ChecklistReport) {
  return {
    verdict,
    source,
    service,
    store_id: storeId,
    judged_at: iso(judgedAt),
    livemode: false,
    items: items.map(({ name, status, reason, evidence, assumptions, next }) => ({
      name,
      title: ITEM_TITLES[name],
      status,
      reason,
      evidence: evidence.map((one) => ({ ...one, at: one.at === null ? null : iso(one.at) })),
      assumptions,
      next,
    })),
  };
}

/** How much is missing, in one sentence. */
export function verdictLine({ verdict, items }: Checklist): string {
  const passed = items.filter(({ status }) => status === "pass").length;
  const risks = items.flatMap(({ assumptions }) => assumptions).length;
  const leaning = risks === 0 ? "" : `, with ${risks === 1 ? "a risk" : `${risks} risks`}`;
  const whole = items.length === CHECKLIST_ITEMS.length;
  const count = whole
    ? `: ${passed} of ${items.length} items pass`
    : `; of the ${items.length} shown here ${passed} pass`;
  return `${VERDICTS[verdict]}${count}${leaning}`;
}

/** One piece of evidence as a line: what, its id, when. */
export function evidenceLine({ what, reference, at }: Evidence): string {
  const details = [reference, at === null ? null : iso(at)].filter((detail) => detail !== null);
  return details.length === 0 ? what : `${what} (${details.join(", ")})`;
}

/**
 * The report as JUnit XML. An item that is unknown is an error, so that no tool takes it for a test that passed; whoever
 * reads the file alone finds risks in the output of the items that lean on them, and the verdict in the properties.
 */
export function junitXml(report: ChecklistReport): string {
  const { verdict, items, service, storeId, judgedAt } = report;
  const count = (status: ChecklistItem["status"]): number =>
    items.filter((item) => item.status === status).length;
  const counts = `tests="${items.length}" failures="${count("fail")}" errors="${count("unknown")}"`;
  const property = (name: string, value: string): string =>
    `      <property name="${name}" value="${xml(value)}"/>`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="checkout checklist" ${counts}>`,
    `  <testsuite name="checkout checklist" ${counts} skipped="0" timestamp="${iso(judgedAt)}">`,
    "    <properties>",
    property("verdict", verdict),
    property("service", service),
    ...(storeId === null ? [] : [property("store_id", storeId)]),
    property("livemode", "false"),
    "    </properties>",
    ...items.map(testCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function testCase(item: ChecklistItem): string {
  const { name, status, reason, next } = item;
  const element = status === "fail" ? "failure" : "error";
  const fault =
    status === "pass"
      ? []
      : [`      <${element} type="${status}" message="${xml(reason)}">${xml(`next: ${next}`)}</${element}>`];
  const output = [
    ITEM_TITLES[name],
    ...item.evidence.map(evidenceLine),
    ...item.assumptions.map((risk) => `risk: ${risk}`),
  ];
  return [
    `    <testcase classname="checkout.checklist" name="${name}">`,
    ...fault,
    `      <system-out>${output.map(xml).join("\n")}</system-out>`,
    "    </testcase>",
  ].join("\n");
}

/** The report as Markdown, for a pull request: everything from outside is text there, and names nobody. */
export function reportMarkdown(report: ChecklistReport): string {
  const { items, service, storeId, judgedAt } = report;
  const of = storeId === null ? "" : `store ${code(storeId)} at `;
  return [
    `## Launch checklist: ${VERDICTS[report.verdict].toLowerCase()}`,
    "",
    `${verdictLine(report)}. Judged ${iso(judgedAt)}, ${of}${code(service)}. ${TEST_MODE_NOTE}`,
    "",
    ...items.flatMap(markdownItem),
  ].join("\n");
}

const MARKS = { pass: "✅", fail: "❌", unknown: "❔" } as const;

function markdownItem(item: ChecklistItem): string[] {
  const { name, status, reason, evidence, assumptions, next } = item;
  return [
    `- ${MARKS[status]} **${ITEM_TITLES[name]}** (${status}): ${markdown(reason)}`,
    ...evidence.map((one) => `  - ${code(evidenceLine(one))}`),
    ...assumptions.map((risk) => `  - ⚠️ Risk: ${markdown(risk)}`),
    ...(status === "pass" ? [] : [`  - Next: ${code(next)}`]),
  ];
}

const XML_NAMES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Text in XML: no markup, no secret, and no character that XML does not have. */
function xml(text: string): string {
  return shown(text).replace(/[&<>"']/g, (character) => XML_NAMES[character] ?? "");
}

/** Text between backticks, of which it may hold some itself. */
function code(text: string): string {
  const inside = shown(text);
  const longest = Math.max(0, ...Array.from(inside.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const blank = longest > 0 || inside.trim() === "" ? " " : "";
  return `${fence}${blank}${inside}${blank}${fence}`;
}

/** Text in Markdown: no markup, no link and no mention. */
function markdown(text: string): string {
  return shown(text)
    .replace(/[\\`*_{}[\]<>()#+!|~&$:]/g, "\\$&")
    .replaceAll("@", "@&#8203;");
}

/** A report is published: what looks like a secret is left out, what nobody would see stands as `\u{…}`. */
function shown(text: string): string {
  return redactSecrets(printable(text)).replace(/[\ufffe\uffff]/g, "\ufffd");
}
