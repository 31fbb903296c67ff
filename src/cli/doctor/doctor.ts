import { toIso } from "../../core/clock.ts";
import { printable } from "../../core/text.ts";
import { register, startCommand, type Context, type Group } from "../command.ts";
import { adaptHintToTypedLine } from "../hints/again.ts";
import type { Style } from "../printer.ts";
import { EXIT, Refused, START_SANDBOX } from "../problem.ts";
import { checkNode, checkProxies, checkService, checkVariables } from "./environment.ts";
import { checkClock, checkDisk, checkFiles, checkFolder, checkLog, databaseCheck } from "./folder.ts";
import {
  checkEndpoints,
  checkHealth,
  checkLock,
  checkPort,
  checkStoreClock,
  checkVersion,
} from "./sandbox.ts";
import { wrapText } from "../wrap.ts";
import {
  createCheckSubjects,
  folderCheck,
  sandboxCheck,
  knownSecrets,
  type Check,
  type CheckSubjects,
  type Finding,
} from "./subjects.ts";
import { output, type ResultOf } from "../output/output.ts";

const CHECKS: Readonly<Record<string, Check>> = {
  version: checkVersion,
  node: checkNode,
  system: ({ context: { world } }) => ["ok", world.machine().system],
  folder: checkFolder,
  files: folderCheck(checkFiles),
  "sandbox.db": databaseCheck("database"),
  "journal.db": databaseCheck("journal"),
  "requests.db": databaseCheck("requests"),
  disk: checkDisk,
  clock: checkClock,
  lock: folderCheck(checkLock),
  port: checkPort,
  health: checkHealth,
  store_clock: sandboxCheck(checkStoreClock),
  endpoints: sandboxCheck(checkEndpoints),
  service: checkService,
  proxies: checkProxies,
  variables: checkVariables,
  log: folderCheck(checkLog),
};

export function registerDoctor(listVariables: CheckSubjects["listVariables"]) {
  return (group: Group): void =>
    register(group, {
      name: "doctor",
      usesStore: false,
      summary: "check everything that checkout depends on, and suggest fixes; changes nothing",
      exitCodes: { 0: "no check found a problem; warnings do not count", 1: "a check found a problem" },
      examples: ["checkout doctor", "checkout doctor --json"],
      run: (context) => runDoctor(context, listVariables),
    });
}

type Report = ResultOf<"doctor">;

async function runDoctor(context: Context, listVariables: CheckSubjects["listVariables"]): Promise<number> {
  const { world, printer, version } = context;
  const subjects = createCheckSubjects(context, listVariables);
  for (const secret of knownSecrets(subjects)) printer.hide(secret);
  // The path of the home folder contains the user's name, which does not belong in a shared report.
  const home = world.env["HOME"] || "/";
  const clean = (text: string): string => {
    const line = printable(printer.redact(text)).trim().replace(/\s+/g, " ");
    return home === "/" ? line : line.replaceAll(`${home}/`, "~/");
  };
  const startHint = startCommand(world, subjects.folder);
  const checks: Report["checks"][number][] = [];
  // Checks run one at a time, so that they do not distort the sandbox's measured response time.
  for (const [check, run] of Object.entries(CHECKS)) {
    const [status, finding, next] = await runCheck(run, subjects);
    const nextCommand =
      next === undefined ? null : adaptHintToTypedLine(next.replaceAll(START_SANDBOX, startHint), world);
    checks.push({
      check,
      status,
      found: clean(finding),
      next: nextCommand && nextCommand.split("\n").map(clean).join("\n"),
    });
  }
  const ok = checks.every(({ status }) => status !== "problem");
  const report = { version, at: toIso(world.now()), ok, checks };
  await printer.result(output("doctor", report), () => reportText(report, printer.style));
  return ok ? EXIT.done : EXIT.failed;
}

async function runCheck(check: Check, subjects: CheckSubjects): Promise<Finding> {
  try {
    return await check(subjects);
  } catch (error) {
    if (error instanceof Refused) return ["problem", error.problem.message, error.problem.next];
    const cause = error instanceof Error ? error.message : String(error);
    return ["unknown", `cannot be determined: ${cause}`, "correct the cause, then run checkout doctor again"];
  }
}

const COLOURS = { ok: "green", warning: "cyan", problem: "red", unknown: "dim" } as const;

/** The width is the same on every terminal, because reports are pasted into issue forms. */
const REPORT_WIDTH = 80;

function reportText({ version, at, checks: rows }: Report, style: Style): string {
  const wrap = (line: string, indent: number): string => wrapText(line, { width: REPORT_WIDTH, indent });
  const width = Math.max(...rows.map(({ check }) => check.length));
  const lines = rows.flatMap(({ check, status, found, next }) => [
    wrap(`${style[COLOURS[status]](status.padEnd(7))}  ${check.padEnd(width)}  ${found}`, width + 11),
    ...(next === null ? [] : next.split("\n").map((step) => wrap(`  → ${step}`, 4))),
  ]);
  const counts = (["problem", "warning", "unknown"] as const).map((status) => {
    const count = rows.filter((row) => row.status === status).length;
    return `${count} ${status}${count === 1 || status === "unknown" ? "" : "s"}`;
  });
  return [`checkout doctor ${version}, ${at}`, "", ...lines, "", counts.join(", ")].join("\n");
}
