// To add a check: a function that returns a finding, in the file of its subject in this folder; its row in the table
// below; a broken state and its remedy in test/real/doctor.test.ts.
import { toIso } from "../../core/clock.ts";
import { printable } from "../../core/text.ts";
import { register, startCommand, type Context, type Group } from "../command.ts";
import { hintAsTyped, type Style } from "../printer.ts";
import { EXIT, START_SANDBOX } from "../problem.ts";
import { wrapText } from "../wrap.ts";
import { unknownFinding, type DoctorCheck, type DoctorFinding, type FindingStatus } from "./check.ts";
import { checkProxies, checkService, checkVariables } from "./environment.ts";
import { DATABASE_CHECKS, checkClock, checkDisk, checkFiles, checkFolder } from "./folder.ts";
import { checkNode, checkSystem, checkVersion } from "./installation.ts";
import { checkLog } from "./log.ts";
import { createRedactor } from "./redaction.ts";
import { checkEndpoints, checkHealth, checkLock, checkPort, checkStoreClock } from "./sandbox.ts";
import { createCheckSubjects, type CheckSubjects } from "./check-subjects.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** Every check, in the order of the report. */
const CHECKS: readonly DoctorCheck[] = [
  { name: "version", run: checkVersion },
  { name: "node", run: checkNode },
  { name: "system", run: checkSystem },
  { name: "folder", run: checkFolder },
  { name: "files", run: checkFiles },
  ...DATABASE_CHECKS,
  { name: "disk", run: checkDisk },
  { name: "clock", run: checkClock },
  { name: "lock", run: checkLock },
  { name: "port", run: checkPort },
  { name: "health", run: checkHealth },
  { name: "store_clock", run: checkStoreClock },
  { name: "endpoints", run: checkEndpoints },
  { name: "service", run: checkService },
  { name: "proxies", run: checkProxies },
  { name: "variables", run: checkVariables },
  { name: "log", run: checkLog },
];

/** `checkout doctor`; `variables` are the variables that the program reads. */
export function registerDoctor(variables: CheckSubjects["variables"]) {
  return (group: Group): void =>
    register(group, {
      name: "doctor",
      ofStore: false,
      summary: "check everything that checkout depends on, and suggest fixes; changes nothing",
      exitCodes: { 0: "no check found a problem; warnings do not count", 1: "a check found a problem" },
      examples: ["checkout doctor", "checkout doctor --json"],
      run: (context, options) => runDoctor(context, options, variables),
    });
}

type Row = { readonly check: string } & DoctorFinding;

/** Runs all checks. Exits with 1 if one of them finds a problem; a warning or an unknown state is not a failure. */
async function runDoctor(
  context: Context,
  options: CommonOptions,
  variables: CheckSubjects["variables"],
): Promise<number> {
  const { world, printer, version } = context;
  const subjects = createCheckSubjects(context, options, variables);
  const redact = createRedactor(subjects);
  const clean = (text: string): string => printable(redact(text));
  const start = startCommand(world, subjects.folder);
  const rows: Row[] = [];
  // In sequence: other checks must not slow down the measured answer of the sandbox.
  for (const check of CHECKS) {
    const { status, found, next } = await runCheck(check, subjects);
    const typed = next === null ? null : clean(hintAsTyped(next.replaceAll(START_SANDBOX, start), world));
    rows.push({ check: check.name, status, found: clean(found), next: typed });
  }
  const at = toIso(world.now());
  const isWell = rows.every(({ status }) => status !== "problem");
  const head = `checkout doctor ${version}, ${at}`;
  const shown = { version, at, ok: isWell, checks: rows };
  await printer.result(shown, () => reportText(head, rows, printer.style));
  return isWell ? EXIT.done : EXIT.failed;
}

/** Runs a check. If the check itself fails, its failure is a finding. */
async function runCheck(check: DoctorCheck, subjects: CheckSubjects): Promise<DoctorFinding> {
  try {
    return await check.run(subjects);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return unknownFinding(
      `cannot be determined: ${why}`,
      "correct the cause, then run checkout doctor again",
    );
  }
}

/** Width of a report in columns, at any terminal, because reports are pasted into issue forms. */
const COLUMNS = 80;

const COLOURS: Readonly<Record<FindingStatus, "green" | "cyan" | "red" | "dim">> = {
  ok: "green",
  warning: "cyan",
  problem: "red",
  unknown: "dim",
};

function reportText(head: string, rows: readonly Row[], style: Style): string {
  const width = Math.max(...rows.map(({ check }) => check.length));
  const indent = " ".repeat("problem  ".length + width + 2);
  const lines = rows.flatMap(({ check, status, found, next }) => {
    const mark = style[COLOURS[status]](status.padEnd("problem  ".length));
    const places = COLUMNS - indent.length;
    const [first = "", ...rest] = linesOf(found, places);
    const remedy = next === null ? [] : linesOf(`-> ${next}`, places);
    return [
      `${mark}${check.padEnd(width + 2)}${first}`,
      ...[...rest, ...remedy].map((line) => indent + line),
    ];
  });
  const counted = (status: FindingStatus, many: string): string => {
    const count = rows.filter((row) => row.status === status).length;
    return `${count} ${count === 1 ? status : many}`;
  };
  const foot = [
    counted("problem", "problems"),
    counted("warning", "warnings"),
    counted("unknown", "unknown"),
  ].join(", ");
  return [head, "", ...lines, "", foot].join("\n");
}

function linesOf(text: string, places: number): readonly string[] {
  return wrapText(text.trim().replace(/\s+/g, " "), { places }).split("\n");
}
