// To add a check: a function that returns a finding, in the file of its subject beside this one, and its row here; a
// broken state and its remedy in test/real/doctor.test.ts.
import { iso } from "../../core/clock.ts";
import { printable } from "../../core/text.ts";
import { register, type Context, type Group } from "../command.ts";
import { asTyped, type Style } from "../printer.ts";
import { EXIT } from "../problem.ts";
import { wrapped } from "../wrap.ts";
import { unknown, type Check, type Finding, type Status } from "./check.ts";
import { lookAtProxies, lookAtService, lookAtVariables } from "./environment.ts";
import { DATABASES, lookAtClock, lookAtDisk, lookAtFiles, lookAtFolder } from "./folder.ts";
import { lookAtNode, lookAtSystem, lookAtVersion } from "./installation.ts";
import { lookAtLog } from "./log.ts";
import { redactor } from "./redaction.ts";
import { lookAtEndpoints, lookAtHealth, lookAtLock, lookAtPort, lookAtStoreClock } from "./sandbox.ts";
import { sceneOf, type Scene } from "./scene.ts";
import type { CommonOptions } from "../target/surroundings.ts";

/** Every check, in the order of the report. */
const CHECKS: readonly Check[] = [
  { name: "version", look: lookAtVersion },
  { name: "node", look: lookAtNode },
  { name: "system", look: lookAtSystem },
  { name: "folder", look: lookAtFolder },
  { name: "files", look: lookAtFiles },
  ...DATABASES,
  { name: "disk", look: lookAtDisk },
  { name: "clock", look: lookAtClock },
  { name: "lock", look: lookAtLock },
  { name: "port", look: lookAtPort },
  { name: "health", look: lookAtHealth },
  { name: "store_clock", look: lookAtStoreClock },
  { name: "endpoints", look: lookAtEndpoints },
  { name: "service", look: lookAtService },
  { name: "proxies", look: lookAtProxies },
  { name: "variables", look: lookAtVariables },
  { name: "log", look: lookAtLog },
];

/** `checkout doctor`; `variables` names those that the program reads. */
export function registerDoctor(variables: Scene["variables"]) {
  return (group: Group): void =>
    register(group, {
      name: "doctor",
      ofStore: false,
      summary: "check everything that checkout depends on, and suggest fixes; changes nothing",
      examples: ["checkout doctor", "checkout doctor --json"],
      run: (context, options) => runDoctor(context, options, variables),
    });
}

type Row = { readonly check: string } & Finding;

/** Looks at everything, and ends with 1 if something does not work: a warning or what cannot be told is no failure. */
async function runDoctor(
  context: Context,
  options: CommonOptions,
  variables: Scene["variables"],
): Promise<number> {
  const { world, printer, version } = context;
  const scene = sceneOf(context, options, variables);
  const redact = redactor(scene);
  const clean = (text: string): string => printable(redact(text));
  const rows: Row[] = [];
  // One after the other: how fast the sandbox answers must not depend on what else is looked at.
  for (const check of CHECKS) {
    const { status, found, next } = await looked(check, scene);
    const typed = next === null ? null : clean(asTyped(next, world));
    rows.push({ check: check.name, status, found: clean(found), next: typed });
  }
  const at = iso(world.now());
  const isWell = rows.every(({ status }) => status !== "problem");
  const head = `checkout doctor ${version}, ${at}`;
  const shown = { version, at, ok: isWell, checks: rows };
  await printer.result(shown, () => reportText(head, rows, printer.style));
  return isWell ? EXIT.done : EXIT.failed;
}

/** What a check found. A world so broken that the check itself fails is a finding too. */
async function looked(check: Check, scene: Scene): Promise<Finding> {
  try {
    return await check.look(scene);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return unknown(`it cannot be told: ${why}`, "see what this names, then run checkout doctor again");
  }
}

/** Reports are pasted into forms that have this many columns. */
const COLUMNS = 80;

const COLOURS: Readonly<Record<Status, "green" | "cyan" | "red" | "dim">> = {
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
  const counted = (status: Status, many: string): string => {
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
  return wrapped(text.trim().replace(/\s+/g, " "), { places }).split("\n");
}
