import { printable } from "../../core/text.ts";
import { NEEDED_NODE } from "../../version.ts";
import { okFinding, problemFinding, warningFinding, type DoctorFinding } from "./check.ts";
import type { CheckSubjects } from "./check-subjects.ts";

const RESTART_HINT = "restart the sandbox, so that both have the same version";

/** Checks whether the running sandbox has the version of this program. */
export function checkVersion({ context: { version }, lock }: CheckSubjects): DoctorFinding {
  const found = lock();
  if (found?.kind !== "live") return okFinding(`checkout ${version}; no running sandbox to compare with`);
  const theirs = found.run.version;
  if (theirs === version) return okFinding(`checkout ${version}; the running sandbox has the same version`);
  const difference = theirs === undefined ? "has an older version" : `has version ${printable(theirs)}`;
  return warningFinding(`checkout ${version}; the running sandbox ${difference}`, RESTART_HINT);
}

/** Checks the version and the path of Node. */
export function checkNode({ context: { world } }: CheckSubjects): DoctorFinding {
  const { nodeVersion, node } = world.machine();
  const whose = node.isInside ? `inside ${node.path}` : node.path;
  const found = `Node ${nodeVersion} (${whose}); needed: ${NEEDED_NODE}`;
  if (!isOlder(nodeVersion, NEEDED_NODE.replace(/^\D+/, ""))) return okFinding(found);
  return problemFinding(
    found,
    "run it with npx in its project (npx --no -- checkout), or install a newer Node",
  );
}

/** Reports the operating system. */
export function checkSystem({ context: { world } }: CheckSubjects): DoctorFinding {
  return okFinding(world.machine().system);
}

function isOlder(version: string, needed: string): boolean {
  const [left, right] = [version, needed].map((text) => text.split(".").map(Number));
  const at = [0, 1, 2].find((index) => left?.[index] !== right?.[index]);
  return at !== undefined && (left?.[at] ?? 0) < (right?.[at] ?? 0);
}
