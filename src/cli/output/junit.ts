import { dirname, resolve } from "node:path";
import { publishableText } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { Refused } from "../problem.ts";

type CaseResult = { readonly message: string } & (
  | { readonly element: "failure" | "error"; readonly type: string; readonly text: string }
  | { readonly element: "skipped" }
);

type Case = {
  readonly name: string;
  readonly results: readonly CaseResult[];
  readonly output: readonly string[];
};

type Suite = {
  readonly name: string;
  readonly timestamp?: string;
  readonly properties: Readonly<Record<string, string | number>>;
  readonly cases: readonly Case[];
};

export function junitXml({ name, timestamp, properties, cases }: Suite): string {
  const count = (element: CaseResult["element"]): number =>
    cases.filter(({ results }) => results.some((result) => result.element === element)).length;
  const counts = `tests="${cases.length}" failures="${count("failure")}" errors="${count("error")}"`;
  const timestampAttribute = timestamp === undefined ? "" : ` timestamp="${timestamp}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${name}" ${counts}>`,
    `  <testsuite name="${name}" ${counts} skipped="${count("skipped")}"${timestampAttribute}>`,
    "    <properties>",
    ...Object.entries(properties).map(
      ([key, value]) => `      <property name="${key}" value="${escapeXml(String(value))}"/>`,
    ),
    "    </properties>",
    ...cases.flatMap((testCase) => [
      `    <testcase classname="${name.replace(" ", ".")}" name="${testCase.name}">`,
      ...testCase.results.map(resultXml),
      `      <system-out>${testCase.output.map(escapeXml).join("\n")}</system-out>`,
      "    </testcase>",
    ]),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function resultXml(result: CaseResult): string {
  const message = `message="${escapeXml(result.message)}"`;
  if (result.element === "skipped") return `      <skipped ${message}/>`;
  const { element, type, text } = result;
  return `      <${element} type="${type}" ${message}>${escapeXml(text)}</${element}>`;
}

const XML_ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
]);

function escapeXml(text: string): string {
  return publishableText(text).replace(/[&<>"']/g, (character) => XML_ENTITIES.get(character) ?? "");
}

/**
 * Refuses a missing folder before the work starts. Call `write` after printing the report, so that a failure to
 * write the file does not lose the report.
 */
export function prepareJunitFile(
  { cwd, files }: Pick<World, "cwd" | "files">,
  path: string,
): { readonly write: (xml: string) => void } {
  const fullPath = resolve(cwd, path);
  const refuse = (reason: string): Refused =>
    new Refused({
      code: "report_not_written",
      message: `${path} cannot be written: ${reason}`,
      next: "name a file in an existing folder, with --junit",
    });
  if (!files.exists(dirname(fullPath))) throw refuse("its folder does not exist");
  return {
    write: (xml) => {
      try {
        files.write(fullPath, xml);
      } catch (error) {
        throw refuse(error instanceof Error ? error.message : String(error));
      }
    },
  };
}
